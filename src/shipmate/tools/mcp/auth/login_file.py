"""Keep what a login gave, readable by its owner alone, shared between processes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from shipmate.tools.mcp.auth.endpoint import LoginError
from shipmate.workspace.disk.disk import DISK, remove_file
from shipmate.workspace.layout import make_private, write_private

# Renewed so long before the end: clocks differ, and a call takes a while.
EARLY_SECONDS = 60.0
LOCK_SECONDS = 30.0
LOCK_STEP_SECONDS = 0.02


class ServerLogin(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A login at one server: who we are there, and the tokens that let us in."""

    # The token is sent to this address and what lies below it, and nowhere else.
    resource: str
    issuer: str
    token_endpoint: str
    revocation_endpoint: str | None = None
    client_id: str
    client_secret: str | None = None
    client_auth: str = "none"
    redirect_uri: str = ""
    scope: str = ""
    access_token: str = ""
    refresh_token: str | None = None
    expires_at: float | None = None

    @property
    def ends_soon(self) -> bool:
        """Return whether the access token is, or is about to be, no longer valid."""
        return self.expires_at is not None and time.time() > self.expires_at - EARLY_SECONDS

    def __repr__(self) -> str:
        # Whatever prints this must not print keys.
        return f"ServerLogin({self.resource!r})"


class LoginFile:
    """The file of one server's login."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> ServerLogin | None:
        """Return the login; None where there is none, or none that can be read."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=ServerLogin)
        except (OSError, msgspec.DecodeError, UnicodeError):
            return None

    def edition(self) -> int:
        """Return a number that changes whenever the file does."""
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

    def write(self, login: ServerLogin) -> None:
        """Keep a login; it is on disk when this returns."""
        write_private(self._path, msgspec.json.encode(login))

    def remove(self) -> bool:
        """Forget the login; return whether there was one."""
        return remove_file(DISK, self._path)

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Keep other processes from renewing the login meanwhile: a renewal can be made once only."""
        make_private(self._path.parent)
        handle = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            await _wait_for(handle)
            yield
        finally:
            os.close(handle)


async def _wait_for(handle: int) -> None:
    """Take a lock; in steps, since a thread that waits for one could not be called off."""
    for _ in range(round(LOCK_SECONDS / LOCK_STEP_SECONDS)):
        if _takes(handle):
            return
        await asyncio.sleep(LOCK_STEP_SECONDS)
    raise LoginError("another process is renewing the login and does not end")


def _takes(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
