"""Install what is measured beside us, each once, apart from our own environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[1] / ".bench"


def foreign_python(variable: str, name: str, *packages: str) -> str | None:
    """Give the python that has these packages: the one a variable names, or the one of `.bench/<name>`.

    None when it cannot be made, as on a machine without a package registry.
    """
    if named := os.environ.get(variable):
        return named
    home = HOME / name
    python = home / "bin" / "python"
    if not (home / "installed").exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True)
            command = [str(python), "-m", "pip", "install", "--quiet", *packages]
            subprocess.run(command, check=True, capture_output=True, timeout=900)
            (home / "installed").touch()
        except (subprocess.SubprocessError, OSError):
            return None
    return str(python)
