"""Help is read in the language of who asks for it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import click

from shipmate.cli.group import group
from shipmate.cli.terminal.tongue import load_help
from tests.support.terminal import shipmate


def helps(command: click.Command) -> Iterator[str]:
    """Return whatever a command, its options and the commands below it say of themselves."""
    yield from (command.help or "", command.epilog or "")
    yield from (option.help or "" for option in command.params if isinstance(option, click.Option))
    if isinstance(command, click.Group):
        inner = (
            command.get_command(click.Context(command), name)
            for name in command.list_commands(click.Context(command))
        )
        yield from (text for each in inner if each is not None for text in helps(each))


def test_u9_every_help_is_there_in_chinese_and_no_chinese_is_left_over() -> None:
    said = {" ".join(text.split()) for text in helps(group) if text}
    assert said - set(load_help()) == set(), "add them to cli/terminal/words/help.zh.json"
    assert set(load_help()) - said == set(), "nothing says this any more"


def test_u9_help_is_shown_in_chinese_within_the_screen(tmp_path: Path) -> None:
    for command in ([], ["threads"], ["priming", "rehearse"]):
        shown = shipmate(tmp_path, *command, "--help", LANG="zh_CN.UTF-8", COLUMNS="80")
        assert shown.returncode == 0, shown.stderr
        for line in shown.stdout.splitlines():
            assert sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in line) <= 80, line
            assert line.lstrip()[:1] not in tuple("，。；："), line
    assert "用这个模型排练" in shown.stdout
    assert "Show" not in shown.stdout
