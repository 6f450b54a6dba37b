"""Read commands by their program's grammar: all of it is known, or none."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from shipmate.tools.exec.program.invocation import Invocation, read_invocation
from shipmate.values.reason import Why

UNKNOWN = Path(__file__).with_name("unknown.txt")


def read(line: str) -> Invocation | Why:
    name, *words = shlex.split(line)
    return read_invocation(name, words)


def paths(line: str) -> tuple[list[str], list[str]]:
    found = read(line)
    assert isinstance(found, Invocation), found
    return [path.text for path in found.paths if path.reads], [
        path.text for path in found.paths if path.writes
    ]


@pytest.mark.parametrize(
    ("line", "reads", "writes"),
    [
        ("cat a -- -b", ["a", "-b"], []),
        ("cat -", [], []),
        ("head -n5 a", ["a"], []),
        ("head -5 a", ["a"], []),
        ("grep -rn -e x a b", ["a", "b"], []),
        ("grep x", ["."], []),
        # A path that an option takes is not where the program looks.
        ("grep -r -f p", ["p", "."], []),
        ("grep -r --exclude-from p x", ["p", "."], []),
        ("rg -f p", ["p", "."], []),
        ("rg --ignore-file p x", ["p", "."], []),
        ("find -newer p", ["p", "."], []),
        ("du -X p", ["p", "."], []),
        ("tree -L 2 -P x a", ["a"], []),
        ("grep -f p a", ["p", "a"], []),
        ("grep -fp a", ["p", "a"], []),
        ("grep --file=p a", ["p", "a"], []),
        ("grep --exclude-from p x a", ["p", "a"], []),
        ("diff --to-file b a", ["b", "a"], []),
        ("sort -o out a", ["a"], ["out"]),
        ("sort -nroout a", ["a"], ["out"]),
        ("sort a --output=out", ["a"], ["out"]),
        ("uniq a", ["a"], []),
        ("uniq -c a b", ["a"], ["b"]),
        ("xxd a b", ["a"], ["b"]),
        ("shuf -o out a", ["a"], ["out"]),
        ("cp a b c", ["a", "b"], ["c"]),
        ("cp -t c a b", ["a", "b"], ["c"]),
        ("mv a b", ["a"], ["a", "b"]),
        ("mkdir -p a/b c", [], ["a/b", "c"]),
        ("touch -r a b", ["a"], ["b"]),
        ("find a b -name x -newer c", ["a", "b", "c"], []),
        ("test -f a -a -d b", ["a", "b"], []),
        ("jq --slurpfile x a .y b", ["a", "b"], []),
        ("git show HEAD:a/b", ["HEAD", "a/b", "."], []),
        ("git diff -- 'docs/*.md'", ["docs", "."], []),
        ("git log --oneline -5", [], []),
        ("git status -s", [], []),
        ("echo -x --anything >", [], []),
        ("printf '%s' x", [], []),
        ("date -r a", ["a"], []),
    ],
)
def test_what_is_read_and_what_is_written(line: str, reads: list[str], writes: list[str]) -> None:
    found = paths(line)
    assert (sorted(found[0]), found[1]) == (sorted(reads), writes)


@pytest.mark.parametrize("line", UNKNOWN.read_text(encoding="utf-8").splitlines()[1:])
def test_c4_what_is_not_known_word_for_word_is_not_known(line: str) -> None:
    assert isinstance(read(line), Why)


@pytest.mark.parametrize(
    ("line", "only_reads"),
    [
        ("ls", True),
        ("git diff", True),
        ("sort a", True),
        ("sort -o b a", False),
        ("mkdir x", False),
        ("uniq a b", False),
        ("git add .", False),
        ("git commit -m x", False),
        ("git commit --amend --no-edit", False),
        ("mv a b", False),
    ],
)
def test_what_only_reads_is_told(line: str, only_reads: bool) -> None:
    found = read(line)
    assert isinstance(found, Invocation)
    assert found.only_reads is only_reads
    assert found.writes_repository is line.startswith(("git add", "git commit"))


def test_recursion_and_links_are_told() -> None:
    def flags(line: str) -> tuple[bool, bool]:
        found = read(line)
        assert isinstance(found, Invocation)
        return found.paths[0].below, found.paths[0].follows

    assert flags("grep x docs") == (False, False)
    assert (
        flags("grep -r x docs")
        == flags("find docs")
        == flags("ls -R docs")
        == flags("rg x docs")
        == (True, False)
    )
    assert flags("grep -R x docs") == flags("diff -r docs other") == (True, True)
