"""Name a conversation: `platform:scopeType:scopeId`, plus `:topic:<id>` where the platform has topics."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

from shipmate.errors import ThreadIdError

WORD = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# Upper-case letters are escaped too: ids that differ only in case must not share a file on macOS or Windows.
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._-")
ESCAPES = {byte: f"%{byte:02X}" for byte in range(256) if byte not in PLAIN}
FILE_NAME_LIMIT = 200
TOPIC = ":topic:"
# Threads of programs that bring their history with them: each serves one request and is in no list.
UNLISTED = "api:call:"
# The scope of threads in which a skill is worked on.
STUDIO = "studio"


@dataclass(frozen=True, slots=True)
class ThreadId:
    """The id of one thread; equal ids mean the same conversation on every surface."""

    platform: str
    scope_type: str
    scope_id: str
    topic: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("platform", self.platform), ("scopeType", self.scope_type)):
            if not WORD.fullmatch(value):
                raise ThreadIdError(
                    f"{name} {value!r} must be a lower-case word such as 'telegram' or 'group'"
                )
        for name, value in (("scopeId", self.scope_id), ("topic", self.topic)):
            if value is not None and (not value or not value.isprintable()):
                raise ThreadIdError(f"{name} must be printable and not empty")
        if TOPIC in self.scope_id:
            raise ThreadIdError(f"scopeId may not contain {TOPIC!r}")
        if len(self.encode()) > FILE_NAME_LIMIT:
            raise ThreadIdError(f"the id is too long: {FILE_NAME_LIMIT} bytes once encoded as a file name")

    @classmethod
    def parse(cls, text: str) -> ThreadId:
        """Read `platform:scopeType:scopeId[:topic:<id>]`."""
        return _parse(text)

    def __str__(self) -> str:
        tail = f"{TOPIC}{self.topic}" if self.topic is not None else ""
        return f"{self.platform}:{self.scope_type}:{self.scope_id}{tail}"

    @property
    def is_listed(self) -> bool:
        """Return whether lists and search show the thread."""
        return not str(self).startswith(UNLISTED)

    def encode(self) -> str:
        """Return the percent-encoded file name, safe on every file system."""
        return _encode(str(self))

    @classmethod
    def decode(cls, name: str) -> ThreadId:
        """Read an id back from its file name."""
        try:
            return cls.parse(unquote_to_bytes(name).decode())
        except UnicodeDecodeError as error:
            raise ThreadIdError(f"{name!r} is not the file name of a thread") from error


@lru_cache(4096)
def _encode(text: str) -> str:
    return text.encode().decode("latin-1").translate(ESCAPES)


@lru_cache(maxsize=4096)
def _parse(text: str) -> ThreadId:
    """Read an id; each turn reads the same one many times."""
    head, mark, topic = text.partition(TOPIC)
    pieces = head.split(":", 2)
    if len(pieces) != 3:
        raise ThreadIdError(f"{text!r} is not platform:scopeType:scopeId, for example web:room:1")
    return ThreadId(pieces[0], pieces[1], pieces[2], topic if mark else None)


def file_name(name: str) -> str:
    """Encode a foreign name as one file name: no separator, no leading dot, no more than a disk takes."""
    encoded = quote(name, safe="")
    if encoded.startswith("."):
        encoded = "%2E" + encoded[1:]
    return encoded if len(encoded) <= 160 else encoded[:120] + hashlib.sha256(name.encode()).hexdigest()[:32]
