"""What MCP servers cost the first turn of a process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.turn import REPOSITORY

SERVERS = 8
ROUNDS = 9
SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bench")
@server.tool()
def look(what: str) -> str:
    "Look at something."
    return what
server.run("stdio")
"""


def measure() -> list[dict[str, Any]]:
    """Measure the first turn without servers, with ones that are known, and with ones that are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Agent.md").write_text("# Captain\n\nYou help.\n")
        (folder / "server.py").write_text(SERVER)
        unknown, _ = _first_turn(folder, SERVERS)
        subprocess.run(
            [str(Path(sys.executable).parent / "shipmate"), "-C", name, "mcp", "list"],
            check=True,
            capture_output=True,
            env={"PATH": os.environ["PATH"], "HOME": name},
        )
        # In turns, so that whatever else the machine does falls on both.
        pairs = [(_first_turn(folder, 0), _first_turn(folder, SERVERS)) for _ in range(ROUNDS)]
        without, known = zip(*pairs, strict=True)
    wall, wall_known = (statistics.median(wall for wall, _ in rows) for rows in (without, known))
    # The least disturbed ones: what others do on the machine only adds to it.
    busy, busy_known = (min(busy for _, busy in rows) for rows in (without, known))
    what = f"… with {SERVERS} servers started before, over that"
    return [
        {"name": "open and first turn of a process without MCP servers", "value": wall, "unit": "ms"},
        {"name": what, "value": wall_known - wall, "unit": "ms"},
        {"name": f"{what}, CPU", "value": busy_known - busy, "unit": "ms", "bar": "<= 10"},
        {
            "name": f"… with {SERVERS} never started before, over that",
            "value": unknown - wall,
            "unit": "ms",
            "bar": "<= 2500",
        },
    ]


def _first_turn(folder: Path, servers: int) -> tuple[float, float]:
    entry = {"command": sys.executable, "args": ["server.py"]}
    named = {f"s{number}": entry for number in range(servers)}
    (folder / "ship.json").write_text(json.dumps({"mcp": {"servers": named}}))
    command = [sys.executable, "-m", "bench.mcp_child", str(folder)]
    result = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    wall, busy = map(float, result.stdout.split())
    return wall, busy
