from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.yaml import read_yaml
from tests.support.node import node_command
from tests.support.priming_strategy import texts
from tests.support.search import examples
from tests.support.yaml_strategy import blocks, documents

# What we leave out on purpose: metadata is one mapping with texts for keys, and has no types of its own.
LEFT_OUT = re.compile("second document|a key must be a text|tag of|the tag is|given twice")
# Read although the standard wants more indentation; there is no second way to read them.
READ_ANYWAY = {"9C9N", "DK95", "QB6E", "VJP3", "Y79Y"}
# Streams without any document, and an empty key in a list: refused.
REFUSED_ANYWAY = {"HWV9", "QT73", "CFD4", "MUS6"}


def run_node(script: str, said: str = "") -> list[Any]:
    node, folder = node_command()
    command = [node, str(folder / script)]
    ran = subprocess.run(command, cwd=folder, input=said, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.split("\n") if line]


def read(text: str) -> tuple[Any, str]:
    """Read a text; give its value, or why it is refused."""
    try:
        return read_yaml(text)[0], ""
    except YamlError as error:
        return None, str(error)


@pytest.mark.node
def test_h5_the_official_suite_is_read_as_it_says() -> None:
    wrong: list[Any] = []
    cases = run_node("yaml-suite.mjs")
    for case in cases:
        value, refusal = read(case["yaml"])
        if case["fail"]:
            is_right = bool(refusal) or case["name"] in READ_ANYWAY
        elif refusal:
            is_right = bool(LEFT_OUT.search(refusal)) or case["name"] in REFUSED_ANYWAY
        else:
            # Some cases have a tree of events alone, or no document at all.
            is_right = not (case.get("json") or "").strip() or value == json.loads(case["json"])
        if not is_right:
            wrong.append((case, value, refusal))
    assert wrong == []
    assert len(cases) > 350


PIECES = [
    "a",
    "b: ",
    "- ",
    "? ",
    ": ",
    "x: y",
    "|",
    "|+",
    ">-",
    "'",
    '"',
    "\\",
    "[",
    "]",
    "{",
    "}",
    ",",
    "#",
    " #",
    "&a ",
    "*a",
    "! ",
    "!!str ",
    "---",
    "1",
    "null",
    "é",
    "\t",
    " ",
    "\x85",
    "\u2028",
    "\n",
    "\n ",
    "\n  ",
]
pieces = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)
ends = st.sampled_from(["\n", "\r\n", "\r", "\r\r\n", "\n\r"])
anything = st.tuples(documents() | blocks() | texts | pieces, ends).map(
    lambda drawn: drawn[0].replace("\r\n", "\n").replace("\n", drawn[1])
)


@pytest.mark.node
def test_h5_both_readers_of_the_standard_read_the_same() -> None:
    drawn: list[str] = []

    @settings(max_examples=examples(400))
    @given(anything)
    def draw(text: str) -> None:
        drawn.append(text)

    draw()
    said = "".join(json.dumps(text) + "\n" for text in drawn)
    compared = 0
    for text, theirs in zip(drawn, run_node("yaml.mjs", said), strict=True):
        value, refusal = read(text)
        # They take a key `~` for nothing, and drop lines of mere spaces at the end of a block.
        if refusal or "refused" in theirs or re.search(r"~ *:|(?m:^ +\r?$)", text.replace("\r", "\n")):
            continue
        compared += 1
        assert value == theirs["value"], repr(text)
    assert compared > len(drawn) // 5


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_h5_every_line_end_of_yaml_is_one_line_end(end: str) -> None:
    text = "a: |\n  x\n\n  y\nb: >-\n  x\n  y\n\n  z\nc: 'x\n\n  y'\nd: \"x\n  y\"\ne: x\n  y\n"
    expected = {"a": "x\n\ny\n", "b": "x y\nz", "c": "x\ny", "d": "x y", "e": "x y"}
    assert read_yaml(text.replace("\n", end))[0] == expected
    assert read_yaml("a: |\n  x\n  y\n".replace("\n", end)) == ({"a": "x\ny\n"}, False)


def test_h5_a_doubled_carriage_return_is_an_empty_line() -> None:
    assert read_yaml("a: |\r\r\n  x\r\r\n  y\r\r\n")[0] == {"a": "\nx\n\ny\n"}
    assert read_yaml("a: 1\r\r\nb: 2\r\r\n") == ({"a": 1, "b": 2}, False)


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize(
    "shape", ["a: x{}y", "a: 'x{}y'", 'a: "x{}y"', "a: |-\n  x{}y", "a: [x{}y, z]", "x{}y: 1"]
)
def test_h5_what_is_no_line_end_any_more_is_kept(shape: str, character: str) -> None:
    found, refusal = read(shape.replace("{}", character))
    assert refusal == ""
    assert f"x{character}y" in json.dumps(found, ensure_ascii=False)


def test_h5_the_last_line_ends_with_or_without_a_line_end() -> None:
    for text in ("a: |\n  x", "a: |\n  x\n", "a: >\n  x", "a: |\n\n  x"):
        assert read_yaml(text)[0]["a"].endswith("x\n")
    assert read_yaml("a: |-\n  x")[0] == {"a": "x"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a: [?x, -y, :z]}", {"a": ["?x", "-y", ":z"]}),
        ("{a:, b: 1}", {"a": None, "b": 1}),
        ('{"a":1, "b":[2]}', {"a": 1, "b": [2]}),
        ("{a\n b: c}", {"a b": "c"}),
        ("a:\tb\t# c\n\t\nd: e\tf\n", {"a": "b", "d": "e\tf"}),
        ("a: |\n \n  x\n", {"a": "\nx\n"}),
        ("&k a: 1\nb: *k\n", {"a": 1, "b": "a"}),
        ("a: ! 1\n", {"a": "1"}),
        ('a: "\\ud83d\\ude00"\n', {"a": "😀"}),
        ('a: "x\x7fy"\n', {"a": "x\x7fy"}),
        ("%YAML 1.3\n---\na: no\n", {"a": "no"}),
    ],
)
def test_reads_by_the_rules_of_1_2(text: str, expected: Any) -> None:
    assert read(text) == (expected, "")


@pytest.mark.parametrize(
    "text",
    [
        "a: [b]#c\n",
        'a: "b"#c\n',
        "a: [-]\n",
        "a:\n\tb: 1\n",
        "a: x\x7fy\n",
        "a: |\n   \n  x\n",
        "%YAML 2.0\n---\na: 1\n",
    ],
)
def test_refuses_what_the_standard_refuses(text: str) -> None:
    assert read(text)[1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", "given twice"),
        ("x: [" + "[" * 100, "deep|not YAML"),
        ("[" * 60_000, "deep"),
        ("{" * 60_000, "deep"),
        ("{a: " * 15_000, "deep"),
        ("x: " + "[" * 70 + "]" * 70 + "\n? a\n", "deep"),
        ("".join(f"{' ' * n}a:\n" for n in range(70)), "deep"),
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
        read_yaml(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 2),
        ("a: 1\nb: x: y\n", 1),
        ("a: 1\n\nb: 1e999\n", 2),
        ("a: 1\n# note\na: 2\n", 2),
        ("a: 1\nb:\n  c: \x00\n", 2),
    ],
)
def test_names_the_line_of_a_mistake(text: str, line: int) -> None:
    with pytest.raises(YamlError) as caught:
        read_yaml(text)
    assert caught.value.line == line


def test_aliases_cannot_multiply_without_end() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 9)
    )
    with pytest.raises(YamlError, match="values"):
        read_yaml(bomb)
    assert read_yaml("a: &x {b: 1}\nc: *x\n") == ({"a": {"b": 1}, "c": {"b": 1}}, True)
