"""Check every section of the grammars against what it means, and against the programs themselves."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from shipmate.tools.exec.command import find_program
from shipmate.tools.exec.program.grammar import (
    ALWAYS,
    DATA,
    KINDS,
    Grammar,
    find_grammar,
    has_verbs,
    program_names,
)
from tests.support.program import WORDS, make_environment, make_folder, write_option

NAMES = sorted(program_names())
# They run what they are given, code that lies in files, or programs of the workspace.
RUNNING = (
    "awk", "bash", "bundle", "busybox", "bunx", "cargo", "claude", "cmake", "conda", "curl", "dash", "dd",
    "direnv", "docker", "doas", "ed", "emacs", "env", "ex", "expect", "flask", "flock", "gawk", "gdb", "go",
    "hatch", "ionice", "install", "java", "jest", "jupyter", "less", "ln", "lua", "make", "man", "mawk",
    "mise", "more", "mypy", "nano", "nice", "node", "nohup", "npm", "npx", "parallel", "patch", "perl",
    "php", "pip", "pnpm", "psql", "pytest", "python", "python3", "rails", "rm", "rsync", "ruby", "ruff",
    "scp", "script", "setsid", "sh", "shipmate", "socat", "split", "sqlite3", "ssh", "stdbuf", "strace",
    "su", "sudo", "tar", "tee", "time", "timeout", "tox", "unzip", "uv", "vi", "vim", "vite", "watch",
    "wget", "xargs", "yarn", "zip", "zsh", "git push", "git fetch", "git clone", "git config", "git rebase",
    "git submodule", "git filter-branch", "git difftool", "git bisect", "git checkout",
)  # fmt: skip
# What a program answers to an option it does not have.
UNKNOWN = re.compile(
    r"unrecognized (option|argument)|invalid option|unknown (option|switch|argument|predicate)"
    r"|Found argument '-|Invalid argument `-|unexpected argument|Unknown argument|Unrecognised",
    re.IGNORECASE,
)
# What it answers when it takes a word for a path or a commit.
MISSING = re.compile(r"zzqq.*(No such file|unknown revision|bad revision|not found|ambiguous argument)")


def grammar_of(name: str) -> Grammar:
    grammar = find_grammar(name)
    assert grammar is not None
    return grammar


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that the tests of this module share: they only look whether an option is known."""
    made = tmp_path_factory.mktemp("program") / "folder"
    make_folder(made)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_c9_every_section_is_whole_and_means_what_it_says(name: str) -> None:
    grammar = grammar_of(name)
    for option, taken in grammar.options.items():
        assert re.fullmatch(r"--?[\w.-]+", option) or grammar.words, option
        assert set(taken.values) <= set(KINDS)
        assert taken.values or not taken.is_optional
    named = {*grammar.needs, *grammar.below, *grammar.follows, *grammar.whole} - {ALWAYS}
    named |= {option for options, _ in grammar.alternatives for option in options}
    assert named <= set(grammar.options), "a directive names an option the section does not have"
    for slots in (grammar.operands, *(slots for _, slots in grammar.alternatives)):
        assert [slot.times for slot in slots].count("many") <= 1, "two places for any number of words"
    if grammar.repository:
        assert name.startswith("git ")
    if grammar.literal:
        assert not grammar.options
        assert not grammar.operands
    if " " in name:
        assert has_verbs(name.split()[0])


def test_each_option_is_listed_once_in_its_section() -> None:
    text = DATA.read_text(encoding="utf-8")
    for section in re.split(r"(?m)^\[", text)[1:]:
        lines = [line for line in section.splitlines() if line.startswith(("flags ", "takes ", "may-take "))]
        options = [word for line in lines for word in line.split()[1 if line.startswith("flags") else 2 :]]
        assert len(options) == len(set(options)), section.partition("]")[0]


@pytest.mark.parametrize("name", RUNNING)
def test_c9_what_runs_other_programs_has_no_grammar(name: str) -> None:
    assert find_grammar(name) is None


@pytest.mark.parametrize("name", NAMES)
def test_every_option_exists_in_the_program_that_is_installed(
    tmp_path: Path, folder: Path, name: str
) -> None:
    grammar = grammar_of(name)
    program = find_program(name.split()[0], tmp_path)
    if program is None or grammar.words:
        pytest.skip("not installed, or without options that can be told from words")
    help_text = run([program, *name.split()[1:], "-h" if name.startswith("git ") else "--help"], folder)
    chance = random.Random(1)
    for option, taken in grammar.options.items():
        if re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_text):
            continue
        words = write_option(option, taken, grammar, chance)
        if taken.is_optional and option.startswith("--"):
            words = [f"{option}={WORDS[taken.values[0]][0]}"]
        operands = [
            WORDS[slot.kind][0] for slot in grammar.slots(frozenset([option])) if slot.times != "maybe"
        ]
        said = run([program, *name.split()[1:], *words, *operands], folder)
        assert not UNKNOWN.search(said), f"{option}: {said[:300]}"


def run(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env=make_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


@pytest.mark.parametrize("name", NAMES)
def test_the_word_behind_an_option_is_its_value(tmp_path: Path, folder: Path, name: str) -> None:
    """Were it a path to the program and a mere text to us, a rule about paths could be passed by."""
    grammar = grammar_of(name)
    program = find_program(name.split()[0], tmp_path)
    if program is None or grammar.words:
        pytest.skip("not installed, or every option is a word of its own")
    for option, taken in grammar.options.items():
        if taken.values not in (("text",), ("choice",), ("number",), ("pretty",)) or taken.is_optional:
            continue
        operands = [WORDS[slot.kind][0] for slot in grammar.slots(frozenset([option])) if slot.times == "one"]
        said = run([program, *name.split()[1:], option, "zzqq", *operands], folder)
        assert not MISSING.search(said), f"{option}: {said[:300]}"
