"""Make YAML documents of every shape, broken ones among them."""

from __future__ import annotations

from hypothesis import strategies as st

_WORDS = r"""
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
WORDS = [*_WORDS.strip().split("\n"), "", "x\u2028y", "x\x85y", "x\ty", "x "]
words = st.sampled_from(WORDS)
keys = st.sampled_from(
    ["a", "b", "msgId", "x-y", "x.y", "_z", "true", "no", "1", "2026", "a b", "中", '"q"', "~", "-k"]
)
ends = st.sampled_from([[], [""], [""], ["", ""], ["  "], ["  ", ""]])
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
