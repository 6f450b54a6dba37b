"""Find what a call is about: a command, a path or a host."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from shipmate.tools.exec.shell import CommandReading, commands_within, read_command
from shipmate.tools.file.protection import fold
from shipmate.values.message import JsonObject

Kind = Literal["command", "path", "host"]
KINDS: dict[str, Kind] = {
    "exec": "command",
    "web_fetch": "host",
    **dict.fromkeys(("read", "write", "edit", "glob", "grep", "show_image", "send_file"), "path"),
}
PATH_KEYS = ("path", "file_path", "base_dir")
# Characters on which address parsers disagree: what one takes for the host another takes for a password.
ODD_IN_ADDRESS = re.compile(r"[\\@\s\x00-\x20\x7f]")


class CommandSubject(msgspec.Struct, frozen=True):
    """Hold a command and how the shell grammar reads it."""

    text: str
    reading: CommandReading

    @property
    def within(self) -> tuple[list[tuple[str, ...]], bool]:
        """List all commands in it, and whether all of it could be read."""
        return commands_within(self.text)


class PathSubject(msgspec.Struct, frozen=True):
    """Hold a path as written and as it really lies, both relative to the workspace; None is outside."""

    text: str
    written: tuple[str, ...] | None
    real: tuple[str, ...] | None
    absolute: tuple[str, ...]

    @property
    def is_inside(self) -> bool:
        return self.written is not None and self.real is not None

    @property
    def spellings(self) -> list[tuple[str, ...]]:
        """List every way a rule might write this path."""
        ways = [way for way in (self.written, self.real, self.absolute) if way is not None]
        return ways + [tuple(fold(part) for part in way) for way in ways]


class HostSubject(msgspec.Struct, frozen=True):
    """Hold an address and its host; no host when the address is written in a doubtful way."""

    text: str
    host: str | None


Subject = CommandSubject | PathSubject | HostSubject


def find_subject(tool: str, arguments: JsonObject, folder: Path) -> Subject | None:
    """Give what a call is about, or None for tools that rules can only name."""
    match KINDS.get(tool):
        case "command":
            command = arguments.get("command")
            return CommandSubject(command, read_command(command)) if isinstance(command, str) else None
        case "host":
            url = arguments.get("url")
            return HostSubject(url, _host(url)) if isinstance(url, str) else None
        case "path":
            given = (arguments[key] for key in PATH_KEYS if isinstance(arguments.get(key), str))
            return locate(next(given, "."), folder)
        case None:
            return None


def locate(path: str, folder: Path) -> PathSubject:
    """Place a path in the workspace, following links."""
    if "\0" in path:
        return PathSubject(path, None, None, (path,))
    absolute = os.path.normpath(folder / path)
    try:
        real = os.path.realpath(absolute)
    except (OSError, ValueError):
        return PathSubject(path, None, None, PurePath(absolute).parts[1:])
    return PathSubject(
        path,
        _below(absolute, str(folder)),
        _below(real, os.path.realpath(folder)),
        PurePath(real).parts[1:],
    )


def _below(path: str, root: str) -> tuple[str, ...] | None:
    found = PurePath(path)
    return found.relative_to(root).parts if found.is_relative_to(root) else None


def _host(url: str) -> str | None:
    if ODD_IN_ADDRESS.search(url):
        return None
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
