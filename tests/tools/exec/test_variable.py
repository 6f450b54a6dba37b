from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.exec.sandbox.room import Room
from shipmate.tools.exec.variable import choose_private, make_environment
from shipmate.tools.tool import ToolContext


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(home=tmp_path / "room" / "home")


def test_little_of_the_host_is_passed_on(context: ToolContext, room: Room) -> None:
    host = {
        "LANG": "de_DE.UTF-8", "HOME": "/home/ann", "OPENAI_API_KEY": "hidden", "BASH_ENV": "evil",
        "ENV": "evil", "PYTHONPATH": "evil", "GIT_DIR": "evil", "LD_PRELOAD": "evil", "NODE_OPTIONS": "evil",
    }  # fmt: skip
    made = make_environment(context, room, {}, host)
    assert made["LANG"] == "de_DE.UTF-8"
    assert made["HOME"] == str(room.home)
    assert not {"hidden", "evil", "/home/ann"} & set(made.values())
    assert not {"BASH_ENV", "ENV", "PYTHONPATH", "LD_PRELOAD"} & set(made)


def test_private_variables_do_not_replace_what_keeps_the_room_clean(context: ToolContext, room: Room) -> None:
    made = make_environment(context, room, {"HOME": "/x", "GIT_CONFIG_GLOBAL": "/x", "MINE": "yes"}, {})
    assert made["MINE"] == "yes"
    assert "/x" not in made.values()


def test_git_commits_in_the_name_of_the_person_else_of_the_member(
    context: ToolContext, room: Room, tmp_path: Path
) -> None:
    nameless = make_environment(context, room, {}, {"HOME": str(tmp_path / "nobody")})
    assert nameless["GIT_AUTHOR_NAME"] == context.member.id
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann/.gitconfig").write_text("[user]\n\tname = Ann Example\n\temail = ann@example.org\n")
    named = make_environment(context, room, {}, {"HOME": str(tmp_path / "ann")})
    assert named["GIT_COMMITTER_NAME"] == "Ann Example"
    assert named["GIT_AUTHOR_EMAIL"] == "ann@example.org"


def test_git_commits_in_the_name_the_repository_gives(
    context: ToolContext, room: Room, tmp_path: Path
) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann/.gitconfig").write_text("[user]\n\tname = Ann Example\n\temail = ann@home.example\n")
    (context.folder / ".git").mkdir()
    (context.folder / ".git/config").write_text("[user]\n\temail = ann@work.example\n")
    made = make_environment(context, room, {}, {"HOME": str(tmp_path / "ann")})
    assert (made["GIT_AUTHOR_NAME"], made["GIT_AUTHOR_EMAIL"]) == ("Ann Example", "ann@work.example")


def test_npm_is_given_two_files_of_settings_and_both_are_empty(context: ToolContext, room: Room) -> None:
    made = make_environment(context, room, {}, {})
    assert made["NPM_CONFIG_USERCONFIG"] == str(room.home / ".npmrc")
    assert made["NPM_CONFIG_GLOBALCONFIG"] != made["NPM_CONFIG_USERCONFIG"]


def test_only_named_variables_are_chosen_and_unknown_ones_refused() -> None:
    private = {"ONE": "1", "TWO": "2"}
    assert choose_private(private, ()) == {}
    assert choose_private(private, ("TWO",)) == {"TWO": "2"}
    with pytest.raises(ToolError, match=r"no private variable THREE. Known: ONE, TWO. Nothing ran"):
        choose_private(private, ("ONE", "THREE"))


def git(environment: dict[str, str], folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env=environment,
        input="host=x\nprotocol=https\n",
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_c1_git_runs_nothing_that_a_repository_or_the_machine_names(
    context: ToolContext, room: Room, tmp_path: Path
) -> None:
    """Where no sandbox covers a repository's settings these variables are all there is."""
    room.home.mkdir(parents=True)
    canary, folder = tmp_path / "canary", context.folder
    made = make_environment(context, room, {}, {})
    git(made, folder, "init", "-q")
    hook = folder / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)
    (folder / "attributes").write_text("* filter=evil\n")
    (folder / "ignored").write_text("a.txt\n")
    for key, value in {
        "core.fsmonitor": f"touch {canary}; false",
        "core.editor": f"touch {canary}; false",
        "core.attributesFile": str(folder / "attributes"),
        "core.excludesFile": str(folder / "ignored"),
        "filter.evil.clean": f"touch {canary}; cat",
        "credential.helper": f"!touch {canary}",
        "core.askPass": str(hook),
        "protocol.ext.allow": "always",
        "commit.gpgSign": "true",
        "gpg.program": str(hook),
    }.items():
        git(made, folder, "config", key, value)
    (folder / "a.txt").write_text("one\n")
    assert "?? a.txt" in git(made, folder, "status", "--porcelain", "a.txt")
    git(made, folder, "add", "a.txt")
    git(made, folder, "commit", "-m", "one")
    git(made, folder, "commit", "--amend")
    git(made, folder, "credential", "fill")
    git(made, folder, "ls-remote", f"ext::touch {canary}")
    assert git(made, folder, "log", "--format=%s") == "one\n"
    assert not canary.exists()


def test_c1_settings_of_the_person_and_of_the_machine_are_not_read(context: ToolContext, room: Room) -> None:
    """What was put into the very home of a command, as by a program it runs, is no setting either."""
    for name, text in {
        ".gitconfig": "[alias]\n\tevil = status\n",
        ".config/git/config": "[alias]\n\tevil = status\n",
        ".local/lib/x": "",
    }.items():
        (room.home / name).parent.mkdir(parents=True, exist_ok=True)
        (room.home / name).write_text(text)
    made = make_environment(context, room, {}, {})
    assert "evil" not in git(made, context.folder, "config", "-l")
    scopes = git(made, context.folder, "config", "-l", "--show-scope")
    assert {line.split("\t")[0] for line in scopes.splitlines()} <= {"command", "local"}
    told = ("NPM_CONFIG_GLOBALCONFIG", "PIP_CONFIG_FILE", "HISTFILE")
    assert {made[name] for name in told} == {"/dev/null"}
    assert (made["PYTHONNOUSERSITE"], made["GIT_CONFIG_NOSYSTEM"], made["GIT_ATTR_NOSYSTEM"]) == (
        "1",
        "1",
        "1",
    )
    assert made["NPM_CONFIG_SCRIPT_SHELL"] == "/bin/sh"
