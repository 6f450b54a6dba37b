"""How long ten thousand messages of another program take to move in, and a workspace into one file."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from shipmate.moving.archive.pack import pack
from shipmate.moving.archive.unpack import unpack
from shipmate.moving.service import move_in
from shipmate.workspace.layout import Layout

SESSIONS, EACH = 100, 100
WORDS = "The kettle is on. 水开了，茶叶在第二个柜子里。 " * 8


def measure() -> list[dict[str, Any]]:
    """Measure the first import, the same one again, an export and a restore."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        source, layout = _write(root / "theirs"), Layout(root / "ours")
        layout.root.mkdir()
        layout.agent.write_text("# Bench\n")
        seen: list[int] = []
        first = _timed(lambda: _take(layout, source, seen))
        again = _timed(lambda: _take(layout, source, []))
        packed = _timed(lambda: pack(layout, root / "all.tar.gz"))
        restored = _timed(lambda: unpack(root / "all.tar.gz", root / "back"))
        return [
            {"name": "import of 10,000 messages in 100 threads", "value": first, "unit": "s", "bar": "<= 5"},
            {"name": "… told while it goes on", "value": len(seen), "unit": "times", "bar": ">= 100"},
            {"name": "… the same again, nothing new", "value": again, "unit": "s"},
            {"name": "export of that workspace", "value": packed, "unit": "s"},
            {"name": "restore of it", "value": restored, "unit": "s"},
        ]


def _take(layout: Layout, source: Path, seen: list[int]) -> None:
    asyncio.run(move_in(layout, "nanobot", source, progress=lambda number, total: seen.append(number)))


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _write(folder: Path) -> Path:
    """Write sessions as nanobot keeps them: every fourth answer with a call of a tool."""
    (folder / "workspace").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    for session in range(SESSIONS):
        rows: list[dict[str, Any]] = [{"_type": "metadata", "key": f"cli:{session}"}]
        for number in range(EACH // 2):
            at = f"2026-01-01T{number // 60:02}:{number % 60:02}:00"
            rows.append({"role": "user", "content": f"{number} {WORDS}", "timestamp": at})
            if number % 4 == 0:
                call = {"id": f"c{number}", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
                rows.append({"role": "assistant", "content": "", "tool_calls": [call], "timestamp": at})
                rows.append({"role": "tool", "tool_call_id": f"c{number}", "content": WORDS, "timestamp": at})
            rows.append({"role": "assistant", "content": f"{number} {WORDS}", "timestamp": at})
        place = folder / "sessions" / f"cli_{session}.jsonl"
        place.parent.mkdir(exist_ok=True)
        place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
