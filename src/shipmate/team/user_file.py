"""Keep the people of a team in `.ship/users.json`, which only the owner of the machine can read."""

from __future__ import annotations

import asyncio

import msgspec

from shipmate.errors import UserError
from shipmate.team.user import Change, User
from shipmate.workspace.disk.disk import DISK, Disk, locked, read_file, refusals, replace_file, stat_of
from shipmate.workspace.layout import Layout


class UserFile:
    """The people of a team, in one file; any process may change it."""

    def __init__(self, layout: Layout, disk: Disk = DISK) -> None:
        self._layout = layout
        self._disk = disk
        self._seen: tuple[int, int, int] | None = None
        self._known: dict[str, User] = {}

    async def list(self) -> list[User]:
        """List everybody, by id."""
        return [user for _, user in sorted(self._read().items())]

    async def find(self, user_id: str) -> User | None:
        """Return somebody."""
        return self._read().get(user_id)

    async def change(self, user_id: str, change: Change) -> User | None:
        """Put what `change` makes of somebody in their place."""
        return await asyncio.to_thread(self._change, user_id, change)

    def _change(self, user_id: str, change: Change) -> User | None:
        path = self._layout.users
        with refusals(path, self._layout.root), locked(self._disk, path.with_suffix(".lock")):
            known = dict(self._read())
            before = known.pop(user_id, None)
            after = change(before)
            if after is not None:
                known[user_id] = after
            if after != before:
                replace_file(self._disk, path, msgspec.json.encode(known))
            return after

    def _read(self) -> dict[str, User]:
        """Read the file when it changed since the last time."""
        path = self._layout.users
        status = stat_of(self._disk, path)
        stamp = None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._seen:
            try:
                known = msgspec.json.decode(read_file(self._disk, path), type=dict[str, User])
            except FileNotFoundError:
                known = {}
            except msgspec.MsgspecError as error:
                # Nobody is let in by a file that cannot be read; the workspace's own token still works.
                name = self._layout.name_of(path)
                raise UserError(
                    f"{name} cannot be read: {error}. Mend it, or remove it and begin anew."
                ) from error
            self._known, self._seen = known, stamp
        return self._known
