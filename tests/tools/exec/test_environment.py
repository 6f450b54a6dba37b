from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.exec.environment import choose_private, make_environment
from shipmate.tools.exec.sandbox.room import Room
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
    assert nameless["GIT_AUTHOR_NAME"] == context.member
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
