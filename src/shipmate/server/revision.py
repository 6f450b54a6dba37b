"""Edit documents without overwriting each other: a version to write against, earlier texts kept."""

from __future__ import annotations

import hashlib
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from shipmate.errors import StorageError
from shipmate.server.guard.error import ApiError, invalid, missing
from shipmate.values.message import timestamp
from shipmate.workspace.disk.private import make_private, write_private
from shipmate.workspace.layout import Layout

KEPT = 100


class Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A text and the version a later write must name."""

    name: str
    text: str
    version: str


class Revision(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An earlier text."""

    version: str
    at: str
    bytes: int
    text: str


def version_of(data: bytes) -> str:
    """Return the version of a text, made from its content."""
    return hashlib.sha256(data).hexdigest()[:16]


def read_document(path: Path, name: str) -> Document:
    """Read a document; a missing one is told by its name, never by its path."""
    data = _read(path)
    if data is None:
        raise missing(f"file {name}")
    return Document(name=name, text=data.decode(errors="replace"), version=version_of(data))


def write_document(layout: Layout, path: Path, name: str, text: str, version: str | None) -> str:
    """Replace a document if nobody changed it since; keep what stood there. Return the new version."""
    before = _read(path)
    if before is None and os.path.lexists(path):
        raise invalid(f"{name} is no regular file.", "Move away what stands there, and write it again.")
    present = None if before is None else version_of(before)
    _check_version(name, present, version)
    data = text.encode()
    try:
        if before is not None and before != data:
            _keep(layout, path, before)
        _replace(path, data)
    except OSError as error:
        raise StorageError(f"{name} could not be written: {error.strerror}") from error
    return version_of(data)


def remove_document(layout: Layout, path: Path, name: str, version: str | None) -> None:
    """Take a document away if nobody changed it since; what stood there is kept."""
    before = _read(path)
    if before is None:
        raise missing(f"file {name}")
    _check_version(name, version_of(before), version)
    try:
        _keep(layout, path, before)
        path.unlink()
    except OSError as error:
        raise StorageError(f"{name} could not be deleted: {error.strerror}") from error


def _check_version(name: str, present: str | None, version: str | None) -> None:
    if present != version:
        raise ApiError(
            409, "conflict", f"{name} was changed meanwhile.", "Load it again and merge.", version=present
        )


def list_revisions(layout: Layout, path: Path) -> list[Revision]:
    """Return earlier texts, newest first."""
    folder = layout.revisions(_relative(layout, path))
    if not folder.is_dir():
        return []
    return [_revision(file) for file in sorted(folder.iterdir(), reverse=True) if file.suffix == ".md"]


def modified_at(path: Path) -> str:
    """Return when a file was last written."""
    return timestamp(datetime.fromtimestamp(path.stat().st_mtime, UTC))


def _read(path: Path) -> bytes | None:
    """Return what a regular file holds; None where there is none."""
    try:
        # A pipe that stands there would let the whole server wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path.name} cannot be read: {error.strerror}") from error


def _relative(layout: Layout, path: Path) -> str:
    return path.relative_to(layout.root).as_posix()


def _keep(layout: Layout, path: Path, data: bytes) -> None:
    folder = layout.revisions(_relative(layout, path))
    # The name sorts by time; ':' is not legal in file names everywhere.
    stamp = timestamp().replace(":", "-")
    write_private(folder / f"{stamp}.{version_of(data)}.md", data)
    for old in sorted(folder.iterdir())[:-KEPT]:
        old.unlink(missing_ok=True)


def _revision(file: Path) -> Revision:
    data = file.read_bytes()
    moment, _, version = file.name.removesuffix(".md").rpartition(".")
    day, _, clock = moment.partition("T")
    return Revision(
        version=version,
        at=f"{day}T{clock.replace('-', ':')}",
        bytes=len(data),
        text=data.decode(errors="replace"),
    )


def _replace(path: Path, data: bytes) -> None:
    """Write in one step; a file that existed keeps its mode."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    make_private(path.parent)
    write_private(path, data)
    path.chmod(mode)
