"""Replace texts that people and members edit, and keep what stood there."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from shipmate.values.message import timestamp
from shipmate.workspace.disk.private import make_private, write_private

KEPT = 100


class Revision(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An earlier text."""

    version: str
    at: str
    bytes: int
    text: str


def version_of(data: bytes) -> str:
    """Return the version of a text, made from its content."""
    return hashlib.sha256(data).hexdigest()[:16]


def keep_earlier(folder: Path, data: bytes) -> None:
    """Keep a text that is about to be replaced; the oldest of many are forgotten."""
    # The name sorts by time; ':' is not legal in file names everywhere.
    stamp = _next_moment(folder).replace(":", "-")
    write_private(folder / f"{stamp}.{version_of(data)}.md", data)
    for old in sorted(folder.iterdir())[:-KEPT]:
        old.unlink(missing_ok=True)


def _next_moment(folder: Path) -> str:
    """Return the time, or one just behind the last text's: two of one moment would have no order."""
    names = [file.name for file in folder.iterdir() if file.suffix == ".md"] if folder.is_dir() else []
    last = _moment_of(max(names, default=""))
    now = timestamp()
    if now > last:
        return now
    return timestamp(datetime.fromisoformat(last) + timedelta(milliseconds=1))


def list_earlier(folder: Path) -> list[Revision]:
    """Return earlier texts, newest first."""
    if not folder.is_dir():
        return []
    return [_revision(file) for file in sorted(folder.iterdir(), reverse=True) if file.suffix == ".md"]


def replace_text(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write in one step; a file that existed keeps its mode."""
    mode = path.stat().st_mode & 0o777 if path.exists() else mode
    make_private(path.parent)
    write_private(path, data)
    path.chmod(mode)


def _revision(file: Path) -> Revision:
    data = file.read_bytes()
    return Revision(
        version=file.name.removesuffix(".md").rpartition(".")[2],
        at=_moment_of(file.name),
        bytes=len(data),
        text=data.decode(errors="replace"),
    )


def _moment_of(name: str) -> str:
    day, mark, clock = name.removesuffix(".md").rpartition(".")[0].partition("T")
    return f"{day}{mark}{clock.replace('-', ':')}"
