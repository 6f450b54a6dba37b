"""Confine commands on macOS with sandbox-exec."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from shipmate.tools.exec.sandbox.system import own_code, readable_places
from shipmate.tools.file.protection import secret_files, ship_folders
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
    """Wrap commands in sandbox-exec."""

    level = "seatbelt"
    limits = ""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def describe(self) -> str:
        return "sandbox-exec"

    def wrap(self, command: Sequence[str], *, network: bool) -> list[str]:
        """Give the command line that runs a command confined."""
        return [str(PROGRAM), "-p", self.profile(network), *command]

    def profile(self, network: bool) -> str:
        """Write the rules in the profile language."""
        layout = self._layout
        readable = [Path(name) for name in SYSTEM] + readable_places(layout.root)
        rules = [_rule("allow file-read*", readable), _rule("allow file-read* file-write*", [layout.root])]
        rules.append(_rule("deny file-read* file-write*", [*ship_folders(layout), *secret_files(layout)]))
        # Named even when they do not exist yet: a command must not make them.
        rules.append(_rule("deny file-read* file-write*", [layout.config, layout.env]))
        for ship in ship_folders(layout):
            open_ones = [ship / name for name in ("memory", "uploads", "logs/calls")]
            rules.append(_rule("allow file-read*", open_ones))
            rules.append(_rule("allow file-read* file-write*", [ship / "scratch"]))
        git = layout.root / ".git"
        rules.append(_rule("deny file-write*", [git / "config", git / "hooks", *own_code(layout.root)]))
        return START + "\n".join(rules) + ("\n(allow network*)" if network else "")


def _rule(verdict: str, paths: Sequence[Path]) -> str:
    # Seatbelt sees real paths: /tmp and /var are links on macOS.
    return f"({verdict} {' '.join(f'(subpath {_quote(path.resolve())})' for path in paths)})"


def _quote(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def find_seatbelts(layout: Layout) -> list[Seatbelt]:
    """Give sandbox-exec where the machine has it."""
    return [Seatbelt(layout)] if sys.platform == "darwin" and PROGRAM.is_file() else []
