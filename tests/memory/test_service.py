"""What is remembered is written once, by whoever comes first, and nothing that stood there is lost."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from datetime import date
from pathlib import Path

import pytest

from shipmate.errors import NotFoundError, PathError, StorageError, UserError
from shipmate.memory.distilling import DistilError
from shipmate.memory.memory_entry import MemoryEntry, read_memory
from shipmate.memory.service import EntryChange, MemoryService
from shipmate.workspace.disk import earlier_text
from shipmate.workspace.layout import Layout
from shipmate.workspace.settings.memory_rule import MemoryRule


def change(service: MemoryService, heading: str, text: str) -> EntryChange:
    entry = MemoryEntry(heading=heading, text=text, date="2026-11-16", source="web:room:1")
    return EntryChange(path=service.layout.project_memory, entry=entry)


def headings(service: MemoryService) -> list[str]:
    return [each.heading for each in read_memory(service.read(service.layout.project_memory)).entries]


def _write_many(root: str, name: str, count: int) -> None:
    service = MemoryService(Layout(Path(root)))
    for number in range(count):
        service.write([change(service, f"{name} {number}", "x")])


def test_two_writers_of_one_file_lose_nothing(tmp_path: Path) -> None:
    service = MemoryService(Layout(tmp_path))
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_many, args=(str(tmp_path), name, 12)) for name in ("Ann", "Bob")]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert sorted(headings(service)) == sorted(f"{name} {at}" for name in ("Ann", "Bob") for at in range(12))
    assert len(service.log()) == 24


def _write_and_die(root: str) -> None:
    service = MemoryService(Layout(Path(root)))
    # The process ends after the earlier text is kept and before, or in the midst of, the new one.
    earlier_text.write_private = lambda path, data: path.name != "project.md" or os._exit(9)  # pyright: ignore
    service.write([change(service, "Tea", "at five")])


def test_a_writer_that_is_killed_half_way_leaves_what_stood_there(tmp_path: Path) -> None:
    service = MemoryService(Layout(tmp_path))
    service.write([change(service, "Tea", "at four")])
    before = service.read(service.layout.project_memory)
    killed = multiprocessing.get_context("fork").Process(target=_write_and_die, args=(str(tmp_path),))
    killed.start()
    killed.join()
    assert killed.exitcode == 9
    assert service.read(service.layout.project_memory) == before
    # No change is told that was not made, and the lock went with the process.
    assert len(service.log()) == 1
    service.write([change(service, "Tea", "at five")])
    assert "at five" in service.read(service.layout.project_memory)


def test_a_disk_that_refuses_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = MemoryService(Layout(tmp_path))
    service.write([change(service, "Tea", "at four")])

    def refuse(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(earlier_text, "write_private", refuse)
    with pytest.raises(StorageError, match=r"project\.md could not be written"):
        service.write([change(service, "Tea", "at five")])
    assert "at four" in service.read(service.layout.project_memory)


def test_changes_are_told_and_undone_one_by_one(tmp_path: Path) -> None:
    service = MemoryService(Layout(tmp_path))
    path = service.layout.project_memory
    with pytest.raises(NotFoundError):
        service.undo()
    service.write([change(service, "Tea", "at four")])
    service.write([change(service, "Wind", "west")])
    service.write([change(service, "Tea", "at five")])
    log = service.log()
    assert [each.headings for each in log] == [[("~", "Tea")], [("+", "Wind")], [("+", "Tea")]]
    with pytest.raises(NotFoundError, match="no change ffffffff"):
        service.undo("ffffffff")
    # What was changed since cannot be taken back alone; what was not can.
    with pytest.raises(UserError, match="changed since"):
        service.undo(log[2].id)
    service.undo(log[1].id)
    assert headings(service) == ["Tea"]
    assert "at five" in service.read(path)
    service.undo()
    assert headings(service) == ["Tea", "Wind"]
    for _ in range(2):
        service.undo(service.log()[0].id)
    service.write([change(service, "Tea", ""), change(service, "Wind", "")])
    assert not path.exists()
    service.undo()
    assert headings(service) == ["Tea", "Wind"]
    assert [entry.heading for _, entry in service.search("WEST")] == ["Wind"]
    assert service.search("west four") == []


def test_links_and_large_files_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "ship"
    service = MemoryService(Layout(root))
    (tmp_path / "secret.md").write_text("mine")
    service.layout.project_memory.parent.mkdir(parents=True)
    service.layout.project_memory.symlink_to(tmp_path / "secret.md")
    with pytest.raises(PathError):
        service.write([change(service, "Tea", "x")])
    assert service.files() == []
    service.layout.project_memory.unlink()
    with pytest.raises(UserError, match="65,536 bytes"):
        service.write([change(service, str(at), "x" * 7_000) for at in range(10)])
    assert service.files() == []


def test_a_conversation_is_distilled_without_a_run(tmp_path: Path) -> None:
    service = MemoryService(Layout(tmp_path))
    asked: list[str] = []

    async def ask(system: str, request: str) -> str:
        asked.extend((system, request))
        return '```json\n[{"scope": "user", "heading": "Tone", "content": "Short."}]\n```'

    async def garble(system: str, request: str) -> str:
        return "Sorry."

    async def distil(ask: object, **more: object) -> list[EntryChange]:
        return await service.distil(
            ask,  # pyright: ignore[reportArgumentType]
            "[user]\nbe short",
            rule=MemoryRule(keep=("fact",), avoid=("pay",)),
            source="web:room:1",
            day=date(2026, 11, 16),
            user=service.layout.user_memory("web.ann"),
        )

    (found,) = asyncio.run(distil(ask))
    assert (found.entry.heading, found.entry.date, found.path.name) == ("Tone", "2026-11-16", "web.ann.md")
    assert "Kinds to look for: fact. Never remember anything about: pay." in asked[1]
    assert service.files() == []
    with pytest.raises(DistilError):
        asyncio.run(distil(garble))
