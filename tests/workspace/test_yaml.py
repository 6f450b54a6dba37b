from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.workspace.yaml import read_yaml
from shipmate.workspace.yaml_scalar import YamlError
from shipmate.workspace.yaml_slow import build_slowly
from tests.support.priming_strategy import texts

EXAMPLES = int(os.environ.get("SHIPMATE_EXAMPLES", "200"))

WORDS = r"""
plain
two words
true
True
null
~
no
Yes
12
-3
-a
+1
007
1_000
0x1f
0o17
1.0
1e3
1e999
.5
.inf
2026-03-01
2026-03-01 09:30:00
12:30:45
https://example.org/a#b
=
<<
a: b
a:
a:b
a #b
a  # b: c
a# b
#a
it's
'it''s'
'quoted: #'
'
"double"
"double" # a comment
"a\nb"
"\u4e2d"
"\ud83d\ude00"
"
[]
[ ]
[a, b]
[1,2]
[a,]
[a, 'b', -1, (c)]
['a, b', c]
[a, "b"]
[true, no, 1.5, it's]
[a b, 'c' d]
["a", 1e999]
[中, é]
{}
{"a": 1, "b": [1.5, null, "x"]}
{"a":1}
{"a": 1, "a": 2}
{a: b}
&a b
*a
!!str 1
!x y
%x
@x
`x`
|
|-
|+
|2
>
>-
- a
-
?
? a
a, b
a]
(a) b
/usr/bin
$HOME
中文 负责人
“引号”
😀
é
1 2
_a
a\b
"""
words = st.sampled_from([*WORDS.strip().split("\n"), "", "x\u2028y", "x\x85y", "x\ty", "x "])
keys = st.sampled_from(
    ["a", "b", "msgId", "x-y", "x.y", "_z", "true", "no", "1", "2026", "a b", "中", '"q"', "~", "-k"]
)
fillers = st.sampled_from(["", "", "  ", "      ", "# note", "  # note", "    # note", "\t", "---", "..."])


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 7))):
        indent = " " * draw(st.sampled_from([0, 0, 0, 2, 2, 4, 6]))
        word = draw(words)
        entry = f"{draw(keys)}: {word}" if word else f"{draw(keys)}:"
        kinds = [f"{indent}{entry}"] * 5
        kinds += [f"{indent}- {word}", f"{indent}- {entry}", f"{indent}-  {word}", f"{indent}{word}"]
        lines.append(draw(st.sampled_from([*kinds, draw(fillers)])))
    return draw(st.sampled_from(["\n", "\n", "\r\n"])).join([*lines, *draw(ends)])


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """Make text blocks of every shape, at the top, inside a mapping, or inside a list."""
    opening, column = draw(st.sampled_from([("a: ", 0), ("a:\n  b: ", 2), ("a:\n- ", 0), ("a:\n  - b: ", 4)]))
    header = draw(st.sampled_from(["|", "|-", ">", ">-", ">+", "|1"]))
    shapes = ["x", "x", "two words", "# no comment", "- y", "z: 1", " deeper", "x ", "", "", "  ", "\tx"]
    lines: list[str] = []
    for shape in draw(st.lists(st.sampled_from(shapes), max_size=6)):
        steps = 0 if shape == "" else column + draw(st.sampled_from([2, 2, 2, 2, 2, 1, 4]))
        lines.append(" " * steps + shape)
    after = draw(st.sampled_from([[], ["c: 1"], ["# comment", "c: 1"], [" # comment", "c: 1"]]))
    return "\n".join([opening + header, *lines, *after, *draw(ends)])


ends = st.sampled_from([[], [""], [""], ["", ""], ["  "], ["  ", ""]])


def read_slowly(text: str) -> Any:
    try:
        return build_slowly(text)
    except YamlError as error:
        return f"refused in line {error.line}"


def read_either_way(text: str) -> Any:
    try:
        return read_yaml(text)[0]
    except YamlError as error:
        return f"refused in line {error.line}"


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents())
def test_the_fast_path_reads_what_the_whole_parser_reads(text: str) -> None:
    assert repr(read_either_way(text)) == repr(read_slowly(text))


@settings(max_examples=EXAMPLES, deadline=None)
@given(blocks())
def test_the_fast_path_reads_blocks_as_the_whole_parser_does(text: str) -> None:
    assert repr(read_either_way(text)) == repr(read_slowly(text))


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts | st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert repr(read_either_way(text)) == repr(read_slowly(text))


def test_exported_metadata_never_needs_the_slow_parser() -> None:
    text = (
        "genseq: 1\nmsgId: m-1\nreasoning:\n  summary:\n    - type: summary_text\n      text: 先探针\n"
        '  metadata:\n    itemId: rs_1\nuiMessage: {"id": "a", "role": "user"}\nlist:\n- a\n- 2\n'
    )
    assert read_yaml(text) == (
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


FRONT = """\
# What this skill is called

name: git
description: >-
  Two lines
  of text

  and a paragraph

homepage: https://example.org  # where it lives
note: 'it''s "quoted"'
always: true
metadata:
  # who asks for what
  nanobot:
    requires:
      bins: [git, 'gh']

      env:
      - TOKEN
extra: {"os": ["linux"], "emoji": "\\t"}
example: |
  def f():
    return 1

"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_front_matter_never_needs_the_slow_parser(newline: str) -> None:
    assert read_yaml(FRONT.replace("\n", newline)) == (
        {
            "name": "git",
            "description": "Two lines of text\nand a paragraph",
            "homepage": "https://example.org",
            "note": 'it\'s "quoted"',
            "always": True,
            "metadata": {"nanobot": {"requires": {"bins": ["git", "gh"], "env": ["TOKEN"]}}},
            "extra": {"os": ["linux"], "emoji": "\t"},
            "example": "def f():\n  return 1\n",
        },
        False,
    )
    assert repr(build_slowly(FRONT)) == repr(read_yaml(FRONT)[0])


@pytest.mark.parametrize("word", ["no", "on", "1_000", "12:30:45", "2026-03-01", "=", "+1x", "<<"])
def test_reads_by_the_core_schema(word: str) -> None:
    assert read_yaml(f"a: {word}")[0] == {"a": word}
    assert build_slowly(f"a: {word}") == {"a": word}
