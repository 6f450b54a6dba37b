"""Take away what a command made and may not make, and put back what it may not replace."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

from shipmate.tools.exec.sandbox.locked import LockedEntry
from shipmate.tools.file.change.changeset import OWNER_ALL, set_mode
from shipmate.tools.file.change.state import reach
from shipmate.workspace.layout import Layout, make_private

NAMED_LIMIT = 10


def refuse_new(
    layout: Layout,
    before: Sequence[LockedEntry],
    after: Sequence[LockedEntry],
    call_id: str,
    made: Path | None = None,
) -> list[str]:
    """Move what is new among the locked to `.ship/refused`, but not below `made`; return a line for each."""
    new = [entry for entry in _find_new(before, after) if not _may_be(entry, layout, made)]
    taken = [_take_away(layout, entry, call_id) for entry in _outermost(new)]
    there = {entry.path for entry in after}
    lost = [entry for entry in before if entry.link is not None and entry.path not in there]
    replaced = [entry for entry in before if entry.link is not None and entry.path in {n.path for n in new}]
    for entry in (*lost, *replaced):
        _put_back(layout, entry)
    more = len(taken) - NAMED_LIMIT
    return taken[:NAMED_LIMIT] + ([f"[refused: {more} more of this kind]"] if more > 0 else [])


def open_up(layout: Layout, folders: Iterable[str]) -> None:
    """Let us look through folders that a command closed; who owns them keeps all rights to them."""
    for folder in folders:
        parts = Path(folder).relative_to(layout.root).parts
        # What is gone by now hides nothing.
        with suppress(OSError), reach(layout.root, parts) as parent:
            name = parts[-1] if parts else "."
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
            set_mode(parent, name, stat.S_IMODE(mode) | OWNER_ALL)


def _find_new(before: Sequence[LockedEntry], after: Sequence[LockedEntry]) -> list[LockedEntry]:
    # A file or folder is known wherever its parent was moved; a link could itself have been moved.
    known = {entry.inode for entry in before if entry.link is None}
    links = {(entry.path, entry.link) for entry in before if entry.link is not None}
    there = {entry.inode for entry in after}
    # What is covered cannot be removed by a command: where the old one is gone, a person has saved a new one.
    saved = {entry.path for entry in before if entry.link is None and entry.inode not in there}
    return [
        entry
        for entry in after
        if entry.inode not in known and (entry.path, entry.link) not in links and entry.path not in saved
    ]


def _may_be(entry: LockedEntry, layout: Layout, made: Path | None) -> bool:
    """Return whether an entry stays: Shipmate's own state, and the repository the command was to make."""
    path = Path(entry.path)
    if path == layout.ship:
        return True
    return made is not None and path.is_relative_to(os.path.normpath(made))


def _outermost(entries: Sequence[LockedEntry]) -> list[LockedEntry]:
    kept: list[LockedEntry] = []
    for entry in entries:
        if not any((entry.path + "/").startswith(other.path + "/") for other in kept):
            kept.append(entry)
    return kept


def _take_away(layout: Layout, entry: LockedEntry, call_id: str) -> str:
    path = Path(entry.path)
    relative = path.relative_to(layout.root)
    place = make_private(layout.refused(call_id))
    name = f"{quote(str(relative), safe='')[:150]}-{secrets.token_hex(3)}"
    with ExitStack() as stack:
        target = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        stack.callback(os.close, target)
        folder = _open_folder(layout.root, relative.parent.parts, stack)
        try:
            os.rename(path.name, name, src_dir_fd=folder, dst_dir_fd=target)
        except OSError:
            # On another file system it stays where it lies, under a name nobody acts on.
            name = f"refused-{secrets.token_hex(6)}"
            os.rename(path.name, name, src_dir_fd=folder, dst_dir_fd=folder)
            place = path.parent
    where = (place / name).relative_to(layout.root)
    why = "was made by this command, and commands may not make it"
    return f"[refused: {relative} {why}; it lies in {where} now]"


def _put_back(layout: Layout, entry: LockedEntry) -> None:
    relative = Path(entry.path).relative_to(layout.root)
    # Where its folder went as well there is no place for it.
    with ExitStack() as stack, suppress(OSError):
        folder = _open_folder(layout.root, relative.parent.parts, stack)
        os.symlink(entry.link or "", relative.name, dir_fd=folder)


def _open_folder(root: Path, parts: Sequence[str], stack: ExitStack) -> int:
    """Open a folder step by step, following no link that was put in the way."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    stack.callback(os.close, handle)
    for part in parts:
        handle = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
        stack.callback(os.close, handle)
    return handle
