"""The file of a thread's requests: `.ship/context/<thread>.jsonl`.

A line is a piece, compressed and named by the hash of what it says, or a step, which names its pieces. What a
step shares with the one before it is not told again. Nothing here is trusted: anything could stand there.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import msgspec

from shipmate.errors import StorageError
from shipmate.values.message import JsonObject
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

# No file grows to this; a larger one was made by someone else.
FILE_LIMIT = 64_000_000
# No piece, and no request of them, unpacks to more.
PIECE_LIMIT = 32_000_000
REQUEST_LIMIT = 128_000_000
DIGEST_BYTES = 9
FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class PieceLine(msgspec.Struct, frozen=True, tag="piece"):
    """A piece by its digest."""

    digest: str
    data: bytes


class KeptStep(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag="step"):
    """One request: who was asked what, by the digests of its pieces."""

    at: str
    run_id: str
    step: int
    model: str
    # The digests of the list of sections and of the list of tools.
    prompt: str
    tools: str
    # How many messages it shares with the step before it in the file, and those it has besides.
    same: int = 0
    messages: list[str] = []
    course: int = 1
    member: str = ""
    window: int | None = None
    # How many of the model's own tokens one estimated token stood for.
    ratio: float = 1.0
    # Which message of the person it answers, and how that begins.
    asked: str = ""
    words: str = ""
    sampling: JsonObject = {}


Line: TypeAlias = PieceLine | KeptStep
_lines = msgspec.json.Decoder(Line)


class KeptSection(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is known of a section; its text is a piece, and `lead` what divides it from the one before."""

    name: str
    title: str
    source: str
    stability: str
    reason: str
    lead: str = ""
    piece: str = ""
    is_cut: bool = False


class KeptPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The sections of a system prompt, those left out as well."""

    profile: str
    stable_bytes: int
    sections: list[KeptSection]


class KeptThread:
    """What is kept of a thread: its steps, oldest first, and the pieces they are made of."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.steps: list[KeptStep] = []
        self._pieces: dict[str, bytes] = {}
        count = 0
        for line in lines:
            if isinstance(line, PieceLine):
                self._pieces.setdefault(line.digest, line.data)
            elif 0 <= line.same <= count:
                self.steps.append(line)
                count = line.same + len(line.messages)

    def history(self, place: int) -> list[str]:
        """Return the messages of a step, by their digests."""
        found: list[list[str]] = []
        wanted = self.steps[place].same + len(self.steps[place].messages) if self.steps else 0
        while wanted > 0:
            step = self.steps[place]
            if wanted > step.same:
                found.append(step.messages[: wanted - step.same])
                wanted = step.same
            place -= 1
        return [digest for some in reversed(found) for digest in some]

    @property
    def digests(self) -> set[str]:
        """Return which pieces there are."""
        return set(self._pieces)

    def packed(self, digest: str) -> bytes | None:
        """Return a piece as it lies in the file."""
        return self._pieces.get(digest)

    def piece(self, digest: str) -> bytes | None:
        """Return what a piece says; None when it is gone, damaged, or unpacks to more than any of ours."""
        data = self._pieces.get(digest)
        found = None if data is None else unpack(data)
        return found if found is not None and digest_of(found) == digest else None


def digest_of(data: bytes) -> str:
    """Return the name of a piece."""
    return blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def unpack(data: bytes) -> bytes | None:
    """Return what was compressed, None for what nobody here compressed."""
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(data, PIECE_LIMIT)
    except zlib.error:
        return None
    return found if reader.eof else None


def read_kept(layout: Layout, thread_id: ThreadId | str) -> KeptThread:
    """Read what is kept of a thread; lines that cannot be read are passed over."""
    path = layout.kept_requests(str(thread_id))
    try:
        folder = open_folder(path.parent)
        try:
            data = read_regular(path, folder)
        finally:
            os.close(folder)
    except FileNotFoundError:
        return KeptThread()
    except OSError as error:
        raise refuse(layout, path, error.strerror or str(error)) from error
    return KeptThread(parse_lines(data))


def refuse(layout: Layout, path: Path, why: str) -> StorageError:
    """Return what to say of a file that is none of ours."""
    name = layout.name_of(path)
    return StorageError(f"{name} cannot be read: {why}. Move it away; requests are kept anew from then on.")


def open_folder(folder: Path) -> int:
    """Open the folder of kept requests, not one that a link leads to."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | FLAGS)


def read_regular(path: Path, folder: int) -> bytes:
    """Return what a file holds; raise OSError for what is no plain file, or larger than any of ours."""
    handle = os.open(path.name, os.O_RDONLY | FLAGS, dir_fd=folder)
    with os.fdopen(handle, "rb") as file:
        check_regular(handle)
        return file.read(FILE_LIMIT)


def check_regular(handle: int) -> os.stat_result:
    """Return the state of a plain file; raise OSError for anything else."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise OSError(0, "not a plain file")
    if status.st_size > FILE_LIMIT:
        raise OSError(0, f"{status.st_size:,} bytes are more than is ever kept")
    return status


def parse_lines(data: bytes) -> Iterator[Line]:
    """Go over the whole lines of a file that can be read."""
    for line in data.split(b"\n")[:-1]:
        try:
            yield _lines.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue


def write_line(line: Line) -> bytes:
    """Return a line as it stands in the file."""
    return msgspec.json.encode(line) + b"\n"
