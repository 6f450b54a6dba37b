"""Drive nanobot-ai from PyPI the same way, in the same run, for comparison."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.foreign import foreign_python

VERSION = "0.3.5"
VARIABLE = "SHIPMATE_BENCH_NANOBOT"
REPOSITORY = Path(__file__).parents[1]


def nanobot_python() -> str | None:
    """Give a python that has nanobot; None when there can be none."""
    python = foreign_python(VARIABLE, "nanobot", f"nanobot-ai[api]=={VERSION}")
    if python is not None:
        os.environ[VARIABLE] = python
    return python


def measure_nanobot(url: str) -> list[dict[str, Any]]:
    """Measure nanobot against the same model server."""
    python = nanobot_python()
    if python is None:
        return [{"name": f"nanobot {VERSION}", "value": "not installed", "unit": "", "bar": None}]
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        defaults = {"workspace": str(workspace), "model": "fake", "provider": "custom"}
        config = {
            "providers": {"custom": {"apiKey": "k", "apiBase": f"{url}/v1"}},
            "agents": {"defaults": defaults},
        }
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        driver = str(REPOSITORY / "bench" / "nanobot_driver.py")
        environ = {"PATH": os.environ["PATH"], "HOME": folder}
        result = subprocess.run(
            [python, driver, str(path)], env=environ, capture_output=True, text=True, timeout=600, check=False
        )
        if result.returncode != 0:
            words = result.stderr.strip().splitlines()[-1:] or ["failed"]
            return [{"name": f"nanobot {VERSION}", "value": words[0][:60], "unit": "", "bar": None}]
        rows: list[dict[str, Any]] = json.loads(result.stdout.strip().splitlines()[-1])
        return [_version(python, environ), *rows]


def _version(python: str, environ: dict[str, str]) -> dict[str, Any]:
    spent: list[float] = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run(
            [str(Path(python).with_name("nanobot")), "--version"],
            env=environ,
            capture_output=True,
            check=True,
        )
        spent.append(time.perf_counter() - began)
    return {"name": "nanobot --version, wall", "value": statistics.median(spent), "unit": "s", "bar": None}
