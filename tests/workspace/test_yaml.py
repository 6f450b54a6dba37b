from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.workspace import yaml
from shipmate.workspace.yaml import YamlError, load_yaml

EXAMPLES = int(os.environ.get("SHIPMATE_EXAMPLES", "200"))

WORDS = r"""
plain
two words
true
false
null
no
Yes
12
007
1_000
0x1f
12:30
2026-02-23
1.5
~
-
- a
a: b
a:b
a #b
a#b
#a
'it''s'
'quoted'
"double"
"a\nb"
[]
[a, b]
[a, 'b']
[1, true]
[a,]
{}
{"a": 1}
{"a": {"b": ["x"]}}
{"a": 1.5}
{a: b}
&a b
*a
!x y
%x
@x
`x`
?
? a
中文 描述
emoji 😀
é
|
>
>-
|-
a:
<<
=
+1
-1
.5
.inf
1e3
0o17
a, b
a]
_a
a\b
"
"""
words = st.sampled_from([*WORDS.strip().split("\n"), "", "x\u2028y", "x\x85y"])
keys = st.sampled_from(
    ["a", "b", "name", "description", "true", "no", "x.y", "x-y", "_z", "metadata", "1", "a b", "中"]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 6))):
        indent = " " * draw(st.sampled_from([0, 0, 0, 2, 2, 4]))
        kind = draw(st.integers(0, 7))
        word = draw(words)
        if kind <= 4:
            lines.append(f"{indent}{draw(keys)}: {word}" if word else f"{indent}{draw(keys)}:")
        else:
            lines.append(
                {5: f"{indent}- {word}", 6: f"{indent}{word}", 7: draw(st.sampled_from(["", "# c", "  "]))}[
                    kind
                ]
            )
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", " ", "\n\n"]))


def read_slowly(text: str) -> tuple[str, Any]:
    try:
        return "value", yaml._load_slowly(text)  # pyright: ignore[reportPrivateUsage]  # the reference
    except YamlError:
        return "error", None


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents())
def test_reads_what_ruamel_reads(text: str) -> None:
    expected, value = read_slowly(text)
    try:
        found = load_yaml(text)
    except YamlError:
        assert expected == "error"
        return
    assert expected == "value"
    assert repr(found) == repr(value)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    expected, _ = read_slowly(text)
    try:
        load_yaml(text)
    except YamlError:
        assert expected == "error"


def test_front_matter_never_reaches_ruamel(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> Any:
        raise AssertionError(text)

    monkeypatch.setattr(yaml, "_load_slowly", refuse)
    text = (
        "name: git\ndescription: >-\n  Two lines\n  of text\nalways: true\n"
        "metadata:\n  nanobot:\n    requires:\n      bins: [git, gh]\n      env:\n      - TOKEN\n"
        'extra: {"os": ["linux"]}\n'
    )
    assert load_yaml(text) == {
        "name": "git",
        "description": "Two lines of text",
        "always": True,
        "metadata": {"nanobot": {"requires": {"bins": ["git", "gh"], "env": ["TOKEN"]}}},
        "extra": {"os": ["linux"]},
    }


@pytest.mark.parametrize("text", ["day: 2026-02-23", "at: 12:30", "answer: no"])
def test_keeps_what_looks_like_other_types_as_text(text: str) -> None:
    key, _, value = text.partition(": ")
    assert load_yaml(text) == {key: value}


def test_names_the_line_of_a_mistake() -> None:
    with pytest.raises(YamlError, match="line 3"):
        load_yaml("a: 1\nb: [1, 2\nc: 3\n")


def test_refuses_a_huge_document_it_would_read_slowly() -> None:
    with pytest.raises(YamlError, match="64 KB"):
        load_yaml("a: [" + "{b: c}, " * 10_000 + "]")


def test_refuses_deep_nesting() -> None:
    with pytest.raises(YamlError):
        load_yaml("[" * 5_000)
