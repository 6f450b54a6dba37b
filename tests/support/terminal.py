"""Run the real `shipmate` in a workspace, without keys and without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SHIPMATE = str(Path(sys.executable).parent / "shipmate")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Make an environment in which only the rehearsal model can answer."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        # A port nobody listens on: no Ollama is found.
        "OLLAMA_HOST": "127.0.0.1:1",
        **more,
    }


def shipmate(folder: Path, *arguments: str, said: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [SHIPMATE, *arguments],
        cwd=folder,
        env=environment(folder, **env),
        input=said,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def make_workspace(folder: Path) -> Path:
    """Make a folder a workspace."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Agent.md").write_text("# Ada\n\nYou are Ada.\n")
    return folder
