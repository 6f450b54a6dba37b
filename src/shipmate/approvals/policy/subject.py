"""Find what a call is about: a command, a path or a host."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from shipmate.tools.exec.command import CommandPlan, plan_command
from shipmate.tools.exec.program.invocation import Invocation, PathOperand, read_invocation
from shipmate.tools.exec.shell import commands_within
from shipmate.tools.file.protection import fold
from shipmate.values.message import JsonObject
from shipmate.values.reason import Why

Kind = Literal["command", "path", "host"]
KINDS: dict[str, Kind] = {
    "exec": "command",
    "web_fetch": "host",
    **dict.fromkeys(("read", "write", "edit", "glob", "grep", "show_image", "send_file"), "path"),
}
PATH_KEYS = ("path", "file_path", "base_dir")
# Characters on which address parsers disagree: what one takes for the host another takes for a password.
ODD_IN_ADDRESS = re.compile(r"[\\@\s\x00-\x20\x7f]")


class PathSubject(msgspec.Struct, frozen=True):
    """A path as written and as it really lies, both relative to the workspace; None is outside."""

    text: str
    written: tuple[str, ...] | None
    real: tuple[str, ...] | None
    absolute: tuple[str, ...]

    @property
    def is_inside(self) -> bool:
        return self.written is not None and self.real is not None

    @property
    def ways(self) -> list[tuple[str, ...]]:
        """List the ways it lies in the workspace: as written, and where links lead."""
        return [way for way in (self.written, self.real) if way is not None]

    @property
    def spellings(self) -> list[tuple[str, ...]]:
        """List every way a rule might write this path."""
        ways = [way for way in (self.written, self.real, self.absolute) if way is not None]
        return ways + [tuple(fold(part) for part in way) for way in ways]


class CommandSubject(msgspec.Struct, frozen=True):
    """A command, how it would run, and what its program's grammar makes of it."""

    text: str
    plan: CommandPlan
    folder: Path
    # What the command does, when all of it is known; else `why` says what is not.
    invocation: Invocation | None = None
    places: tuple[tuple[PathOperand, PathSubject], ...] = ()
    why: Why | None = None

    @property
    def within(self) -> list[tuple[str, ...]]:
        """List all commands in it, as far as they can be seen without running it."""
        return commands_within(self.text)[0] if self.plan.words is None else [self.plan.words]


class HostSubject(msgspec.Struct, frozen=True):
    """An address and its host; no host when the address is written in a doubtful way."""

    text: str
    host: str | None


Subject = CommandSubject | PathSubject | HostSubject


def find_subject(tool: str, arguments: JsonObject, folder: Path) -> Subject | None:
    """Return what a call is about, or None for tools that rules can only name."""
    match KINDS.get(tool):
        case "command":
            command = arguments.get("command")
            return read_subject(command, folder) if isinstance(command, str) else None
        case "host":
            url = arguments.get("url")
            return HostSubject(url, _host(url)) if isinstance(url, str) else None
        case "path":
            given = (arguments[key] for key in PATH_KEYS if isinstance(arguments.get(key), str))
            return locate(next(given, "."), folder)
        case None:
            return None


def read_subject(command: str, folder: Path) -> CommandSubject:
    """Return a command with what is known of it."""
    plan = plan_command(command, folder)
    if plan.words is None:
        return CommandSubject(command, plan, folder, why=plan.why)
    if plan.name is None:
        return CommandSubject(command, plan, folder, why=Why("own-program", plan.words[0]))
    reading = read_invocation(plan.name, plan.words[1:])
    if isinstance(reading, Why):
        return CommandSubject(command, plan, folder, why=reading)
    return CommandSubject(command, plan, folder, reading, tuple(_places(reading, folder)))


def _places(invocation: Invocation, folder: Path) -> Iterator[tuple[PathOperand, PathSubject]]:
    """Place the paths a command reads and writes; for a folder it copies into, what it makes there."""
    for operand in invocation.paths:
        is_target = operand.writes and not operand.reads and bool(invocation.sources)
        if is_target and is_folder(folder, operand.text):
            names = (os.path.normpath(source).rpartition("/")[2] for source in invocation.sources)
            yield from ((operand, locate(f"{operand.text}/{name}", folder)) for name in names)
        else:
            yield operand, locate(operand.text, folder)


def is_folder(folder: Path, path: str) -> bool:
    """Return whether a path leads to a folder."""
    return os.path.isdir(folder / path)  # noqa: PTH112 - is_dir() raises for a name too long to exist


def locate(path: str, folder: Path) -> PathSubject:
    """Place a path in the workspace, following links."""
    if "\0" in path:
        return PathSubject(path, None, None, (path,))
    given = path if path.startswith("/") else f"{folder}/{path}"
    absolute = os.path.normpath(given)
    try:
        # As given: behind a link, `..` leads to the parent of where the link leads.
        real = os.path.realpath(given)
    except (OSError, ValueError):
        return PathSubject(path, None, None, tuple(absolute.split("/")[1:]))
    return PathSubject(
        path,
        _below(absolute, str(folder)),
        _below(real, os.path.realpath(folder)),
        tuple(real.split("/")[1:]),
    )


def _below(path: str, root: str) -> tuple[str, ...] | None:
    if path == root:
        return ()
    return tuple(path[len(root) + 1 :].split("/")) if path.startswith(f"{root}/") else None


def _host(url: str) -> str | None:
    if ODD_IN_ADDRESS.search(url):
        return None
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
