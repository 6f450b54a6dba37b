"""How much of the house one has to hold in the head: lines, modules, and the files one "yes" enters.

It reads and runs whatever `shipmate` is installed, through public names alone, so that an older tree can be
measured with it as well: put that tree's `src` first on PYTHONPATH.
"""

from __future__ import annotations

import ast
import asyncio
import os
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import shipmate
from shipmate import ApprovalReplyEvent, ScriptedModel, Shipmate, TextEvent, call

SOURCE = Path(shipmate.__file__).parent
ROOM: dict[str, Any] = {"platform": "cli", "thread_id": "cli:dm:ann", "user_id": "ann", "timestamp": ""}


def measure() -> list[dict[str, Any]]:
    """Return the figures of the tree."""
    entered = asyncio.run(trace_yes())
    return [
        *count_files(),
        # What runs on a clock meanwhile is counted too: on a busy machine it is a few more.
        {"name": 'files entered by one "yes"', "value": len(entered), "unit": "files", "bar": "<= 67"},
        {"name": 'folders entered by one "yes"', "value": len({path.parent for path in entered})},
    ]


def count_files() -> list[dict[str, Any]]:
    """Return the figures that can be read from the files alone."""
    modules = sorted(SOURCE.rglob("*.py"))
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in modules)
    serving = find_serving(modules)
    return [
        {"name": "lines of Python in the package", "value": lines, "unit": "lines", "bar": "<= 40000"},
        {"name": "modules", "value": len(modules), "unit": "modules"},
        {
            "name": "modules with one importer, in the same folder",
            "value": len(serving),
            "unit": "modules",
            "bar": "<= 49",
        },
    ]


def find_serving(modules: list[Path]) -> list[str]:
    """Return the modules that one other module imports, their neighbour in the folder."""
    names = {name_of(path): path for path in modules}
    importers: dict[str, set[Path]] = defaultdict(set)
    for path in modules:
        for name in imported_by(path):
            if name in names and names[name] != path:
                importers[name].add(path)
    return [
        name
        for name, users in importers.items()
        if len(users) == 1 and {user.parent for user in users} == {names[name].parent}
        # A package that lists its modules, as `routes` does, is their door and no neighbour.
        if "__init__.py" not in {names[name].name, *(user.name for user in users)}
    ]


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_by(path: Path) -> set[str]:
    """Return what a module imports anywhere in it, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


async def trace_yes() -> set[Path]:
    """Return the files in which a function ran between a "yes" and the end of the run it let go on."""
    entered: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        # The body of a module runs as well when it is imported late; only calls of its functions count.
        if event == "call" and frame.f_code.co_name != "<module>":
            entered.add(frame.f_code.co_filename)

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "Agent.md").write_text("# Mate\n")
        model = ScriptedModel([[call("write", path="log.md", content="All is well.\n")], "Written."])
        async with Shipmate.open(root, model=model) as ship:
            await (await ship.receive(TextEvent(**ROOM, message_id="1", text="keep a log"))).outcome()
            answer = ApprovalReplyEvent(**ROOM, message_id="2", text="yes")
            threading.setprofile(note)
            sys.setprofile(note)
            try:
                await (await ship.receive(answer)).outcome()
            finally:
                sys.setprofile(None)
                threading.setprofile(None)
        assert (root / "log.md").exists(), "the yes was not taken"
    inside = f"{SOURCE}{os.sep}"
    return {Path(name) for name in entered if name.startswith(inside)}
