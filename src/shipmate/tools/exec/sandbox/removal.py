"""Remove what a command left once its answer was given, so that nobody waits for the disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

from shipmate.tools.exec.sandbox.room import remove_folder


def remove_later(folder: Path) -> None:
    """Take a folder away at once, and remove what it holds when there is time."""
    ended = folder.with_name(f"{folder.name}-ended")
    with contextlib.suppress(FileNotFoundError):
        folder.rename(ended)
        do_later(partial(remove_folder, ended))


def do_later(act: Callable[[], None]) -> None:
    """Do something after what was put off before it; at the latest before this process ends."""
    try:
        _worker(os.getpid()).submit(act)
    except RuntimeError:
        # The process is ending.
        act()


def finish_removals() -> None:
    """Wait until all that was put off is done."""
    with contextlib.suppress(RuntimeError):
        _worker(os.getpid()).submit(lambda: None).result()


@cache
def _worker(owner: int) -> ThreadPoolExecutor:
    # A process that was split off from another does not have its threads.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="removal")
