"""Confine commands on Linux where user namespaces are off: Landlock for files, seccomp for the network."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from shipmate.tools.exec.sandbox import jail
from shipmate.tools.exec.sandbox.system import readable_places
from shipmate.tools.file.protection import secret_files, ship_folders
from shipmate.workspace.layout import Layout

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


class Landlock:
    """Wrap commands in a launcher that locks itself up first."""

    level = "landlock"
    # Landlock only adds rights; to keep `.ship` from commands its parent cannot be opened as a whole.
    limits = "commands cannot make new files at the top of the workspace, only in its folders"

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def describe(self) -> str:
        return f"Landlock (version {jail.landlock_version()})"

    def wrap(self, command: Sequence[str], *, network: bool) -> list[str]:
        """Give the command line that runs a command confined."""
        options = ["--read", "/proc"]
        for place in readable_places(self._layout.root):
            options += ["--read", str(place)]
        for device in DEVICES:
            options += ["--write", device]
        for ship in ship_folders(self._layout):
            for name in ("memory", "uploads", "logs/calls"):
                options += ["--read", str(ship / name)]
            options += ["--write", str(ship / "scratch")]
        options += self._open(self._layout.root, {*secret_files(self._layout), *ship_folders(self._layout)})
        options += ["--network"] if network else []
        return [sys.executable, "-I", "-S", str(Path(jail.__file__)), *options, "--", *command]

    def _open(self, path: Path, hidden: set[Path]) -> list[str]:
        """Give rights to all below a path but what is hidden."""
        if path in hidden:
            return []
        if not any(secret.is_relative_to(path) for secret in hidden):
            return ["--write", str(path)]
        children = (self._open(child, hidden) for child in sorted(path.iterdir()) if not child.is_symlink())
        return ["--list", str(path), *(option for options in children for option in options)]
