"""A command cannot make a ship.json, and none is left where none was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.tools.exec.sandbox.placeholder import MARK, hold, release
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.workspace.layout import Layout
from tests.tools.exec.conftest import Run


async def test_m1_a_command_leaves_no_ship_json_where_none_was(run: Run, root: Path) -> None:
    (root / "ship.json").unlink(missing_ok=True)
    await run("ls")
    assert not (root / "ship.json").exists()
    await run('echo \'{"permissions": {"mode": "yolo"}}\' > ship.json; ls')
    assert not (root / "ship.json").exists()


async def test_m1_commands_that_run_at_once_leave_none_either(run: Run, root: Path) -> None:
    (root / "ship.json").unlink(missing_ok=True)
    await asyncio.gather(*(run(f"echo {number} > ship.json; ls") for number in range(4)))
    assert not (root / "ship.json").exists()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "CLAUDE.md").write_text("# Words\n")
    return Layout(tmp_path)


def test_it_stays_until_the_last_room_closes(layout: Layout) -> None:
    hold(layout, "one")
    hold(layout, "two")
    release(layout, "one")
    assert layout.config.read_text() == "{}\n"
    release(layout, "two")
    assert not layout.config.exists()


def test_what_a_person_wrote_stays(layout: Layout) -> None:
    hold(layout, "one")
    layout.config.write_text('{"name": "Ada"}')
    release(layout, "one")
    assert layout.config.read_text() == '{"name": "Ada"}'
    hold(layout, "two")
    layout.config.write_text("{}\n")
    release(layout, "two")
    assert layout.config.exists()


def test_one_that_a_killed_process_left_is_taken_away(layout: Layout) -> None:
    layout.rooms.mkdir(parents=True)
    (layout.rooms / MARK).touch()
    layout.config.write_text("{}\n")
    Sandbox(layout).recover()
    assert not layout.config.exists()
    assert not (layout.rooms / MARK).exists()
