from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.repository import (
    clean_config,
    has_credentials,
    made_repository,
    writes_repository,
)
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.tool import ToolContext
from shipmate.workspace.layout import Layout

FULL = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tfsmonitor = "touch x"
\thooksPath = evil
[remote "origin"]
\turl = https://bob:secret@git.example/x.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
\tuploadpack = evil
[remote "two"] url = git@git.example:x.git
[alias]
\tst = !evil
[http "https://git.example"]
\textraHeader = Authorization: secret
[filter "x"]
\tclean = evil \\
\t  more
[user]
\tname = Ann
"""


def test_settings_keep_values_and_lose_programs_and_credentials(tmp_path: Path) -> None:
    cleaned = clean_config(FULL)
    assert "evil" not in cleaned
    assert "secret" not in cleaned
    (tmp_path / "config").write_text(cleaned)
    listed = subprocess.run(
        ["git", "config", "-f", str(tmp_path / "config"), "-l"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert listed == [
        "core.repositoryformatversion=0",
        "core.filemode=true",
        "remote.origin.url=https://git.example/x.git",
        "remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*",
        "remote.two.url=git@git.example:x.git",
        "user.name=Ann",
    ]


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (FULL, True),
        ("[core]\n\tbare = false\n", False),
        ("[alias]\n\tst = status\n", False),
        ('[remote "o"]\n\turl = https://git.example/x\n', False),
        ('[remote "o"]\n\turl = https://token@git.example/x\n', True),
        ('[url "https://a:b@c/"]\n\tinsteadOf = https://c/\n', True),
        ("[credential]\n\thelper = store\n", True),
        ("[include]\n\tpath = ../x\n", True),
    ],
)
def test_credentials_are_suspected_in_what_is_not_known(text: str, has: bool) -> None:
    assert has_credentials(text) == has


@pytest.mark.parametrize(
    ("line", "writes", "made"),
    [
        ("git commit -m x", True, None),
        ("git status", False, None),
        ("git -C x commit", False, None),
        ("git", False, None),
        ("git init", True, "."),
        ("git init -q sub/new", True, "sub/new"),
        ("git clone https://x.example/a/b.git", True, "b"),
        ("git clone git@x.example:b.git sub/c", True, "sub/c"),
        ("git clone --depth 1 https://x.example/b.git", True, "b"),
        ("git clone -b main --depth=1 https://x.example/b.git c", True, "c"),
        ("git clone --template=evil . c", True, None),
        ("git clone --templ evil . c", True, None),
        ("git clone -c core.fsmonitor=evil . c", True, None),
        ("git init --template evil sub", True, None),
        ("git init --separate-git-dir=x sub", True, None),
        ("git clone --depth", True, None),
        ("hg commit", False, None),
    ],
)
def test_which_commands_write_a_repository_and_where(line: str, writes: bool, made: str | None) -> None:
    words = line.split()
    assert writes_repository(words) == writes
    assert made_repository(words, Path("/w")) == (None if made is None else Path("/w") / made)


@pytest.fixture
def committed(root: Path) -> Path:
    """A repository that holds ship.json, with changes to it and to another file."""
    (root / "ship.json").write_text("{}")
    for line in (
        "init -q",
        "config user.name x",
        "config user.email x@y",
        "add -f ship.json",
        "commit -qm x",
    ):
        subprocess.run(["git", *line.split()], cwd=root, check=True)
    (root / "ship.json").write_text('{"name": "x"}')
    (root / "a.txt").write_text("tea\n")
    return root


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("git add .", "name the files to add"),
        ("git commit -am x", "name the files to add"),
        ("git add a.txt && git commit -m x", "each as a command of its own"),
        ("git add missing", ""),
        ("git status -u nothing --wrong", ""),
        ("false && true", ""),
    ],
)
async def test_a_failed_git_says_what_would_work(
    committed: Path, context: ToolContext, command: str, said: str
) -> None:
    tool = Exec(Sandbox(Layout(committed)), Jobs(), {})
    if tool.sandbox.level != "bubblewrap":
        pytest.skip("what is kept from commands is covered by bubblewrap alone")
    output = (await tool.run(tool.parse({"command": command}), context)).output
    await tool.close()
    notes = [line for line in output.splitlines() if line.startswith("[") and "exit" not in line]
    assert len(notes) == (1 if said else 0), output
    assert said in "".join(notes)
    assert not output.endswith("[exit 0]")
