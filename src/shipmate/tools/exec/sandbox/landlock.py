"""Confine commands on Linux where user namespaces are off: Landlock for files, seccomp for sockets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from shipmate.tools.exec.sandbox import jail
from shipmate.tools.exec.sandbox.locked import LockedTree, closed_places, hidden_places, state_folders
from shipmate.tools.exec.sandbox.readable import own_code, readable_places
from shipmate.tools.exec.sandbox.repository import has_credentials, list_settings
from shipmate.tools.exec.sandbox.room import Room
from shipmate.workspace.layout import Layout

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
# Older kernels let a command end any process of its user, those included that watch over it.
FIRST_VERSION = 6


class Landlock:
    """A launcher that locks itself up before it becomes the command."""

    level = "landlock"
    # Landlock only adds rights: a folder in which something is closed cannot be opened as a whole.
    limits = (
        "commands cannot make new files at the top of the workspace, "
        "nor in a folder that holds protected files"
    )
    # The launcher's parent watches, and ends all that was started.
    kill_signal = jail.END_SIGNAL

    def __init__(self, layout: Layout, tree: LockedTree | None = None) -> None:
        self._layout = layout
        self._tree = tree or LockedTree(layout.root)

    def describe(self) -> str:
        return f"Landlock (version {jail.landlock_version()})"

    def wrap(self, command: Sequence[str], room: Room) -> list[str]:
        """Return the command line that runs a command confined."""
        options = ["--lock", *(["--network"] if room.network else []), "--read", "/proc"]
        for place in readable_places(self._layout.root):
            options += ["--read", str(place)]
        for device in DEVICES:
            options += ["--write", device]
        for place in room.shown:
            options += ["--read", str(place)]
        for place in (room.home, room.temporary, *room.shared):
            options += ["--write", str(place)]
        options += self._rules(room)
        return watched(command, options)

    def _rules(self, room: Room) -> Iterator[str]:
        """Return the rights in the workspace: all to write but what is closed or hidden."""
        root = self._layout.root
        locked = self._tree.look()
        states = state_folders(locked)
        repositories = [Path(entry.path) for entry in locked if Path(entry.path).name == ".git"]
        hidden = {*hidden_places(locked), *map(str, states), *_hidden_configs(repositories)}
        closed = {*closed_places(locked, root, sys.maxsize, room.closed), *map(str, own_code(root))}
        if room.writes_repository:
            closed.discard(str(root / ".git"))
        right = "--read" if room.is_read_only else "--write"
        yield from _open(str(root), right, hidden, closed, _folders_around((*hidden, *closed)))
        for ship in states:
            for name in room.readable_of_ship:
                yield from ("--read", str(ship / name))
            for name in room.writable_of_ship:
                place = str(ship / name)
                yield from _open(
                    place, "--write", hidden - {place}, closed, _folders_around((*hidden, *closed))
                )


def _open(path: str, right: str, hidden: set[str], closed: set[str], around: set[str]) -> Iterator[str]:
    """Return rights to all below a path but what is hidden, and only to read what is closed."""
    if path in hidden:
        return
    if path in closed:
        right = "--read"
    if path not in around:
        yield from (right, path)
        return
    yield from ("--list", path)
    with os.scandir(path) as children:
        for child in sorted(children, key=lambda child: child.name):
            if not child.is_symlink():
                yield from _open(child.path, right, hidden, closed, around)


def _folders_around(places: Iterable[str]) -> set[str]:
    return {str(parent) for place in places for parent in Path(place).parents}


def _hidden_configs(repositories: Iterable[Path]) -> Iterator[str]:
    """Return the settings of repositories that hold credentials; they cannot be shown without them here."""
    for repository in repositories:
        if repository.is_dir():
            for config in list_settings(repository):
                if config.is_file() and has_credentials(config.read_text("utf-8", "replace")):
                    # Of a link what it leads to: there the bytes are.
                    yield from dict.fromkeys((str(config), str(config.resolve())))


def watched(command: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """Return the command line that runs a command below a process that ends all it leaves behind."""
    launcher = [sys.executable, "-I", "-S", str(Path(jail.__file__)), str(os.getpid())]
    return [*launcher, *options, "--", *command]
