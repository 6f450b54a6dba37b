"""What a command left goes after its answer, and is gone before the process is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.removal import do_later, finish_removals, remove_later
from shipmate.tools.exec.sandbox.room import make_room
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.workspace.layout import Layout


def test_a_room_is_gone_at_once_and_what_it_held_soon_after(tmp_path: Path) -> None:
    room = make_room(tmp_path)
    (room.home / "closed").mkdir(mode=0o000)
    may_go = threading.Event()

    def hold_up() -> None:
        may_go.wait(10)

    do_later(hold_up)
    remove_later(room.folder)
    assert not room.folder.exists()
    assert list(tmp_path.iterdir())
    may_go.set()
    finish_removals()
    assert not list(tmp_path.iterdir())


def test_what_is_gone_already_is_no_error(tmp_path: Path) -> None:
    remove_later(tmp_path / "gone")
    folder = make_room(tmp_path).folder
    remove_later(folder)
    finish_removals()
    # What came behind it was removed all the same.
    assert not list(tmp_path.iterdir())


def test_a_process_that_was_split_off_removes_by_itself(tmp_path: Path) -> None:
    finish_removals()
    folder = make_room(tmp_path).folder
    child = os.fork()
    if child == 0:
        remove_later(folder)
        finish_removals()
        os._exit(0 if not list(tmp_path.iterdir()) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_all_is_removed_when_a_process_ends_by_itself(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys\n"
        "from shipmate.tools.exec.sandbox.removal import remove_later\n"
        "from shipmate.tools.exec.sandbox.room import make_room\n"
        "for _ in range(50): remove_later(make_room(pathlib.Path(sys.argv[1])).folder)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
    assert not list(tmp_path.iterdir())


async def test_closing_the_tool_waits_for_all_of_it(root: Path, tmp_path: Path) -> None:
    tool = Exec(Sandbox(Layout(root)), Jobs(), {})
    done = threading.Event()
    do_later(done.set)
    await tool.close()
    assert done.is_set()
