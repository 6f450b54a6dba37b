"""AgentDojo with an obedient attacker: nothing injected acts unasked, and how often people are asked.

The model is replaced by one that carries out an injected task as soon as its text appears in a result, so
that the policy alone is on trial. AgentDojo is installed once into `.bench/agentdojo`, apart from our own
environment; `SHIPMATE_BENCH_AGENTDOJO` names the python of an installation to use instead.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench.foreign import foreign_python

VERSION = "0.1.35"
VARIABLE = "SHIPMATE_BENCH_AGENTDOJO"
REPOSITORY = Path(__file__).parents[1]
DRIVER = Path(__file__).with_name("agentdojo_child.py")
# The driver imports our approvals, and these are all they need.
NEEDED = (f"agentdojo=={VERSION}", "msgspec", "tree-sitter", "tree-sitter-bash")


def measure() -> list[dict[str, Any]]:
    """Run every pair of a user task and an injected task, then every user task alone."""
    python = foreign_python(VARIABLE, "agentdojo", *NEEDED)
    if python is None:
        return [{"name": f"agentdojo {VERSION}", "value": "not installed", "unit": "", "bar": None}]
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY / "src"),
        "HOME": os.environ.get("HOME", "/"),
    }
    # -P: without it this very file would stand where the package agentdojo is looked for.
    result = subprocess.run(
        [python, "-P", str(DRIVER)], env=environ, capture_output=True, text=True, timeout=1200, check=False
    )
    if result.returncode != 0:
        words = result.stderr.strip().splitlines()[-1:] or ["failed"]
        raise RuntimeError(f"agentdojo: {words[0]}")
    rows: list[dict[str, Any]] = json.loads(result.stdout.strip().splitlines()[-1])
    return rows
