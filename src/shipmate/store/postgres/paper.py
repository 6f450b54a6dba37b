"""Small files of a workspace as rows, so that all machines share them, and uploads."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
from pathlib import Path
from typing import Any

import msgspec

from shipmate.store.postgres.database import PostgresDatabase, Values, statements
from shipmate.workspace.disk.private import write_private
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import UPLOAD_ID, Upload, UploadFolder

ROWS = 0o100600
FOLDER = 0o040700


class PaperDisk:
    """A disk whose files are rows; a name without an ending is a folder, and every folder is there."""

    def __init__(self, layout: Layout, database: PostgresDatabase) -> None:
        self._layout = layout
        self._database = database
        self._sql = statements("paper")
        self._numbers = itertools.count(1)
        self._open: dict[int, Path] = {}
        self._locked: dict[int, str] = {}

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        if flags & os.O_CREAT:
            self._do("make", path=self._name(path))
        self.stat(path)
        if flags & os.O_TRUNC:
            self._do("cut", path=self._name(path), size=0)
        handle = next(self._numbers)
        self._open[handle] = path
        return handle

    def close(self, handle: int) -> None:
        del self._open[handle]
        if name := self._locked.pop(handle, None):
            self._do("unlock", path=name)

    def write(self, handle: int, data: bytes) -> int:
        """Write at the end: whoever writes has emptied the file, or appends."""
        self._do("append", path=self._name(self._open[handle]), data=data)
        return len(data)

    def pread(self, handle: int, size: int, offset: int) -> bytes:
        found = self._one("read", {"path": self._name(self._open[handle]), "size": size, "offset": offset})
        return b"" if found is None else bytes(found[0])

    def ftruncate(self, handle: int, size: int) -> None:
        self._do("cut", path=self._name(self._open[handle]), size=size)

    def fstat(self, handle: int) -> os.stat_result:
        return self.stat(self._open[handle])

    def stat(self, path: Path) -> os.stat_result:
        if not path.suffix:
            return os.stat_result((FOLDER, 1, 0, 1, 0, 0, 0, 0, 0, 0))
        found = self._one("stat", {"path": self._name(path)})
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path.name)
        number, size, changed = found
        at = changed.timestamp()
        exact = (*map(int, (at, at, at)), at, at, at, *[int(at * 1e9)] * 3)
        return os.stat_result((ROWS, number, 0, 1, 0, 0, size, *exact))

    def fdatasync(self, handle: int) -> None:
        """Do nothing: what was written stands."""

    def fsync(self, handle: int) -> None:
        """Do nothing: what was written stands."""

    def rename(self, source: Path, target: Path) -> None:
        self.stat(source)
        names = {"path": self._name(source), "target": self._name(target)}

        def work(link: Any) -> None:
            link.execute(self._sql["remove"], {"path": names["target"]})
            link.execute(self._sql["move"], names)

        self._database.do(work)

    def link(self, source: Path, target: Path) -> None:
        self.stat(source)
        if not self._do("copy", path=self._name(source), target=self._name(target)):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target.name)

    def unlink(self, path: Path) -> None:
        if not self._do("remove", path=self._name(path)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path.name)

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        """Do nothing: every folder is there."""

    def listdir(self, path: Path) -> list[str]:
        folder = f"{self._name(path)}/"
        found = self._database.do(
            lambda link: link.execute(self._sql["names"], {"folder": folder}).fetchall()
        )
        rest = [name.removeprefix(folder) for (name,) in found]
        return [name for name in rest if "/" not in name]

    def flock(self, handle: int, operation: int) -> None:
        name = self._name(self._open[handle])
        if operation & fcntl.LOCK_UN:
            if self._locked.pop(handle, None):
                self._do("unlock", path=name)
            return
        found = self._one("try_lock" if operation & fcntl.LOCK_NB else "lock", {"path": name})
        if found is not None and found[0] is False:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), name)
        self._locked[handle] = name

    def _name(self, path: Path) -> str:
        return self._layout.name_of(path)

    def _do(self, name: str, **values: Any) -> int:
        return self._database.do(lambda link: link.execute(self._sql[name], values).rowcount)

    def _one(self, name: str, values: Values) -> tuple[Any, ...] | None:
        return self._database.do(lambda link: link.execute(self._sql[name], values).fetchone())


class PostgresUploads(UploadFolder):
    """Files kept as rows; a machine that reads one has a copy in the workspace's own folder."""

    def __init__(self, layout: Layout, database: PostgresDatabase) -> None:
        super().__init__(layout)
        self._place = layout
        self._database = database
        self._sql = statements("paper")

    def keep(self, data: bytes, filename: str, owner: str = "") -> Upload:
        """Store a file and its description for all machines."""
        upload = super().keep(data, filename, owner)
        values = {
            "id": upload.url.rpartition("/")[2],
            "description": msgspec.json.encode(upload),
            "data": data,
        }
        self._database.do(lambda link: link.execute(self._sql["keep_upload"], values))
        return upload

    def find(self, upload_id: str) -> tuple[Upload, Path] | None:
        """Return a kept file's description, and where this machine has it from now on."""
        known = super().find(upload_id)
        if known is not None or not UPLOAD_ID.fullmatch(upload_id):
            return known
        found = self._database.do(
            lambda link: link.execute(self._sql["find_upload"], {"id": upload_id}).fetchone()
        )
        if found is None:
            return None
        # The description last: without it there is nothing to be found.
        write_private(self._place.upload(f"{upload_id}.json"), bytes(found[0]))
        write_private(self._place.upload(upload_id), bytes(found[1]))
        return super().find(upload_id)
