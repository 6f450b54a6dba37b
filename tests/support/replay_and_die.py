"""Begin a dialog from a script again and again, each time killed at the next call on the disk: FOLDER.

Each attempt has a workspace of its own below the folder, named after the call that was its last. Prints how
many there were; the last of them got to its end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from shipmate.priming.library import Library
from shipmate.priming.replay import Priming, create_dialog
from shipmate.store.file_store import open_store
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import OsDisk
from shipmate.workspace.layout import Layout
from tests.support.priming_script import words

LAST = 500
THREAD = ThreadId("web", "room", "primed")
TEXT = "".join(words(f"say {n}", f"said {n}", genseq=n, message_id=f"m-{n}") for n in range(1, 4))


class FatalDisk(OsDisk):
    """A disk whose n-th change is the last thing this process does."""

    def __init__(self, number: int) -> None:
        self._left = number

    def write(self, handle: int, data: bytes) -> int:
        if self._is_last():
            # Half of it, as a kill may leave it.
            super().write(handle, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(handle, data)

    def rename(self, source: Path, target: Path) -> None:
        self._count()
        super().rename(source, target)

    def link(self, source: Path, target: Path) -> None:
        self._count()
        super().link(source, target)

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        self._count()
        super().mkdir(path, mode)

    def unlink(self, path: Path) -> None:
        self._count()
        super().unlink(path)

    def fsync(self, handle: int) -> None:
        self._count()
        super().fsync(handle)

    def fdatasync(self, handle: int) -> None:
        self._count()
        super().fdatasync(handle)

    def _count(self) -> None:
        if self._is_last():
            os.kill(os.getpid(), signal.SIGKILL)

    def _is_last(self) -> bool:
        self._left -= 1
        return self._left < 0


async def begin(root: Path, number: int) -> None:
    """Begin a primed dialog on a disk that ends the process."""
    layout, disk = Layout(root), FatalDisk(number)
    store = open_store(layout, disk)
    priming = Priming(script_refs=("team_shared/probe",), show_in_ui=True)
    threads = ThreadService(FileLog(layout, disk))
    await create_dialog(Library(layout), threads, store, thread_id=THREAD, priming=priming)
    await store.close()


def main(folder: Path) -> None:
    for number in range(LAST):
        root = folder / str(number)
        layout = Layout(root)
        layout.shared_priming.mkdir(parents=True)
        layout.agent.write_text("# Mate\n")
        (layout.shared_priming / "probe.md").write_text(TEXT)
        child = os.fork()
        if child == 0:
            asyncio.run(begin(root, number))
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            print(number)
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
