"""Write down what was locked when a command began, so that a kill of this process leaves nothing it made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from shipmate.tools.exec.sandbox.locked import LockedEntry, LockedTree
from shipmate.tools.exec.sandbox.refusal import open_up, refuse_new
from shipmate.tools.exec.sandbox.repository import GUARDED, restore_guarded
from shipmate.tools.exec.sandbox.room import ROOM_PREFIX, is_running
from shipmate.workspace.layout import Layout, make_private

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
