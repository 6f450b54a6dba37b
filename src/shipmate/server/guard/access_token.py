"""Prove who is asking: the workspace's token, sessions and CSRF values derived from it, one-time tickets."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from shipmate.errors import UserError
from shipmate.workspace.disk.private import write_private

TOKEN_LENGTH = 32
SESSION_SECONDS = 30 * 24 * 3600
TICKET_SECONDS = 600
VARIABLE = "SHIPMATE_TOKEN"


class Token:
    """The secret of a workspace. Changing or deleting its file ends every session at once."""

    def __init__(self, path: Path, fixed: str | None = None) -> None:
        self._path = path
        self._fixed = fixed
        self._seen: tuple[int, int] | None = None
        self._value = fixed or ""

    @classmethod
    def make(cls, path: Path, *, create: bool = True) -> Token:
        """Take the token of the environment or the file; make one at first start."""
        fixed = os.environ.get(VARIABLE)
        if create and not fixed and not path.exists():
            write_private(path, f"{secrets.token_urlsafe(TOKEN_LENGTH)}\n".encode())
        return cls(path, fixed)

    @property
    def value(self) -> str:
        """Return the token as it stands now; empty when its file is gone or too short to be one."""
        if self._fixed is None:
            self._reread()
        return self._value

    def _reread(self) -> None:
        try:
            status = self._path.stat()
        except OSError:
            self._value, self._seen = "", None
            return
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp != self._seen:
            self._seen = stamp
            self._value = self._path.read_text().strip()

    def is_strong(self) -> bool:
        """Return whether the token can protect a server others can reach."""
        if len(self.value) < TOKEN_LENGTH:
            return False
        return self._fixed is not None or os.name == "nt" or not self._path.stat().st_mode & 0o077

    def admits(self, given: str) -> bool:
        """Return whether a bearer token is ours."""
        value = self.value
        return len(value) >= TOKEN_LENGTH and hmac.compare_digest(value.encode(), given.encode())

    @property
    def cookie(self) -> str:
        """Return the cookie's name, made from the token: cookies know no ports, workspaces share hosts."""
        return f"shipmate-{self.sign('cookie')[:12]}"

    def name(self, folder: Path) -> str:
        """Name a folder apart from its copies, and from others that the same token opens."""
        status = folder.stat() if folder.exists() else None
        return self.sign(f"folder {status.st_ino if status else 0}")[:16]

    def open_session(self) -> str:
        """Make the value of a session cookie; it outlives restarts and needs no storage."""
        body = f"{secrets.token_urlsafe(18)}.{int(time.time())}"
        return f"{body}.{self.sign(f'session {body}')}"

    def admits_session(self, cookie: str) -> bool:
        """Return whether a session cookie is ours and still young enough."""
        body, _, signature = cookie.rpartition(".")
        _, _, issued = body.rpartition(".")
        if not self.value or not issued.isascii() or not issued.isdigit():
            return False
        expected = self.sign(f"session {body}")
        fresh = -60 < time.time() - int(issued) < SESSION_SECONDS
        return hmac.compare_digest(expected.encode(), signature.encode()) and fresh

    def csrf(self, cookie: str) -> str:
        """Return the CSRF value that belongs to a session."""
        return self.sign(f"csrf {cookie}")

    def sign(self, text: str) -> str:
        """Return what only whoever holds the token can make of a text."""
        return hmac.new(self.value.encode(), text.encode(), hashlib.sha256).hexdigest()


class Tickets:
    """Tickets that let a browser in: each works once and for ten minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._issued: dict[str, float] = {}

    def issue(self) -> str:
        """Make a ticket."""
        ticket = secrets.token_urlsafe(TOKEN_LENGTH)
        self._issued[ticket] = self._clock() + TICKET_SECONDS
        return ticket

    def redeem(self, ticket: str) -> bool:
        """Use a ticket up; false when it is unknown, used or too old."""
        until = self._issued.pop(ticket, None)
        return until is not None and self._clock() < until


def check_reach(host_is_loopback: bool, token: Token) -> None:
    """Refuse to listen where others can reach us unless a real token guards the door."""
    if not host_is_loopback and not token.is_strong():
        raise UserError(
            "others could reach this address, and no strong token guards it. Run `shipmate serve` once, "
            f"or put at least {TOKEN_LENGTH} characters into .ship/token (mode 600) or {VARIABLE}."
        )
