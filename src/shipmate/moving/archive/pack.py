"""Write a workspace into one file without secrets: the same workspace always gives the same bytes."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from shipmate import __version__
from shipmate.moving.move_wording import refuse
from shipmate.workspace.disk.disk import DISK, make_folder, settle
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import load_config, read_env
from shipmate.workspace.secret.exposure import is_literal, name_variable
from shipmate.workspace.secret.secret import MASK, fold, is_secret, is_settings, secret_values
from shipmate.workspace.secret.setting import VARIABLE, find_secrets

FORMAT = 1
MANIFEST = "shipmate-archive.json"
# What belongs to a workspace outside `.ship/`; everything else in the folder is somebody's own.
FILES = (
    *("Agent.md", "ship.json", "member.json", "AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md"),
    *("RELATIONS.md", "MEMORY.md"),
)
FOLDERS = ("memory", "skills", "members", "projects", ".minds", ".dialogs/recent-priming", "network")
# What of `.ship/` belongs to a copy, and what does not: secrets and logins, what only this machine needs,
# what is made anew. A name in neither is left out until somebody has decided; a test names it.
KEPT = frozenset(
    {
        *("threads", "bin", "marks", "approvals", "grants", "audit", "memory", "tasks", "occurrences.jsonl"),
        *("inbox.jsonl", "outbox.jsonl", "people.json", "users.json", "usage", "budget.json", "uploads"),
        *("logs", "mcp", "rehearsals", "revisions", "removed", "studio", "windows.json", "ship.schema.json"),
    }
)
LEFT_OUT = frozenset(
    {
        *("token", "sealed", "homes", "shared", "chat-history", "context", "backups", "state.db", "locks"),
        *("rooms", "trials", "rewind", "changes.lock", "keeper.lock", "keeper.sock", "damaged", "scratch"),
        *("refused", "memory.lock"),
    }
)
# Inside of what is kept: logins, and earlier texts of files that hold keys.
NEVER = ("mcp/logins", "revisions/ship.json", "revisions/member.json", "revisions/.env", "revisions/%2Eenv")
# What of a file is nobody else's: for each object in it, or of the file itself.
PRIVATE = {".ship/users.json": ("password", "keys"), ".ship/people.json": ("codes",)}
# These are read first: what they still list may be in a thread by the time that is read, never the other way.
FIRST = (".ship/inbox.jsonl", ".ship/outbox.jsonl", ".ship/occurrences.jsonl")
# Shorter values would blot out ordinary words.
MIN_LENGTH = 8
SKIPPED = frozenset({"node_modules", ".git", "__pycache__", ".venv"})


class PackedFile(msgspec.Struct, frozen=True):
    """One file of an archive."""

    path: str
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive holds; it comes last, so that one that is cut off has none."""

    format: int
    shipmate: str
    files: tuple[PackedFile, ...]
    # Variables whose values were left out and are to be set after a restore.
    variables: tuple[str, ...] = ()


def pack(layout: Layout, target: Path) -> Manifest:
    """Write the archive of a workspace as it stands, while others may go on writing in it."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        make_folder(DISK, target.parent)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            manifest = _write(layout, file, target.parent.resolve())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        settle(DISK, target, is_new=True)
    except OSError as error:
        raise refuse("not-written", path=target, why=error.strerror or "?") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return manifest


def _write(layout: Layout, file: IO[bytes], own: Path) -> Manifest:
    covering = _Covering(layout)
    early = {name: data for name in FIRST if (data := _read(layout.root / name)) is not None}
    files: list[PackedFile] = []
    with (
        gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in list_files(layout, own):
            data = early.get(path) if path in early else _read(layout.root / path)
            if data is None:
                # It went meanwhile.
                continue
            data = covering.cover(path, data)
            files.append(PackedFile(path, len(data), hashlib.sha256(data).hexdigest()))
            _add(tar, path, data)
        variables = {*VARIABLE.findall(covering.settings), *covering.variables}
        manifest = Manifest(
            format=FORMAT,
            shipmate=__version__,
            files=tuple(files),
            variables=tuple(sorted(variables)),
        )
        _add(tar, MANIFEST, msgspec.json.encode(manifest))
    return manifest


def list_files(layout: Layout, own: Path | None = None) -> list[str]:
    """Return the files of a workspace that a copy of it needs, sorted; `own` is the folder of the copies."""
    found: dict[str, None] = {}
    homes = [home for _, home in layout.homes]
    named = load_config(layout).config.context.instructions
    for name in (*FILES, *named, *(home for home in homes if home.endswith(".md"))):
        if _is_plain(layout.root / name) and (layout.root / name).resolve().is_relative_to(layout.root):
            found[Path(name).as_posix()] = None
    for name in (*FOLDERS, *(home for home in homes if not home.endswith(".md"))):
        found |= dict.fromkeys(_walk(layout.root, name, own))
    shown = _walk(layout.root, layout.ship.name, own)
    found |= dict.fromkeys(path for path in shown if not _is_left_out(path.partition("/")[2]))
    return sorted(path for path in found if not _is_secret(path))


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_left_out(inner: str) -> bool:
    is_private = any(inner == name or inner.startswith(f"{name}/") for name in NEVER)
    return inner.partition("/")[0] not in KEPT or is_private


def _is_secret(path: str) -> bool:
    names = [fold(part) for part in path.split("/")]
    is_ours = names[-1] == "ship.json" or names[-1] == "member.json"
    return any(map(is_secret, names)) or (is_settings(names) and not is_ours) or path.endswith(".tmp")


def _walk(root: Path, name: str, own: Path | None) -> Iterator[str]:
    """Go over the plain files below a folder; links are not followed."""
    for folder, folders, names in os.walk(root / name):
        at = Path(folder)
        if at.is_symlink() or (own is not None and at.resolve() == own and own != root):
            folders.clear()
            continue
        folders[:] = sorted(each for each in folders if each not in SKIPPED)
        for each in sorted(names):
            if _is_plain(at / each):
                yield (at / each).relative_to(root).as_posix()


def _read(path: Path) -> bytes | None:
    """Return what a file holds; a line that is being written is left for the next copy."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if path.suffix != ".jsonl" or data.endswith(b"\n"):
        return data
    end = data.rfind(b"\n") + 1
    try:
        msgspec.json.decode(data[end:])
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return data[:end]
    return data


def _add(tar: tarfile.TarFile, path: str, data: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(data), 0o600
    tar.addfile(entry, io.BytesIO(data))


class _Covering:
    """Takes the secrets of a workspace out of its files; one without any stays as it is, byte for byte."""

    def __init__(self, layout: Layout) -> None:
        raw = _decode(_read(layout.config) or b"{}")
        homes = [layout, *(layout.member(name) for name in _members(layout))]
        known = [value for home in homes for value in secret_values(read_env(home))]
        known += [_value_at(raw, place) for place, _ in find_secrets(raw) if is_literal(raw, place)]
        self._known = {
            value.encode() for value in known if len(value) >= MIN_LENGTH and not VARIABLE.search(value)
        }
        self.settings = ""
        self.variables: list[str] = []

    def cover(self, path: str, data: bytes) -> bytes:
        """Return a file without secrets."""
        if path.rpartition("/")[2] in ("ship.json", "member.json"):
            data = self._cover_settings(data)
            self.settings += data.decode("utf-8", "replace")
        if path in PRIVATE:
            data = _drop(data, PRIVATE[path])
        for value in self._known:
            if value in data:
                data = data.replace(value, MASK.encode())
        return data

    def _cover_settings(self, data: bytes) -> bytes:
        raw = _decode(data)
        places = [
            place
            for place in dict.fromkeys(place for place, _ in find_secrets(raw))
            if is_literal(raw, place)
        ]
        for place in places:
            inner: Any = raw
            for key in place[:-1]:
                inner = inner[int(key) if isinstance(inner, list) else key]
            last: Any = int(place[-1]) if isinstance(inner, list) else place[-1]
            self._known.add(str(inner[last]).encode())
            self.variables.append(name_variable(place))
            inner[last] = f"${{{name_variable(place)}}}"
        return msgspec.json.format(msgspec.json.encode(raw), indent=2) + b"\n" if places else data


def _drop(data: bytes, keys: tuple[str, ...]) -> bytes:
    """Return a JSON object without some keys, and each object in it without them."""
    raw = _decode(data)
    kept = {
        name: {key: value for key, value in inner.items() if key not in keys}
        if isinstance(inner, dict)
        else inner
        for name, inner in raw.items()
        if name not in keys
    }
    return data if kept == raw else msgspec.json.encode(kept)


def _members(layout: Layout) -> list[str]:
    names = (
        [path.name for path in layout.members.iterdir() if path.is_dir()] if layout.members.is_dir() else []
    )
    return [name for name in names if name != CAPTAIN and not name.startswith(".")]


def _decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return {}


def _value_at(raw: Any, place: tuple[str, ...]) -> str:
    for key in place:
        raw = raw[int(key) if isinstance(raw, list) else key]
    return str(raw)
