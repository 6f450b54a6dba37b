"""Write down what was locked when a command began, so that a kill of this process leaves nothing it made."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

import msgspec

from shipmate.tools.exec.sandbox.locked import LockedEntry, LockedTree
from shipmate.tools.exec.sandbox.repository import GUARDED, restore_guarded
from shipmate.tools.exec.sandbox.room import ROOM_PREFIX, is_running
from shipmate.tools.file.change.changeset import OWNER_ALL, set_mode
from shipmate.tools.file.change.state import reach
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout

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


# How deep folders may lie in each other that a command closed; what lies deeper is taken away whole.
DEPTH_LIMIT = 100


class Beginning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the workspace stood when a command began."""

    before: tuple[LockedEntry, ...]
    # Folders that could not be looked through: a person closed those.
    closed: frozenset[str] = frozenset()
    writes_repository: bool = False
    # The files git acts on, where the command could write them.
    contents: dict[str, bytes] | None = None


class Journal:
    """The beginnings of all commands that run now."""

    def __init__(self, layout: Layout, tree: LockedTree) -> None:
        self._layout = layout
        self._tree = tree
        self._begun: dict[str, Beginning] = {}

    def begin(
        self, name: str, *, writes_repository: bool = False, contents: Mapping[Path, bytes] | None = None
    ) -> None:
        """Keep how the workspace stood at the last look, also for who comes after this process."""
        beginning = Beginning(
            before=(*self._tree.latest, *self._guarded(writes_repository)),
            closed=self._tree.closed,
            writes_repository=writes_repository,
            contents=None if contents is None else {str(path): data for path, data in contents.items()},
        )
        place = make_private(self._layout.rooms) / name
        place.write_bytes(msgspec.json.encode(beginning))
        self._begun[name] = beginning

    def refuse(self, name: str, call_id: str, made: Path | None = None) -> list[str]:
        """Take away what a command made and may not make; return a line for each."""
        beginning = self._begun.get(name)
        return [] if beginning is None else self._refuse(beginning, call_id, made)

    def end(self, name: str) -> None:
        """Forget a command after whose end all was put right."""
        if self._begun.pop(name, None) is not None:
            (self._layout.rooms / name).unlink(missing_ok=True)

    def recover(self) -> list[str]:
        """Take away what commands made whose process was killed before it could; return a line for each."""
        lines: list[str] = []
        for place in sorted(self._layout.rooms.glob(f"{ROOM_PREFIX}*")):
            owner = place.name.removeprefix(ROOM_PREFIX).partition("-")[0]
            if owner.isdigit() and is_running(int(owner)):
                continue
            beginning = msgspec.json.decode(place.read_bytes(), type=Beginning)
            lines += self._refuse(beginning, place.name, None)
            place.unlink(missing_ok=True)
        return lines

    def _refuse(self, beginning: Beginning, call_id: str, made: Path | None) -> list[str]:
        changed: list[Path] = []
        if beginning.contents is not None:
            contents = {Path(path): data for path, data in beginning.contents.items()}
            changed = restore_guarded(self._layout.root / ".git", contents)
        notes = [f"[refused: {file.relative_to(self._layout.root)} was put back]" for file in changed]
        after = (*self._look_through(beginning.closed), *self._guarded(beginning.writes_repository))
        return notes + refuse_new(self._layout, beginning.before, after, call_id, made)

    def _look_through(self, closed: frozenset[str]) -> tuple[LockedEntry, ...]:
        """Return what is locked now, looked for also in folders that a command has closed since."""
        found = self._tree.look()
        for _ in range(DEPTH_LIMIT):
            if not (new := self._tree.closed - closed):
                break
            open_up(self._layout, new)
            found = self._tree.look()
        return found

    def _guarded(self, writes_repository: bool) -> list[LockedEntry]:
        """Return what git may not make in a repository it may write."""
        if not writes_repository:
            return []
        paths = [self._layout.root / ".git" / name for name in GUARDED]
        stats = [(path, path.lstat()) for path in paths if os.path.lexists(path)]
        return [
            LockedEntry(str(path), (status.st_dev, status.st_ino), path.is_dir(), is_hidden=False)
            for path, status in stats
        ]
