"""Memory in the terminal: shown with its source, searched, and mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shipmate.cli.group import run
from shipmate.memory.memory_entry import MemoryEntry
from shipmate.memory.service import EntryChange, MemoryService
from shipmate.workspace.layout import Layout


def test_memory_is_shown_searched_and_mended(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def do(*words: str, code: int = 0) -> str:
        assert run(["-C", str(workspace), "memory", *words]) == code
        return capsys.readouterr().out

    service = MemoryService(Layout(workspace))
    assert "Nothing is remembered" in do("show")
    for heading, text in (
        ("Release day", "Thursdays."),
        ("\x1b[31mTea", "at four"),
        ("Release day", "周五发布。"),
    ):
        entry = MemoryEntry(
            heading=heading,
            text=text,
            date="2026-11-16",
            source="web:room:1",
            kind="decision",
            is_tainted=True,
        )
        service.write([EntryChange(path=service.layout.project_memory, entry=entry)])
    listed = do("show")
    assert (
        ".ship/memory/project.md\n  Release day  (decision, 2026-11-16, web:room:1, strangers' words)"
        in listed
    )
    assert "\x1b" not in listed
    assert "周五发布" in do("show", "project")
    found = json.loads(do("search", "发布", "--json"))
    assert [each["heading"] for each in found] == ["Release day"]
    assert do("search", "tide", code=1) == ""
    assert do("show", "../Agent.md", code=2) == ""
    changes = json.loads(do("log", "--json"))
    assert changes[0]["entries"] == [["~", "Release day"]]
    undone = do("undo", changes[0]["id"], "--yes")
    assert "-周五发布。\n+Thursdays." in undone
    assert "Thursdays." in service.read(service.layout.project_memory)
    assert do("undo", "nothing", code=2) == ""
