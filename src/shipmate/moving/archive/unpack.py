"""Make a workspace from an archive: all of it, proven by its manifest, or nothing."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from shipmate.moving.archive.pack import FORMAT, MANIFEST, Manifest, PackedFile
from shipmate.moving.move_wording import MoveError, refuse
from shipmate.values.nesting import check_nesting
from shipmate.workspace.disk.disk import DISK, sync_entries
from shipmate.workspace.secret.secret import fold

# A manifest of a million files takes about 150 MB.
MANIFEST_LIMIT = 256 * 1024 * 1024
COUNT_LIMIT = 1_000_000
BLOCK = 1024 * 1024
TROUBLE = (tarfile.TarError, OSError, EOFError, zlib.error, gzip.BadGzipFile, ValueError, UnicodeError)


def verify(archive: Path) -> Manifest:
    """Read an archive to its end; raise when anything of it is missing, changed or where it must not be."""
    return _read(archive, None)


def unpack(archive: Path, target: Path) -> Manifest:
    """Restore an archive into a folder that is empty, or not there."""
    place = target.resolve()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise refuse("not-empty", path=target)
    beside = place.with_name(f".{place.name}.restoring")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # What a restore that was cut off left.
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(mode=0o700)
        manifest = _read(archive, beside)
        for folder, _, _ in os.walk(beside):
            sync_entries(DISK, Path(folder))
        if place.exists():
            place.rmdir()
        beside.rename(place)
        sync_entries(DISK, place.parent)
    except OSError as error:
        raise refuse("not-restored", path=target, why=error.strerror or "?") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return manifest


def _read(archive: Path, into: Path | None) -> Manifest:
    seen: dict[str, PackedFile] = {}
    manifest: Manifest | None = None
    try:
        with gzip.open(archive) as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
            for entry in tar:
                if manifest is not None or len(seen) > COUNT_LIMIT:
                    raise refuse("archive-odd", path=archive, what=entry.name[:200])
                if entry.name == MANIFEST and entry.isreg():
                    manifest = _read_manifest(archive, tar, entry)
                else:
                    path = _check(archive, entry, seen)
                    seen[fold(path)] = _take(tar, entry, path, into)
            # To the very end, where its checksum stands.
            while packed.read(BLOCK):
                pass
    except MoveError:
        raise
    except TROUBLE as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
            raise refuse("no-archive", path=archive) from error
        raise refuse("archive-cut", path=archive) from error
    if manifest is None:
        raise refuse("archive-cut", path=archive)
    if tuple(seen.values()) != manifest.files:
        raise refuse("archive-changed", path=archive)
    return manifest


def _check(archive: Path, entry: tarfile.TarInfo, seen: dict[str, PackedFile]) -> str:
    """Return the path of an entry that is a plain file inside, and not there twice on any file system."""
    path = entry.name
    parts = path.split("/")
    is_inside = not path.startswith("/") and not any(part in ("", ".", "..") for part in parts)
    is_plain = entry.isreg() and path.isprintable() and "\\" not in path and ":" not in parts[0]
    if not (is_inside and is_plain) or fold(path) in seen:
        raise refuse("archive-odd", path=archive, what=path[:200])
    return path


def _take(tar: tarfile.TarFile, entry: tarfile.TarInfo, path: str, into: Path | None) -> PackedFile:
    told = hashlib.sha256()
    size = 0
    if into is None:
        for piece in _pieces(tar, entry):
            told.update(piece)
            size += len(piece)
        return PackedFile(path, size, told.hexdigest())
    place = into / path
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for piece in _pieces(tar, entry):
            told.update(piece)
            size += file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return PackedFile(path, size, told.hexdigest())


def _pieces(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> Iterator[bytes]:
    held = tar.extractfile(entry)
    while held is not None and (piece := held.read(BLOCK)):
        yield piece


def _read_manifest(archive: Path, tar: tarfile.TarFile, entry: tarfile.TarInfo) -> Manifest:
    if entry.size > MANIFEST_LIMIT:
        raise refuse("archive-odd", path=archive, what=MANIFEST)
    data = b"".join(_pieces(tar, entry))
    try:
        found = msgspec.json.decode(check_nesting(data), type=Manifest)
    except msgspec.MsgspecError as error:
        raise refuse("archive-changed", path=archive) from error
    if found.format != FORMAT:
        raise refuse("archive-newer", path=archive, version=found.shipmate[:40])
    return found
