"""Edit documents without overwriting each other: a version to write against, earlier texts kept."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from shipmate.errors import StorageError
from shipmate.server.guard.error import ApiError, invalid, missing
from shipmate.values.message import timestamp
from shipmate.workspace.disk.earlier_text import (
    Revision,
    keep_earlier,
    list_earlier,
    replace_text,
    version_of,
)
from shipmate.workspace.layout import Layout


class Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A text and the version a later write must name."""

    name: str
    text: str
    version: str


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
            keep_earlier(layout.revisions(_relative(layout, path)), before)
        replace_text(path, data)
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
        keep_earlier(layout.revisions(_relative(layout, path)), before)
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
    return list_earlier(layout.revisions(_relative(layout, path)))


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
