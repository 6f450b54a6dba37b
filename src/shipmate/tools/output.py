"""Keep all that a tool prints in the call's log; give the model head, tail and a pointer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from shipmate.tools.text import HEAD_SHARE, clean_terminal, join_ends, shorten
from shipmate.tools.tool import ToolContext
from shipmate.workspace.disk.private import make_private, write_private
from shipmate.workspace.secret.secret import MASK, MIN_LENGTH

# A character takes at most four bytes in UTF-8.
CHARACTER_BYTES = 4
LOG_LIMIT = 512 * 1024 * 1024


def keep(text: str, context: ToolContext, budget: int) -> str:
    """Log a tool's whole output and give what fits the budget."""
    write_private(log_of(context), text.encode("utf-8", "replace"))
    return shorten(clean_terminal(text), budget, point_at(context))


def log_of(context: ToolContext) -> Path:
    """Return the file that holds the call's whole output."""
    return context.layout.call_log(context.thread_id, context.call_id)


def point_at(context: ToolContext) -> str:
    """Say how to reach the call's log."""
    return f"the whole is in {log_of(context).relative_to(context.layout.root)}"


class Cover:
    """Masks secrets in a stream of bytes, wherever its pieces are cut."""

    def __init__(self, secrets: Iterable[str]) -> None:
        wanted = {secret.encode() for secret in secrets if len(secret) >= MIN_LENGTH}
        # Longest first: a secret may contain another.
        self._secrets = sorted(wanted, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets))) if wanted else None
        self._held = b""

    def take(self, data: bytes) -> bytes:
        """Return what may be shown by now; what may be the beginning of a secret is held back."""
        if self._pattern is None:
            return data
        covered = self._pattern.sub(MASK.encode(), self._held + data)
        ends = (
            size
            for secret in self._secrets
            for size in range(min(len(secret) - 1, len(covered)), 0, -1)
            if covered.endswith(secret[:size])
        )
        held = max(ends, default=0)
        self._held = covered[len(covered) - held :]
        return covered[: len(covered) - held]

    def end(self) -> bytes:
        """Return what was held back."""
        held, self._held = self._held, b""
        return held


class Spool:
    """Output taken as it comes, of any size: to the log on disk, its two ends in memory."""

    def __init__(self, path: Path, budget: int, secrets: Iterable[str] = ()) -> None:
        self._cover = Cover(secrets)
        self._budget = budget
        self._head_room = int(budget * HEAD_SHARE) * CHARACTER_BYTES
        self._tail_room = budget * CHARACTER_BYTES - self._head_room
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0
        make_private(path.parent)
        self._log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)

    def write(self, data: bytes) -> None:
        """Take a piece; past the log's limit only its end is kept."""
        self._keep(self._cover.take(data))

    def _keep(self, data: bytes) -> None:
        if room := max(0, LOG_LIMIT - self.size):
            os.write(self._log, data[:room])
        self.size += len(data)
        missing = self._head_room - len(self._head)
        self._head += data[:missing]
        self._tail += data[missing:] if missing > 0 else data
        if len(self._tail) > 2 * self._tail_room:
            del self._tail[: -self._tail_room]

    def close(self) -> None:
        """Close the log."""
        if self._log >= 0:
            self._keep(self._cover.end())
            os.close(self._log)
            self._log = -1

    def text(self, pointer: str) -> str:
        """Return what fits the budget of all that was taken so far."""
        if self.size <= len(self._head) + len(self._tail):
            return shorten(clean_terminal(_decode(self._head + self._tail)), self._budget, pointer)
        head_room = int(self._budget * HEAD_SHARE)
        head = clean_terminal(_decode(self._head))[:head_room]
        tail = clean_terminal(_decode(self._tail[-self._tail_room :]))[head_room - self._budget :]
        return join_ends(head, tail, self.size - len(self._head) - self._tail_room, "bytes", pointer)


def _decode(data: bytes | bytearray) -> str:
    """Decode a stretch that may begin or end inside a character."""
    start = next((index for index, byte in enumerate(data[:3]) if byte & 0xC0 != 0x80), 0)
    return bytes(data[start:]).decode("utf-8", "replace").rstrip("\ufffd")
