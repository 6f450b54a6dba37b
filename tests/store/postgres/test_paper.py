"""Small files and uploads are shared by all machines."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shipmate.delivery.reception.people import People
from shipmate.store.journal.occurrence import JournalOccurrences, Occurrence
from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.paper import PaperDisk, PostgresUploads
from shipmate.values.message import timestamp
from shipmate.workspace.disk.disk import create_file, names_in, opened, read_file, remove_file, replace_file
from shipmate.workspace.layout import Layout


@pytest.fixture
async def databases(postgres_tables: str) -> AsyncGenerator[list[PostgresDatabase]]:
    """Return the connections of two machines."""
    made = [PostgresDatabase(postgres_tables) for _ in range(2)]
    for each in made:
        await each.open()
    yield made
    for each in made:
        await each.close()


async def test_what_one_machine_writes_the_other_reads(
    databases: list[PostgresDatabase], tmp_path: Path
) -> None:
    layouts = [Layout(tmp_path / name) for name in ("one", "two")]
    here, there = (PaperDisk(layout, each) for layout, each in zip(layouts, databases, strict=True))
    replace_file(here, layouts[0].people, b"1")
    replace_file(here, layouts[0].people, b"22")
    assert read_file(there, layouts[1].people) == b"22"
    with pytest.raises(FileExistsError):
        create_file(there, layouts[1].people, b"3")
    assert names_in(there, layouts[1].ship) == ["people.json"]
    with opened(here, layouts[0].budget, os.O_CREAT) as mine, opened(there, layouts[1].budget, 0) as other:
        here.flock(mine, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            there.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here.flock(mine, fcntl.LOCK_UN)
        there.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert remove_file(there, layouts[1].people)
    assert not remove_file(here, layouts[0].people)
    assert not layouts[0].ship.exists()
    # Who was let in at one gateway is known at the other.
    code = People(layouts[0], {}, here).offer("telegram", "7", "Ann")
    assert list(People(layouts[1], {}, there).waiting()) == [code]


async def test_due_times_claimed_by_one_machine_are_known_to_the_next(
    databases: list[PostgresDatabase], tmp_path: Path
) -> None:
    layout = Layout(tmp_path)
    journals = [JournalOccurrences(layout, PaperDisk(layout, each)) for each in databases]
    claimed = Occurrence(task="t", due="2026-01-01T00:00:00Z", status="claimed", at=timestamp())
    await journals[0].put(claimed)
    await journals[0].stand([("u", "digest", datetime(2026, 1, 1, tzinfo=UTC))])
    await journals[1].load()
    assert journals[1].open() == [claimed]
    assert journals[1].record("u").digest == "digest"
    assert journals[0].look()["t"].is_open


async def test_a_file_kept_on_one_machine_is_read_on_another(
    databases: list[PostgresDatabase], tmp_path: Path
) -> None:
    uploads = [PostgresUploads(Layout(tmp_path / each.name), each) for each in databases]
    other = PostgresUploads(Layout(tmp_path / "other"), databases[1])
    kept = uploads[0].keep(b"%PDF-\0", "a.pdf")
    name = kept.url.rpartition("/")[2]
    found = other.find(name)
    assert found is not None
    assert (found[0], found[1].read_bytes()) == (kept, b"%PDF-\0")
    assert found[1].is_relative_to(tmp_path / "other")
    assert other.find("up_" + "0" * 23) is None
    assert other.find("../../etc/passwd") is None
