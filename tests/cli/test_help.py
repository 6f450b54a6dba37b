from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.terminal import shipmate

PAGE = Path(__file__).parents[2] / "docs" / "terminal.md"
BLOCKS: list[tuple[str, str]] = re.findall(
    r"```console\n\$ shipmate (\w+) --help\n(.*?)```", PAGE.read_text(), re.DOTALL
)


@pytest.mark.parametrize(("command", "text"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_the_page_shows_the_help_as_it_is(tmp_path: Path, command: str, text: str) -> None:
    assert shipmate(tmp_path, command, "--help").stdout.strip() == text.strip()


def test_the_page_shows_the_commands_people_begin_with() -> None:
    assert {command for command, _ in BLOCKS} == {"init", "chat", "ask", "stop"}
