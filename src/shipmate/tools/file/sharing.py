"""Share files that are too large for a platform: an address that nobody can guess, for one file, for a while.

A share is a file of its own, `.ship/shared/<id>.json`. The thread names it by its id alone; the secret of its
address stands there, and in the message that tells it.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

import msgspec

from shipmate.errors import NotFoundError, TargetChangedError, ToolError
from shipmate.tools.file.confine import FILE_FLAGS, Place, locate
from shipmate.tools.file.target import approved_path, check_target, file_digest, read_state
from shipmate.tools.tool import ToolContext
from shipmate.values.message import JsonObject, new_id, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import Server
from shipmate.workspace.disk.private import sync_folder, write_private
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import ADDRESS

# Where the web serves shared files to whoever has their address.
SHARED_PATH = "/shared/"
SHARE_ID = re.compile(r"sh_[0-9a-f]{23}")


class Share(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One file that can be fetched by its address."""

    id: str
    secret: str
    # Its real path in the workspace, and how it stood when it was shared.
    path: str
    size: int
    sha256: str
    # Its inode, size and times: while they are the same, so is the file.
    stamp: tuple[int, ...]
    thread_id: str
    created_at: str
    expires_at: str

    @property
    def filename(self) -> str:
        """What people call the file."""
        return PurePosixPath(self.path).name


class Shares:
    """The shares of one workspace, and how large a file each of its threads takes without one."""

    def __init__(
        self,
        layout: Layout,
        server: Server,
        limit: Callable[[ThreadId], int | None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._root = layout.root
        self.folder = layout.uploads.with_name("shared")
        self._server = server
        self._limit = limit
        self._clock = clock
        # The digest of a file that looks other than when it was shared: read once, however often it is asked.
        self._compared: dict[tuple[int, ...], str] = {}

    def is_needed(self, context: ToolContext, path: str, most: int) -> bool:
        """Return whether a file is too large to be sent itself; raise when it cannot be shared either.

        No byte of it is read.
        """
        with locate(context.folder, path, expected=approved_path(context)) as place:
            size = os.stat(place.name or ".", dir_fd=place.folder, follow_symlinks=False).st_size
        thread_id = ThreadId.parse(context.thread_id)
        limit = self._limit(thread_id)
        limit = most if limit is None else min(limit, most)
        if size <= limit:
            return False
        if self._server.public_url is None:
            raise ToolError(
                f"{path} has {size:,} bytes; {thread_id.platform} takes {limit:,} at most. Nothing was sent. "
                "Send something smaller. The owner can set server.publicUrl: then such files get an address."
            )
        return True

    def look(self, context: ToolContext, path: str) -> JsonObject:
        """Describe a file that would be shared, and for how long; raise where it is not what was approved."""
        return self._look(context, path)[0]

    def share(self, context: ToolContext, path: str) -> Share:
        """Share a file as it is now, on disk before this returns."""
        target, size, stamp = self._look(context, path)
        now = self._clock()
        self._sweep()
        made = Share(
            id=new_id("sh"),
            secret=secrets.token_hex(32),
            path=target["path"],
            size=size,
            sha256=target["sha256"],
            stamp=stamp,
            thread_id=context.thread_id,
            created_at=timestamp(now),
            expires_at=timestamp(now + timedelta(hours=self._server.share_hours)),
        )
        write_private(self._file(made.id), msgspec.json.encode(made))
        return made

    def list(self) -> list[Share]:
        """List what can be fetched, oldest first."""
        found = [self._read(path) for path in self.folder.glob("sh_*.json")]
        return sorted(filter(None, found), key=lambda share: share.created_at)

    def find(self, share_id: str) -> Share | None:
        """Return a share by its id; None when it is over, was revoked or never was."""
        return self._read(self._file(share_id)) if SHARE_ID.fullmatch(share_id) else None

    def redeem(self, ticket: str) -> Share | None:
        """Return the share of an address, by what follows `/shared/`; None for any that holds no more."""
        share_id, _, secret = ticket.partition(".")
        share = self.find(share_id)
        # Compared also when there is none, so that both take as long.
        expected = share.secret if share else secrets.token_hex(32)
        return share if hmac.compare_digest(secret.encode(), expected.encode()) else None

    def address(self, share: Share) -> str | None:
        """Return where anybody can fetch a share; None when the workspace has no public address any more."""
        base = self._server.public_url
        return f"{base.rstrip('/')}{SHARED_PATH}{share.id}.{share.secret}" if base else None

    def revoke(self, share_id: str) -> None:
        """Take a share back: its address leads nowhere from now on."""
        if self.find(share_id) is None:
            raise NotFoundError(f"nothing is shared as {share_id}. `shipmate outbox shared` lists what is.")
        self._file(share_id).unlink(missing_ok=True)
        sync_folder(self.folder)

    def open(self, share: Share) -> int:
        """Open the very file that was shared, for reading; raise NotFoundError when it is another by now."""
        try:
            with locate(self._root, share.path, expected=share.path) as place:
                handle = os.open(place.name, FILE_FLAGS, dir_fd=place.folder)
        except (ToolError, OSError) as error:
            raise NotFoundError(f"{share.filename} is not there any more.") from error
        try:
            if self._is_same(handle, share):
                return os.dup(handle)
        finally:
            os.close(handle)
        raise NotFoundError(f"{share.filename} has changed since it was shared.")

    def _is_same(self, handle: int, share: Share) -> bool:
        status = os.fstat(handle)
        stamp = _stamp(status)
        if stamp == share.stamp or status.st_size != share.size or not stat.S_ISREG(status.st_mode):
            return stamp == share.stamp
        if stamp not in self._compared:
            self._compared = {stamp: file_digest(handle)}
        return self._compared[stamp] == share.sha256

    def _look(self, context: ToolContext, path: str) -> tuple[JsonObject, int, tuple[int, ...]]:
        with locate(context.folder, path, expected=approved_path(context)) as place:
            before = _look_at(place)
            state = read_state(place)
            if state is None or before != _look_at(place):
                raise TargetChangedError(f"{path} changed while it was read. Nothing was done.")
        target: JsonObject = {
            "path": place.path,
            "state": "present",
            "sha256": state.digest,
            "sharedHours": self._server.share_hours,
        }
        check_target(context, target)
        return target, state.size, before

    def _file(self, share_id: str) -> Path:
        return self.folder / f"{share_id}.json"

    def _read(self, path: Path) -> Share | None:
        try:
            share = msgspec.json.decode(path.read_bytes(), type=Share)
        except (OSError, msgspec.MsgspecError):
            # What cannot be read opens nothing.
            return None
        return share if share.expires_at > timestamp(self._clock()) else None

    def _sweep(self) -> None:
        """Forget what is over."""
        for path in self.folder.glob("sh_*.json"):
            if self._read(path) is None:
                path.unlink(missing_ok=True)


def share_part(share: Share) -> JsonObject:
    """Return the AI SDK part that names a share; only the owner can fetch by it."""
    return {
        "type": "file",
        "mediaType": "application/octet-stream",
        "url": ADDRESS + share.id,
        "filename": share.filename,
    }


def _look_at(place: Place) -> tuple[int, ...]:
    return _stamp(os.stat(place.name or ".", dir_fd=place.folder, follow_symlinks=False))


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
