"""Read the files of other programs: never more than a settings file or a title needs, and never an error."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import msgspec

from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting

# Settings of agents take a few kilobytes.
SETTINGS_LIMIT = 1024 * 1024
HEAD_LIMIT = 64 * 1024
ENTRY_LIMIT = 200


def is_file(path: Path) -> bool:
    """Return whether there is such a file; one that may not be looked at is none."""
    return os.path.isfile(path)  # noqa: PTH113  # Path.is_file() raises where a folder is closed


def is_folder(path: Path) -> bool:
    """Return whether there is such a folder; one that may not be looked at is none."""
    return os.path.isdir(path)  # noqa: PTH112


def is_there(path: Path) -> bool:
    """Return whether there is anything of that name that may be looked at."""
    return os.path.exists(path)  # noqa: PTH110


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the beginning of a file; nothing where there is no file that can be read."""
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return b""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read(limit)
    except OSError:
        return b""
    finally:
        os.close(handle)


def read_head(path: Path) -> str:
    """Return the beginning of a text."""
    return read_bytes(path, HEAD_LIMIT).decode("utf-8-sig", "replace")


def read_settings(path: Path) -> JsonObject:
    """Return the object a JSON or TOML file holds; nothing where it is missing, broken or far too long."""
    data = read_bytes(path, SETTINGS_LIMIT + 1)
    if not data or len(data) > SETTINGS_LIMIT:
        return {}
    try:
        found = _read_toml(data) if path.suffix == ".toml" else msgspec.json.decode(check_nesting(data))
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_toml(data: bytes) -> JsonObject:
    import tomllib

    return tomllib.loads(data.decode())


def is_broken(path: Path) -> bool:
    """Return whether settings are there and cannot be read."""
    return is_file(path) and not read_settings(path) and read_bytes(path, 64).strip() not in (b"", b"{}")


def list_names(folder: Path, ending: str = "") -> list[str]:
    """Return the sorted names of a folder with an ending; none where there is no such folder."""
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.endswith(ending)]
    except OSError:
        return []
    return sorted(names)[:ENTRY_LIMIT]


def dig(settings: Any, *keys: str) -> Any:
    """Return the value at a place of settings; None where there is none."""
    for key in keys:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def text_at(settings: Any, *keys: str) -> str:
    """Return the text at a place of settings; empty where there is none."""
    found = dig(settings, *keys)
    return found.strip() if isinstance(found, str) else ""


def object_at(settings: Any, *keys: str) -> JsonObject:
    """Return the object at a place of settings; empty where there is none."""
    found = dig(settings, *keys)
    return found if isinstance(found, dict) else {}
