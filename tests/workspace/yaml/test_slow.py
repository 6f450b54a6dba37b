from __future__ import annotations

import pytest

from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.yaml import read_yaml


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
