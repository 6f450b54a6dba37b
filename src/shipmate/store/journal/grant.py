"""Grants: `.ship/grants/<id>.json` is the truth, one file a grant, never deleted."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import msgspec

from shipmate.errors import StorageError
from shipmate.store.port import GrantRow
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.disk.disk import (
    Disk,
    exists,
    locked,
    names_in,
    read_file,
    refusals,
    replace_file,
    stat_of,
)
from shipmate.workspace.layout import Layout

# Two changes within one tick of the system's clock bear one time.
TICK_NANOSECONDS = 100_000_000


class GrantRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A grant as its file holds it."""

    id: str
    created_at: str
    until: str | None
    revoked_at: str | None
    data: JsonObject


log = logging.getLogger(__name__)
_decoder = msgspec.json.Decoder(GrantRecord)


class GrantFiles:
    """The grants of one workspace; several processes may give and take them."""

    def __init__(self, layout: Layout, disk: Disk) -> None:
        self._layout = layout
        self._disk = disk
        self._watch = FolderWatch(disk, layout.grants)
        self._known: list[GrantRow] = []

    def add(self, grant_id: str, data: JsonObject, until: str | None) -> None:
        """Put a grant on disk; one of that id stays as it is."""
        path = self._layout.grant(grant_id)
        with refusals(path, self._layout.root), locked(self._disk, self._layout.grants / ".lock"):
            if not exists(self._disk, path):
                grant = GrantRecord(
                    id=grant_id, created_at=timestamp(), until=until, revoked_at=None, data=data
                )
                self._write(grant)

    def revoke(self, grant_id: str) -> bool:
        """Take a grant back; tell whether it was there."""
        path = self._layout.grant(grant_id)
        with refusals(path, self._layout.root), locked(self._disk, self._layout.grants / ".lock"):
            try:
                grant = self._read(path.name)
            except FileNotFoundError:
                return False
            if grant.revoked_at is not None:
                return False
            self._write(msgspec.structs.replace(grant, revoked_at=timestamp()))
            return True

    def list(self) -> list[GrantRow]:
        """List every grant there ever was, oldest first; one that cannot be read grants nothing."""
        with refusals(self._layout.grants, self._layout.root):
            if self._watch.look():
                names = names_in(self._disk, self._layout.grants)
                found = [row for name in names if _is_grant(name) and (row := self._row(name))]
                self._known = sorted(found, key=lambda row: (row.created_at, row.id))
        return list(self._known)

    def _row(self, name: str) -> GrantRow | None:
        try:
            grant = self._read(name)
        except StorageError as error:
            log.warning("%s", error)
            return None
        return GrantRow(
            id=grant.id,
            data=grant.data,
            created_at=grant.created_at,
            until=grant.until,
            revoked_at=grant.revoked_at,
        )

    def _read(self, name: str) -> GrantRecord:
        path = self._layout.grants / name
        try:
            return _decoder.decode(read_file(self._disk, path))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StorageError(
                f"{self._layout.name_of(path)} is not a readable grant ({error}), so it grants nothing. "
                "Mend it or move it away."
            ) from error

    def _write(self, grant: GrantRecord) -> None:
        data = msgspec.json.format(msgspec.json.encode(grant), indent=2) + b"\n"
        replace_file(self._disk, self._layout.grant(grant.id), data)
        self._watch.forget()


def _is_grant(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


class FolderWatch:
    """One folder whose files are only ever replaced, made or removed whole."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._folder = folder
        self._seen: tuple[int, int] | None = None

    def look(self) -> bool:
        """Return whether the folder may have changed since the last look."""
        status = stat_of(self._disk, self._folder)
        if status is None:
            self._seen = None
            return True
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp == self._seen:
            return False
        is_settled = time.time_ns() - status.st_mtime_ns > TICK_NANOSECONDS
        self._seen = stamp if is_settled else None
        return True

    def forget(self) -> None:
        """Take the folder as changed."""
        self._seen = None
