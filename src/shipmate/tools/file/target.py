"""Say what a call acts on and how that stands, so that an approval holds for what was seen alone."""

from __future__ import annotations

import hashlib
import os
import stat

import msgspec

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.file.confine import FILE_FLAGS, Place, locate, read_place
from shipmate.tools.tool import ToolContext
from shipmate.values.message import JsonObject

# The largest file whose state can be told: more would take too long to read.
STATE_LIMIT = 1 << 30
PIECE = 1 << 20


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """How a file stands: the digest of its content and its mode."""

    digest: str
    mode: int
    size: int
    # The content the digest was made of, unless it is longer than the caller wanted.
    content: bytes | None


def read_state(place: Place, keep: int = 0) -> FileState | None:
    """Return how the file at a place stands, with its content up to `keep` bytes; None when there is none."""
    if not place.has_parent:
        return None
    try:
        return read_state_of(place.folder, place.name or ".", place.path, keep)
    except FileNotFoundError:
        return None


def read_state_of(folder: int, name: str, path: str, keep: int = 0) -> FileState:
    """Return how a file in an opened folder stands; a link is not followed."""
    handle = os.open(name, FILE_FLAGS, dir_fd=folder)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{path} is a folder or a special file; give the path of a file.")
        return _read(handle, path, stat.S_IMODE(status.st_mode), keep)
    finally:
        os.close(handle)


def file_digest(handle: int) -> str:
    """Return the digest of an opened file."""
    os.lseek(handle, 0, os.SEEK_SET)
    return _read(handle, "the file", 0, 0).digest


def _read(handle: int, path: str, mode: int, keep: int) -> FileState:
    digest, size, pieces = hashlib.sha256(), 0, list[bytes]()
    while piece := os.read(handle, PIECE):
        digest.update(piece)
        size += len(piece)
        if size <= keep:
            pieces.append(piece)
        if size > STATE_LIMIT:
            raise ToolError(f"{path} is larger than {STATE_LIMIT:,} bytes, the most this tool takes.")
    content = b"".join(pieces) if size <= keep else None
    return FileState(digest=digest.hexdigest(), mode=mode, size=size, content=content)


def file_target(path: str, state: FileState | None) -> JsonObject:
    """Describe a file by its real path, whether it is there, its content and its mode."""
    if state is None:
        return {"path": path, "state": "absent"}
    return {"path": path, "state": "present", "sha256": state.digest, "mode": f"{state.mode:04o}"}


def content_target(path: str, data: bytes) -> JsonObject:
    """Describe a file that is only read, by its real path and content."""
    return {"path": path, "state": "present", "sha256": hashlib.sha256(data).hexdigest()}


def approved_path(context: ToolContext) -> str | None:
    """Return the real path a person approved; None when nobody was asked."""
    path = (context.expected or {}).get("path")
    return path if isinstance(path, str) else None


def check_target(context: ToolContext, found: JsonObject) -> None:
    """Raise where a target is not as a person saw it when they approved."""
    if context.expected is not None and context.expected != found:
        what = found.get("path") or found.get("tool") or "What it acts on"
        raise TargetChangedError(f"{what} has changed since it was shown. Nothing was done.")


def read_target(context: ToolContext, path: str, limit: int) -> tuple[bytes, JsonObject]:
    """Read a whole file that is only looked at, and describe it; raise where it is not what was approved."""
    with locate(context.folder, path, expected=approved_path(context)) as place:
        data = read_place(place, limit)
    target = content_target(place.path, data)
    check_target(context, target)
    return data, target


def real_path(context: ToolContext, path: str) -> JsonObject:
    """Describe what a call looks at by its real path alone; raise where that is not what was approved."""
    with locate(context.folder, path, parents="named") as place:
        target: JsonObject = {"path": place.path}
    check_target(context, target)
    return target
