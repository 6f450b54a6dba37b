"""What each platform costs: lines of its source, and memory once its adapter is made and once it listens."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SECRET = "123456:ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# The least each kind is made with.
SETTINGS: dict[str, dict[str, Any]] = {
    "memory": {},
    "telegram": {"token": SECRET},
    "feishu": {"appId": SECRET, "appSecret": SECRET},
    "discord": {"token": SECRET.replace(":", ".")},
    "slack": {"token": SECRET.replace(":", "-"), "appToken": SECRET.replace(":", "-")},
    "mail": {"address": "a@b.example", "password": SECRET, "imap": "b", "smtp": "b", "authserv": "b"},
    "wecom": {"corpId": "c", "agentId": 1, "secret": "s", "token": "t", "encodingAesKey": "A" * 43},
    "dingtalk": {"clientId": "c", "clientSecret": SECRET},
}
# Those that listen over a socket, or open what is sealed, load these when they do.
SOCKETS, SEALS = "websockets.asyncio.client", "cryptography.hazmat.primitives.ciphers.modes"
CHILD = """
import asyncio, importlib, json, sys
from pathlib import Path
import shipmate.app
from shipmate.adapters.adapter_registry import AdapterRegistry

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4 / 1024

async def main(kind, settings, sockets):
    before = resident()
    AdapterRegistry({kind: settings}).find(kind)
    made = resident()
    if sockets:
        importlib.import_module(sockets)
    print(json.dumps([made - before, resident() - before]))

asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]))
"""


def measure() -> list[dict[str, Any]]:
    """Return the figures of every platform."""
    return [row for kind, settings in SETTINGS.items() for row in measure_kind(kind, settings)]


def measure_kind(kind: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the figures of one platform."""
    from shipmate.adapters.adapter_registry import find_kind

    source = Path(inspect.getfile(find_kind(kind)))
    # A platform that takes more than two modules has a folder.
    is_flat = source.parent.name == "adapters"
    files = [*source.parent.glob(f"{source.stem}*.py" if is_flat else "*.py")]
    sockets = SOCKETS if any("sockets" in path.read_text("utf-8") for path in files) else ""
    asked = [sys.executable, "-c", CHILD, kind, json.dumps(settings), SEALS if kind == "wecom" else sockets]
    made, listening = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    return [
        {"name": f"{kind}: source", "value": sum(map(count_lines, files)), "unit": "lines"},
        {"name": f"{kind}: imported and made", "value": made, "unit": "MB", "bar": "<= 3"},
        {"name": f"{kind}: listening", "value": listening, "unit": "MB", "bar": "<= 9"},
    ]


def count_lines(path: Path) -> int:
    """Count the lines of a file."""
    return len(path.read_text("utf-8").splitlines())
