"""Read the files of a skill from a folder, a zip or a tar, within bounds; nothing of it is run."""

from __future__ import annotations

import io
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.file.confine import FILE_FLAGS, FOLDER_FLAGS, open_file, read_bytes, read_up_to
from shipmate.tools.file.protection import fold, refuse_reading

ARCHIVE_LIMIT = 10_000_000
# Of all files together, and of a tar as it is unpacked.
SIZE_LIMIT = 4_000_000
PLAIN_LIMIT = 20_000_000
COUNT_LIMIT = 200
DEPTH_LIMIT = 8
NAME_LIMIT = 200
ZIPS = (".zip", ".skill")
TARS = (".tar", ".tar.gz", ".tgz")
TEXT = "SKILL.md"
# A repository is no part of the skill it holds, nor is what Shipmate keeps beside a draft.
LEFT_OUT = frozenset({".git", ".ship", "ship.json", "__MACOSX", ".DS_Store", "__pycache__"})
NOTHING = "Nothing was installed."


class ParcelFile(msgspec.Struct, frozen=True):
    """One file of a skill."""

    data: bytes
    is_program: bool = False


Parcel = dict[str, ParcelFile]


def is_archive(path: str) -> bool:
    """Return whether a path names an archive that can be read."""
    return path.lower().endswith((*ZIPS, *TARS))


def read_parcel(root: Path, path: str) -> Parcel:
    """Return the files of a folder or an archive below a folder, with the SKILL.md at the top."""
    if is_archive(path):
        data = read_bytes(root, path, ARCHIVE_LIMIT)
        found = _unzip(data) if path.lower().endswith(ZIPS) else _untar(data)
    else:
        found = _walk(root, path)
    return check_parcel(_lift(_gather(found)))


def check_parcel(files: Parcel) -> Parcel:
    """Return a parcel that is a skill; raise for one that is none."""
    text = files.get(TEXT)
    if text is None or not text.data.strip():
        raise ToolError(f"There is no {TEXT} at its top, or it is empty. {NOTHING}")
    try:
        text.data.decode()
    except UnicodeDecodeError:
        raise ToolError(f"{TEXT} is not text in UTF-8. {NOTHING}") from None
    return files


def write_parcel(files: Parcel, folder: Path) -> None:
    """Write files into a folder that is new, on disk before this returns."""
    for path, file in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as opened:
            opened.write(file.data)
            opened.flush()
            os.fsync(opened.fileno())
        place.chmod(0o755 if file.is_program else 0o644)


def _gather(found: Iterator[tuple[str, ParcelFile]]) -> Parcel:
    """Take files in until there are too many, or one that no skill may bring."""
    files: Parcel = {}
    known: set[str] = set()
    size = 0
    for name, file in found:
        parts = _parts(name)
        if LEFT_OUT.intersection(parts):
            continue
        path, size = "/".join(parts), size + len(file.data)
        if refuse_reading(parts) is not None:
            raise ToolError(f"It holds {path[:NAME_LIMIT]!r}, which no tool may bring. {NOTHING}")
        if fold(path) in known:
            raise ToolError(f"It holds {path[:NAME_LIMIT]!r} twice. {NOTHING}")
        if size > SIZE_LIMIT or len(files) >= COUNT_LIMIT:
            raise ToolError(f"A skill has at most {COUNT_LIMIT} files of {SIZE_LIMIT:,} bytes. {NOTHING}")
        known.add(fold(path))
        files[path] = file
    for path in files:
        if any(fold(str(above)) in known for above in PurePosixPath(path).parents):
            raise ToolError(f"{path!r} lies below a file. {NOTHING}")
    return files


def _parts(name: str) -> list[str]:
    """Return the parts of a name that surely stays below its folder."""
    parts = [part for part in name.split("/") if part != "."]
    if parts and not parts[-1]:
        parts.pop()
    is_odd = "\\" in name or not name.isprintable() or len(name) > NAME_LIMIT or len(parts) > DEPTH_LIMIT
    if is_odd or not parts or not all(parts) or ".." in parts or ":" in parts[0]:
        raise ToolError(f"It holds a file named {name[:NAME_LIMIT]!r}, which leads elsewhere. {NOTHING}")
    return parts


def _lift(files: Parcel) -> Parcel:
    """Take a single folder away that everything lies in, as archives have it."""
    tops = {path.partition("/")[0] for path in files}
    if TEXT in files or len(tops) != 1 or any("/" not in path for path in files):
        return files
    return {path.partition("/")[2]: file for path, file in files.items()}


def _refuse_link(name: str) -> ToolError:
    return ToolError(f"It holds {name[:NAME_LIMIT]!r}, which is a link or a special file. {NOTHING}")


def _too_long(name: str) -> ToolError:
    return ToolError(f"{name[:NAME_LIMIT]!r} is longer than {SIZE_LIMIT:,} bytes. {NOTHING}")


def _unzip(data: bytes) -> Iterator[tuple[str, ParcelFile]]:
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                mode = entry.external_attr >> 16
                if entry.is_dir():
                    _parts(entry.filename)
                    continue
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                    raise _refuse_link(entry.filename)
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ToolError(f"{entry.filename[:NAME_LIMIT]!r} is packed in an odd way. {NOTHING}")
                with archive.open(entry) as file:
                    content = file.read(SIZE_LIMIT + 1)
                if len(content) > SIZE_LIMIT:
                    raise _too_long(entry.filename)
                yield entry.filename, ParcelFile(content, bool(mode & 0o100))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, EOFError, OSError) as error:
        raise ToolError(f"The archive cannot be read: {error}. {NOTHING}") from error


def _untar(data: bytes) -> Iterator[tuple[str, ParcelFile]]:
    import tarfile

    try:
        with tarfile.open(fileobj=io.BytesIO(_inflate(data)), mode="r:") as archive:
            for entry in archive:
                if entry.isdir():
                    _parts(entry.name)
                    continue
                # Of a sparse file the size is what it says, however little there is of it.
                if not entry.isreg() or entry.issparse():
                    raise _refuse_link(entry.name)
                if entry.size > SIZE_LIMIT:
                    raise _too_long(entry.name)
                file = archive.extractfile(entry)
                content = b"" if file is None else file.read(SIZE_LIMIT)
                yield entry.name, ParcelFile(content, bool(entry.mode & 0o100))
    except (tarfile.TarError, zlib.error, ValueError, EOFError, OSError, OverflowError) as error:
        raise ToolError(f"The archive cannot be read: {error}. {NOTHING}") from error


def _inflate(data: bytes) -> bytes:
    """Return a tar that may be packed by gzip; what unpacks to more than a skill can be is refused unread."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    unpacking = zlib.decompressobj(wbits=31)
    plain = unpacking.decompress(data, PLAIN_LIMIT)
    if unpacking.unconsumed_tail:
        raise ToolError(f"The archive unpacks to more than {PLAIN_LIMIT:,} bytes. {NOTHING}")
    return plain


def _walk(root: Path, path: str) -> Iterator[tuple[str, ParcelFile]]:
    with open_file(root, path) as (handle, status, place):
        if not stat.S_ISDIR(status.st_mode):
            raise ToolError(f"{path} is neither a folder nor a .zip, .tar or .tar.gz. {NOTHING}")
        # Read whole before the folder is closed, and never more than a skill may have.
        yield from _list(handle, (), place.parts, [0])


def _list(
    folder: int, inner: tuple[str, ...], above: tuple[str, ...], seen: list[int]
) -> Iterator[tuple[str, ParcelFile]]:
    """Go over the files below an opened folder; links are refused, never followed."""
    for name in sorted(os.listdir(folder)):
        seen[0] += 1
        if seen[0] > COUNT_LIMIT * 10:
            raise ToolError(f"The folder holds more than a skill can. {NOTHING}")
        if name in LEFT_OUT:
            continue
        way = (*inner, name)
        if refuse_reading((*above, *way)) is not None:
            raise ToolError(f"It holds {'/'.join(way)!r}, which no tool may bring. {NOTHING}")
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            if len(way) > DEPTH_LIMIT:
                raise ToolError(f"It is deeper than {DEPTH_LIMIT} folders. {NOTHING}")
            handle = os.open(name, FOLDER_FLAGS, dir_fd=folder)
            try:
                yield from _list(handle, way, above, seen)
            finally:
                os.close(handle)
        elif stat.S_ISREG(mode):
            handle = os.open(name, FILE_FLAGS, dir_fd=folder)
            try:
                data = read_up_to(handle, SIZE_LIMIT + 1)
            finally:
                os.close(handle)
            if len(data) > SIZE_LIMIT:
                raise _too_long(name)
            yield "/".join(way), ParcelFile(data, bool(mode & 0o100))
        else:
            raise _refuse_link("/".join(way))
