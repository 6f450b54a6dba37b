"""Plan how a command line runs: as one program with its words, or, where it needs one, by a shell.

A plain command is started without a shell, so that what a rule covers is what runs. Its program is looked for
in folders no tool can write; one that lies in the workspace runs too, but no grammar speaks for it.
"""

from __future__ import annotations

import os
import stat
import sys
from functools import cache
from pathlib import Path

import msgspec

from shipmate.tools.exec.shell import read_command
from shipmate.values.reason import Why

# Where systems keep their programs, whatever PATH the process was started with.
SYSTEM_FOLDERS = (
    "/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/homebrew/bin",
)  # fmt: skip


class CommandPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How one command line runs."""

    text: str
    # The words of a plain command; None when a shell has to read the text, and `why` says what for.
    words: tuple[str, ...] | None
    why: Why | None = None
    # The name and the real file of a program that no tool can change; None when a tool could have made it.
    name: str | None = None
    program: Path | None = None
    # What is started. Never looked up again, and no shell when there are words.
    argv: tuple[str, ...]


def plan_command(text: str, folder: Path) -> CommandPlan:
    """Return how a command line runs in a workspace."""
    reading = read_command(text)
    if reading.words is None:
        return _shell_plan(text, folder, reading.why or Why("not-plain"))
    name, *rest = reading.words
    found = _find_file(name, folder)
    if found is None:
        # Only a shell knows its own commands, and only it can say that there is none by this name.
        return _shell_plan(text, folder, Why("no-program", name))
    plan = CommandPlan(text=text, words=reading.words, argv=(found, *rest))
    place, _, name = found.rpartition("/")
    # On a way through other folders lie links, which may lead elsewhere by the time it starts.
    known = find_program(name, folder) if place in program_folders(folder) else None
    if known is None or os.path.realpath(known) != os.path.realpath(found):
        return plan
    return msgspec.structs.replace(plan, name=name, program=Path(os.path.realpath(found)))


def program_folders(folder: Path) -> tuple[str, ...]:
    """List the folders programs come from, in order: none of them lies where tools can write."""
    return _sorted_folders(os.environ.get("PATH", ""), str(folder))[0]


def find_program(name: str, folder: Path) -> str | None:
    """Return the file a name stands for in the folders no tool can write."""
    if not name or "/" in name:
        return None
    root = os.path.realpath(folder)
    paths = (f"{place}/{name}" for place in program_folders(folder))
    return next((path for path in paths if _is_program(path) and not _lies_in(path, root)), None)


def _shell_plan(text: str, folder: Path, why: Why) -> CommandPlan:
    bash = find_program("bash", folder)
    shell = (bash, "--noprofile", "--norc") if bash else (find_program("sh", folder) or "/bin/sh",)
    return CommandPlan(text=text, words=None, why=why, argv=(*shell, "-c", text))


def _find_file(name: str, folder: Path) -> str | None:
    """Return the file a command starts: the system's first, then what PATH has inside the workspace."""
    if "/" in name:
        path = name if name.startswith("/") else f"{folder}/{name}"
        return path if _is_program(path) else None
    if found := find_program(name, folder):
        return found
    inside = (f"{place}/{name}" for place in _sorted_folders(os.environ.get("PATH", ""), str(folder))[1])
    return next((path for path in inside if _is_program(path)), None)


@cache
def _sorted_folders(search_path: str, folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the folders to look in, first those that tools cannot write, then those they can."""
    # Version managers put scripts on PATH that look for a home folder; the real interpreter goes before them.
    named = (f"{sys.base_prefix}/bin", *SYSTEM_FOLDERS, *search_path.split(os.pathsep))
    places = [name for name in dict.fromkeys(named) if name.startswith("/")]
    root = os.path.realpath(folder)
    closed = [place for place in places if not (_lies_in(place, root) or _is_open_to_all(place))]
    return tuple(closed), tuple(place for place in places if place not in closed)


def _lies_in(path: str, root: str) -> bool:
    return os.path.commonpath((os.path.realpath(path), root)) == root


def _is_open_to_all(place: str) -> bool:
    try:
        return bool(Path(place).stat().st_mode & stat.S_IWOTH)
    except OSError:
        return False


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)  # noqa: PTH113 - asked for a dozen paths a command
