"""Strangers' YAML costs little: skills, front matter and scripts come from anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest

from shipmate.workspace.frontmatter import read_frontmatter
from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.yaml import read_yaml
from tests.support.cost import assert_all_linear, measure

FRONT = "shipmate.workspace.frontmatter:read_frontmatter"
# Repeated below `---`: 64 KB of what only the whole parser reads, 1 MB of the rest.
SLOW = {
    "flow lists": "[",
    "flow mappings": "{a: ",
    "lists in lists": "- ",
    "keys of keys": "? ",
    "anchors": "- &a x\n",
    "tags": "!!str ",
    "quotations": '"',
    "escapes": "\\u0041",
    "documents": "---x\n",
    "directives": "%TAG !a! b\n",
    "references": "- *a\n",
    "tabs": "a:\t",
}
FAST = {
    "keys": "kNUMBER: x\n",
    "the same key": "k: x\n",
    "digits": "9",
    "colons": "b:b",
    "comments": " #b",
    "fences": "--- x\n",
    "blank lines": "\n",
    "spaces": " ",
    "items": "b,",
    "block": "  x\n",
}


@pytest.mark.parametrize("shape", SLOW.values(), ids=SLOW.keys())
def test_the_whole_parser_is_given_little(shape: str) -> None:
    cost = measure(FRONT, f"'---\\na: ' + {shape!r} * (60_000 // {len(shape)}) + '\\n---\\nbody'")
    assert cost.error == ""
    assert cost.seconds < 6
    assert cost.megabytes < 60


LEADS = ("a: ", "a: [", "a: '", "a: |\n", "a: >\n", 'a: "', "a: {", "")


@pytest.mark.parametrize("shape", FAST.values(), ids=FAST.keys())
def test_a_megabyte_is_read_in_linear_time(shape: str) -> None:
    body = f"{shape!r} * (SIZE // {len(shape)})"
    if "NUMBER" in shape:
        body = f"''.join({shape!r}.replace('NUMBER', str(n)) for n in range(SIZE // 12))"
    texts = [f"'---\\n' + {lead!r} + {body} + '\\n---\\nbody'" for lead in LEADS]
    for cost in assert_all_linear(FRONT, texts, 1_000_000):
        assert cost.error == ""
        assert cost.seconds < 8
        assert cost.megabytes < 200


def laughs(count: int) -> str:
    letters = "abcdefghijklmnop"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise(letters[:count]):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (laughs(10), "more than 100000 values"),
        (
            "a: &a " + "x" * 30_000 + "\nb: [" + ", ".join(["*a"] * 5_000) + "]",
            "more than 2000000 characters",
        ),
        ("a: " + "[" * 1_000, "nested more than 64 deep"),
        ("a: &a [*a]", "nothing is called"),
        ("a: " + "9" * 5_000, "too many digits"),
        ("a: 0x" + "f" * 5_000, "too many digits"),
        ("a: 0o" + "7" * 5_000, "too many digits"),
        ("a: " + "9" * 400 + ".0", "no number JSON can hold"),
    ],
)
def test_what_is_too_much_is_said(text: str, problem: str) -> None:
    with pytest.raises(YamlError, match=problem):
        read_yaml(text)
    assert problem in read_frontmatter(f"---\n{text}\n---\nbody").problem


def test_times_and_dates_stay_texts() -> None:
    assert read_yaml("a: 2026-03-01T00:00:00Z\nb: 12:30:45\nc: " + "1:" * 2_000 + "1")[0]["a"].startswith(
        "2026"
    )
