"""Install programs of others that talk to us, each in a folder of its own, once."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
import sys
import venv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.support.wait import LONG

FOLDER = Path(__file__).parents[2] / "artefacts" / "programs"
UV = str(Path(sys.executable).with_name("uv"))
INSTALL_SECONDS = 900


@cache
def install(package: str, version: str) -> Path:
    """Return the Python that has a package, which is fetched unless it is there; skip where it cannot be."""
    folder = FOLDER / f"{package}-{version}"
    python = folder / "bin" / "python"
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Parallel test workers share the folder; the first one in installs.
    with (FOLDER / f".{package}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _has(python, package, version):
            venv.create(folder, with_pip=False, clear=True)
            uv = [UV, "pip", "install", "--quiet", "--python", str(python), f"{package}=={version}"]
            done = subprocess.run(uv, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
            if done.returncode != 0:
                pytest.skip(f"{package} {version} cannot be installed: {done.stderr[-300:]}")
    return python


def _has(python: Path, package: str, version: str) -> bool:
    """Return whether a package was installed to its end."""
    if not python.is_file():
        return False
    look = f"import importlib.metadata as m, sys; sys.exit(m.version({package!r}) != {version!r})"
    return subprocess.run([str(python), "-c", look], capture_output=True, check=False).returncode == 0


async def run(python: Path, *arguments: str, folder: Path, environ: Mapping[str, str]) -> tuple[int, str]:
    """Run a module of a package to its end; return its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        str(python),
        "-m",
        *arguments,
        cwd=folder,
        # Nothing of this machine: its keys, its settings, its proxies.
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONUTF8": "1", **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(4 * LONG):
            printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, printed.decode(errors="replace")
