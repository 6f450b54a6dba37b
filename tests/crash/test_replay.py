"""A dialog that was being made from a script when its process was killed is there whole, or not at all."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from shipmate.store.file_store import open_store
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.workspace.layout import Layout
from tests.support.replay_and_die import THREAD

REPOSITORY = Path(__file__).parents[2]
MESSAGES = 6
FEWEST_CALLS = 5


async def look(root: Path) -> tuple[int, int, int]:
    """Return how many threads the lists show, how many messages it has, and how many are found."""
    layout = Layout(root)
    store, threads = open_store(layout), ThreadService(FileLog(layout))
    await store.reconcile()
    listed = [*await store.threads.list(archived=None), *await store.threads.list(binned=True)]
    found = await store.search.find("said")
    held = len((await threads.read(THREAD)).messages) if await threads.exists(THREAD) else 0
    await store.close()
    return len(listed), held, len(found)


async def test_a_kill_during_replay_leaves_the_whole_dialog_or_nothing(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.replay_and_die", str(tmp_path)),
        cwd=REPOSITORY,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    last = int(out)
    assert last >= FEWEST_CALLS, "the disk was hardly asked"
    seen = [await look(tmp_path / str(number)) for number in range(last + 1)]
    assert seen[0] == (0, 0, 0)
    assert seen[-1] == (1, MESSAGES, 3)
    assert set(seen) == {(0, 0, 0), (1, MESSAGES, 3)}
