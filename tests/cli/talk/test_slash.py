from __future__ import annotations

import pytest

from shipmate.cli.talk.slash import COMMANDS, Slash, help_lines, parse_slash


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/help", Slash("help")),
        ("  /thread web:room:1 ", Slash("thread", "web:room:1")),
        ("/steer be brief, please", Slash("steer", "be brief, please")),
        ("/thread", Slash("thread", "", "write /thread ID")),
        ("/rewind", Slash("rewind")),
        ("/rewind 2", Slash("rewind", "2")),
        ("/hlp", Slash("hlp", "", "there is no command /hlp. Did you mean /help?")),
        ("/xyzzy", Slash("xyzzy", "", "there is no command /xyzzy. /help lists them.")),
        ("hello", None),
        ("/etc/hosts is odd", None),
        ("/help\nme", None),
    ],
)
def test_slash_lines_are_commands_and_paths_are_words(text: str, expected: Slash | None) -> None:
    assert parse_slash(text) == expected


def test_help_names_every_command() -> None:
    text = "\n".join(help_lines())
    assert all(f"/{name}" in text for name in COMMANDS)
    assert "Ctrl-C" in text
