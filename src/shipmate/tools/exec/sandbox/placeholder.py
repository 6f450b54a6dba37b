"""Hold the place of a ship.json that is not there, so that no command can make one."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from shipmate.tools.exec.sandbox.room import ROOM_PREFIX
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout

TEXT = b"{}\n"
MARK = "placeholder"

_lock = threading.Lock()
# The open rooms of this process, by the configuration they must not make: members have a sandbox each.
_open: dict[Path, set[str]] = {}


def hold(layout: Layout, room: str) -> None:
    """Put an empty ship.json where there is none: what does not exist cannot be covered."""
    with _lock:
        _open.setdefault(layout.config, set()).add(room)
        if layout.config.exists() or layout.config.is_symlink():
            return
        # Marked first: a kill between the two leaves no file that nobody takes away.
        mark = make_private(layout.rooms) / MARK
        mark.touch(mode=0o600)
        try:
            with layout.config.open("xb") as file:
                file.write(TEXT)
        except FileExistsError:
            mark.unlink(missing_ok=True)


def release(layout: Layout, room: str) -> None:
    """Take the placeholder away once no command runs any more; what a person wrote there stays."""
    with _lock:
        rooms = _open.get(layout.config, set())
        rooms.discard(room)
        if not rooms:
            _open.pop(layout.config, None)
            _take(layout)


def recover(layout: Layout) -> None:
    """Take away the placeholder that a process left which was killed."""
    with _lock:
        # The journal has taken away the rooms of processes that are gone.
        if not any(layout.rooms.glob(f"{ROOM_PREFIX}*")) and layout.config not in _open:
            _take(layout)


def _take(layout: Layout) -> None:
    mark = layout.rooms / MARK
    if not mark.exists():
        return
    # On a disk that refuses it stays, as an empty ship.json that says nothing.
    with contextlib.suppress(OSError):
        if not layout.config.is_symlink() and layout.config.read_bytes() == TEXT:
            layout.config.unlink()
        mark.unlink()
