"""Print what each adapter costs: its lines, and the memory a process takes to load it.

    .venv/bin/python -m scripts.adapter_memory

Each is measured in a fresh process, over one that has everything adapters share.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shipmate.adapters.adapter_registry import BUILT_IN

SHARED = "import asyncio, httpcore2, shipmate.app, shipmate.adapters.platform_link"
LIBRARIES = {
    "dingtalk": "import websockets.asyncio.client",
    "discord": "import websockets.asyncio.client",
    "feishu": "import websockets.asyncio.client, cryptography.hazmat.primitives.ciphers.modes",
    "slack": "import websockets.asyncio.client",
    "wecom": "import cryptography.hazmat.primitives.ciphers.algorithms, xml.parsers.expat",
}
RESIDENT = "print(next(line for line in open('/proc/self/status') if line.startswith('VmRSS')).split()[1])"
ROUNDS = 3


def measure(code: str) -> float:
    """Return the megabytes of a process that ran some code, the least of a few."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", f"{SHARED}\n{code}\n{RESIDENT}"], capture_output=True, check=True
        )
        for _ in range(ROUNDS)
    ]
    return min(int(run.stdout) for run in runs) / 1024


def main() -> None:
    """Print a table."""
    base = measure("")
    print("| platform | lines | loaded | with its library |\n|---|---|---|---|")
    for kind, place in BUILT_IN.items():
        module = place.partition(":")[0]
        path = Path(__import__(module, fromlist=["_"]).__file__ or "")
        files = [path] if path.parent.name == "adapters" else sorted(path.parent.glob("*.py"))
        if kind == "mail":
            files.append(path.with_name("mail_content.py"))
        lines = sum(len(each.read_text().splitlines()) for each in files)
        loaded = measure(f"import {module}") - base
        whole = measure(f"import {module}\n{LIBRARIES.get(kind, '')}") - base
        print(f"| {kind} | {lines} | {loaded:.1f} MB | {whole:.1f} MB |")


if __name__ == "__main__":
    main()
