"""Confine commands on macOS with sandbox-exec."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from shipmate.tools.exec.sandbox.locked import LockedTree, closed_places, hidden_places, state_folders
from shipmate.tools.exec.sandbox.readable import own_code, readable_places
from shipmate.tools.exec.sandbox.repository import GUARDED
from shipmate.tools.exec.sandbox.room import Room
from shipmate.workspace.layout import Layout

PROGRAM = Path("/usr/bin/sandbox-exec")
SYSTEM = (
    "/System", "/Library", "/usr", "/bin", "/sbin", "/opt", "/private/etc", "/private/var/db", "/dev",
    "/Applications/Xcode.app",
)  # fmt: skip
# Rules further down win over those above.
START = """(version 1)
(deny default)
(allow process-fork process-exec signal sysctl-read mach-lookup ipc-posix-shm)
(allow file-read-metadata)
(allow file-write-data (literal "/dev/null") (literal "/dev/tty"))
"""


class Seatbelt:
    """The macOS program sandbox-exec."""

    level = "seatbelt"
    limits = ""
    kill_signal = signal.SIGKILL

    def __init__(self, layout: Layout, tree: LockedTree | None = None) -> None:
        self._layout = layout
        self._tree = tree or LockedTree(layout.root)

    def describe(self) -> str:
        return "sandbox-exec"

    def wrap(self, command: Sequence[str], room: Room) -> list[str]:
        """Return the command line that runs a command confined."""
        return [str(PROGRAM), "-p", self.profile(room), *command]

    def profile(self, room: Room) -> str:
        """Write the rules in the profile language."""
        layout, locked = self._layout, self._tree.look()
        readable = [*map(Path, SYSTEM), *readable_places(layout.root)]
        states = state_folders(locked)
        closed = [Path(place) for place in closed_places(locked, layout.root, sys.maxsize, room.closed)]
        git = layout.root / ".git"
        if room.writes_repository and git in closed:
            closed.remove(git)
            closed += [git / name for name in GUARDED]
        hidden = [Path(place) for place in hidden_places(locked)]
        writable = [] if room.is_read_only else [layout.root]
        rules = [
            _rule("allow file-read*", readable),
            _rule("allow file-read*", [layout.root, *room.shown]),
            _rule("allow file-read* file-write*", [*writable, room.home, room.temporary]),
            _rule("deny file-write*", [*closed, *own_code(layout.root)]),
            # A folder around something closed could be renamed, and another put in its place.
            _rule("deny file-write-unlink", _folders_around([*closed, *hidden], layout.root), "literal"),
            # Named even when they do not exist yet: a command must not make them.
            _rule("deny file-read* file-write*", [*states, *hidden, layout.config, layout.env]),
        ]
        for ship in states:
            rules.append(_rule("allow file-read*", [ship / name for name in room.readable_of_ship]))
            writable = [ship / name for name in room.writable_of_ship]
            rules.append(_rule("allow file-read* file-write*", writable))
        rules.append(_rule("allow file-read* file-write*", room.shared))
        return (
            START
            + "\n".join(filter(None, rules))
            + ("\n(allow network-outbound (remote ip))" if room.network else "")
        )


def _folders_around(places: Sequence[Path], root: Path) -> list[Path]:
    around = {parent for place in places for parent in place.parents}
    return sorted(parent for parent in around if parent.is_relative_to(root))


def _rule(verdict: str, paths: Sequence[Path], kind: str = "subpath") -> str:
    # Seatbelt sees real paths: /tmp and /var are links on macOS.
    places = " ".join(f"({kind} {_quote(path.resolve())})" for path in paths)
    return f"({verdict} {places})" if places else ""


def _quote(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def find_seatbelts(layout: Layout, tree: LockedTree | None = None) -> list[Seatbelt]:
    """Return sandbox-exec where the machine has it."""
    return [Seatbelt(layout, tree)] if sys.platform == "darwin" and PROGRAM.is_file() else []
