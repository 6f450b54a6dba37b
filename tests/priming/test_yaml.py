from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.priming.yaml import read_json, read_mapping, write_mapping
from shipmate.priming.yaml_scalar import YamlError
from shipmate.priming.yaml_slow import build_slowly
from shipmate.values.message import JsonObject
from tests.support.priming_strategy import objects, texts

EXAMPLES = int(os.environ.get("SHIPMATE_EXAMPLES", "60"))

WORDS = r"""
plain
two words
true
True
null
~
no
12
-3
007
1_000
0x1f
0o17
1.0
1e3
.5
.inf
2026-03-01
2026-03-01 09:30:00
12:30:45
=
<<
a: b
a:b
a #b
a#b
it's
'it''s'
"double"
"a\nb"
"\u4e2d"
"\ud83d\ude00"
[]
[a, b]
{}
{"a": 1, "b": [1.5, null, "x"]}
{"a": 1, "a": 2}
{a: b}
["a", 1e999]
&a b
*a
!!str 1
|
>-
- a
-
?
a,
中文 负责人
😀
a]
1 2
"""
words = st.sampled_from([*WORDS.strip().split("\n"), "", "x\u2028y", "x\ty", "x "])
keys = st.sampled_from(["a", "b", "genseq", "msgId", "x-y", "_z", "true", "no", "1", "a b", "中", '"q"', "~"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 7))):
        indent = " " * draw(st.sampled_from([0, 0, 0, 2, 2, 4, 6]))
        word = draw(words)
        entry = f"{draw(keys)}: {word}" if word else f"{draw(keys)}:"
        lines.append(
            draw(
                st.sampled_from(
                    [f"{indent}{entry}"] * 5 + [f"{indent}- {word}", f"{indent}- {entry}", word, ""]
                )
            )
        )
    return "\n".join(lines)


def read_slowly(text: str) -> Any:
    try:
        value = build_slowly(text)
    except YamlError:
        return "refused"
    return value if isinstance(value, dict) else {}


@settings(max_examples=EXAMPLES * 5, deadline=None)
@given(documents())
def test_the_fast_path_reads_what_the_whole_parser_reads(text: str) -> None:
    expected = read_slowly(text)
    try:
        found, is_slow = read_mapping(text)
    except YamlError:
        assert expected == "refused"
        return
    assert repr(found) == repr(expected)
    assert isinstance(is_slow, bool)


@settings(max_examples=EXAMPLES, deadline=None)
@given(objects)
def test_what_is_written_is_read_back_by_both_ways(values: JsonObject) -> None:
    text = write_mapping(values)
    assert repr(read_mapping(text)[0]) == repr(values)
    assert repr(read_slowly(text)) == repr(values)
    assert "\n---" not in f"\n{text}"


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts)
def test_any_text_is_read_or_refused(text: str) -> None:
    expected = read_slowly(text)
    try:
        found, _ = read_mapping(text)
    except YamlError:
        found = "refused"
    assert repr(found) == repr(expected)


def test_exported_metadata_never_needs_the_slow_parser() -> None:
    text = (
        "genseq: 1\nmsgId: m-1\nreasoning:\n  summary:\n    - type: summary_text\n      text: 先探针\n"
        '  metadata:\n    itemId: rs_1\nuiMessage: {"id": "a", "role": "user"}\nlist:\n- a\n- 2\n'
    )
    assert read_mapping(text) == (
        {
            "genseq": 1,
            "msgId": "m-1",
            "reasoning": {
                "summary": [{"type": "summary_text", "text": "先探针"}],
                "metadata": {"itemId": "rs_1"},
            },
            "uiMessage": {"id": "a", "role": "user"},
            "list": ["a", 2],
        },
        False,
    )


@pytest.mark.parametrize("word", ["no", "on", "1_000", "12:30:45", "2026-03-01", "=", "+1x", "<<"])
def test_reads_by_the_core_schema(word: str) -> None:
    assert read_mapping(f"a: {word}\n# the comment forces the whole parser")[0] == {"a": word}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", "given twice"),
        ("x: [" + "[" * 100, "deep|not YAML"),
        ("x: " + "[" * 70 + "]" * 70 + "\n#", "deep"),
        ("a: .nan\n", "no number"),
        ("a: 1e999\n", "no number"),
        ("a: " + "9" * 5000, "too many digits"),
        ("a: !!python/object x\n", "tag"),
        ("a: *b\n", "called"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("? [a]\n: 1\n", "key"),
        ("a: {" + "b: c, " * 20_000, "64 KB"),
    ],
)
def test_refuses_what_would_mislead_or_take_too_long(text: str, problem: str) -> None:
    with pytest.raises(YamlError, match=problem):
        read_mapping(text)


def test_aliases_cannot_multiply_without_end() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 9)
    )
    with pytest.raises(YamlError, match="values"):
        read_mapping(bomb)
    assert read_mapping("a: &x {b: 1}\nc: *x\n")[0] == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e999", "[" * 100_000, "{", "'a'"])
def test_json_is_read_strictly(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_json(text)
