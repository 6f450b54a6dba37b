"""Usage and signatures are files; the index over usage follows them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from shipmate.errors import StorageError
from shipmate.store.file_store import open_store
from shipmate.store.journal.usage import UsageFiles
from shipmate.store.port import StepUsage
from shipmate.store.sqlite.database import Database, statements
from shipmate.values.sidecar import Sidecar
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK, locked
from shipmate.workspace.layout import Layout
from tests.support.sync import ImpatientDisk

ROOM = "web:room:1"


def usage(number: int, month: str = "2026-01") -> StepUsage:
    return StepUsage(
        at=f"{month}-01T00:00:{number:02d}.000Z",
        thread_id=f"web:room:{number % 2}",
        member="captain",
        run_id="r",
        step=number,
        model="m",
        input_tokens=5,
        output_tokens=6,
        cache_read_tokens=1,
        cache_write_tokens=2,
        cost=0.25,
        estimated_tokens=4,
        milliseconds=9,
    )


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


async def test_d4_usage_outlives_the_index_and_is_seen_by_all_processes(layout: Layout) -> None:
    one, other = open_store(layout), open_store(layout)
    steps = [usage(number, month) for month in ("2025-12", "2026-01") for number in range(3)]
    for number, step in enumerate(steps):
        await (one if number % 2 else other).ledger.add_usage(step)
        assert await one.ledger.usage("") == await other.ledger.usage("") == steps[: number + 1]
    assert await one.ledger.usage("2026") == steps[3:]
    assert await one.ledger.usage("2026", "web:room:1") == [steps[4]]
    layout.state.unlink()
    assert await one.ledger.usage("") == await other.ledger.usage("") == steps
    assert sorted(path.name for path in layout.usage.iterdir()) == ["2025-12.jsonl", "2026-01.jsonl"]
    await one.close()
    await other.close()


async def test_w5_the_usage_of_a_run_is_found_without_looking_at_all_others(layout: Layout) -> None:
    store = open_store(layout)
    lines = b"".join(msgspec.json.encode(usage(number % 60)) + b"\n" for number in range(3000))
    layout.usage.mkdir(parents=True)
    (layout.usage / "2026-01.jsonl").write_bytes(lines)
    own = [
        msgspec.structs.replace(usage(number), thread_id="api:call:c_1", run_id=run)
        for number in range(3)
        for run in ("run_1", "run_2")
    ]
    for step in own:
        await store.ledger.add_usage(step)
    assert await store.ledger.usage("", "api:call:c_1", "run_2") == own[1::2]
    assert await store.ledger.usage("2026-01-01T00:00:01", "api:call:c_1", "run_2") == own[3::2]
    await store.close()
    with closing(sqlite3.connect(layout.state)) as database:
        values = {"since": "", "thread_id": "api:call:c_1", "run_id": "run_2"}
        plan = database.execute("EXPLAIN QUERY PLAN " + statements("usage")["list_thread"], values).fetchall()
    assert "USING INDEX usage_thread" in str(plan)
    assert "SCAN" not in str(plan)


async def test_a_month_that_was_cut_or_replaced_is_read_anew(layout: Layout) -> None:
    store = open_store(layout)
    for number in range(3):
        await store.ledger.add_usage(usage(number))
    await store.ledger.usage("")
    path = layout.usage / "2026-01.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"rubbish\n" + b'{"torn')
    assert [step.step for step in await store.ledger.usage("")] == [0]
    await store.ledger.add_usage(usage(7))
    assert [step.step for step in await store.ledger.usage("")] == [0, 7]
    path.unlink()
    assert await store.ledger.usage("") == []
    await store.close()


async def test_what_belongs_to_messages_lies_beside_the_thread_until_the_course_ends(layout: Layout) -> None:
    store = open_store(layout)
    await store.ledger.keep_context(ROOM, "u", "It rains.")
    await store.ledger.keep_signatures(ROOM, "m", 2, [{"signature": "lost"}])
    await store.ledger.keep_signatures(ROOM, "m", 1, [{"signature": "s"}])
    # The step was taken again after a crash.
    await store.ledger.keep_signatures(ROOM, "m", 2, [{"signature": "t"}])
    layout.state.unlink()
    later = open_store(layout)
    expected = {
        "u": Sidecar(context="It rains."),
        "m": Sidecar(signatures=({"signature": "s"}, {"signature": "t"})),
    }
    assert await later.ledger.sidecars(ROOM) == expected
    await later.ledger.keep_context(ROOM, "v", "It pours.")
    assert (await store.ledger.sidecars(ROOM))["v"].context == "It pours."
    await later.ledger.drop_sidecars(ROOM)
    assert await store.ledger.sidecars(ROOM) == {}
    assert not layout.sidecar(ThreadId.parse(ROOM)).exists()
    assert await store.threads.list() == []
    await store.close()
    await later.close()


@pytest.mark.parametrize("damage", [b"rubbish\n", b'{"id": 5}\n', b"\xff\xfe\n", b'{"id": "x", "con'])
async def test_a_damaged_line_beside_a_thread_costs_that_line_alone(layout: Layout, damage: bytes) -> None:
    store = open_store(layout)
    await store.ledger.keep_context(ROOM, "u", "It rains.")
    path = layout.sidecar(ThreadId.parse(ROOM))
    path.write_bytes(path.read_bytes() + damage)
    await store.ledger.keep_context(ROOM, "v", "It pours.")
    found = await store.ledger.sidecars(ROOM)
    assert {key: sidecar.context for key, sidecar in found.items()} == {"u": "It rains.", "v": "It pours."}
    await store.close()


async def test_usage_is_one_readable_line_a_step(layout: Layout) -> None:
    store = open_store(layout)
    await store.ledger.add_usage(usage(1))
    await store.close()
    line = (layout.usage / "2026-01.jsonl").read_bytes()
    assert msgspec.json.decode(line)["inputTokens"] == 5


def test_two_processes_never_write_into_one_line_of_usage(layout: Layout) -> None:
    UsageFiles(layout, DISK).append(usage(1))
    path = layout.usage / "2026-01.jsonl"
    whole = path.read_bytes()
    with locked(DISK, path), pytest.raises(StorageError):
        UsageFiles(layout, ImpatientDisk()).append(usage(2))
    assert path.read_bytes() == whole


async def test_a_month_put_in_place_of_another_is_read_from_its_start(layout: Layout) -> None:
    store = open_store(layout)
    await store.ledger.add_usage(usage(1))
    await store.ledger.usage("")
    other = layout.usage / "other"
    other.write_bytes(b"".join(msgspec.json.encode(usage(number)) + b"\n" for number in (2, 3, 4)))
    other.rename(layout.usage / "2026-01.jsonl")
    assert [step.step for step in await store.ledger.usage("")] == [2, 3, 4]
    await store.close()


async def test_what_is_held_of_many_threads_is_bounded(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shipmate.store.journal.sidecar.HELD", 10_000)
    store = open_store(layout)
    rooms = [f"cli:dm:room{number}" for number in range(20)]
    for room in rooms:
        await store.ledger.keep_context(room, "u", "x" * 3_000)
    first = [await store.ledger.sidecars(room) for room in rooms]
    again = [await store.ledger.sidecars(room) for room in rooms]
    assert again == first
    # The last few are held, the first were let go.
    assert (await store.ledger.sidecars(rooms[-1])) is again[-1]
    assert (await store.ledger.sidecars(rooms[0])) is not again[0]
    await store.close()


def steps_of(run_id: str, *numbers: int) -> list[StepUsage]:
    return [msgspec.structs.replace(usage(1), run_id=run_id, step=number) for number in numbers]


async def test_what_a_run_used_is_told_without_the_index(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(layout)
    steps = steps_of("own", 1, 2)
    for step in steps:
        await store.ledger.add_usage(step)
    with monkeypatch.context() as patch:
        patch.setattr(Database, "do", lambda *_: pytest.fail("the index was asked"))
        assert await store.ledger.usage("", ROOM, "own") == steps
        assert await store.ledger.usage("2027", ROOM, "own") == []
    await store.close()


async def test_what_another_process_noted_of_a_run_is_told_too(layout: Layout) -> None:
    one, other = open_store(layout), open_store(layout)
    steps = steps_of("both", 1, 2, 3, 4)
    await one.ledger.add_usage(steps[0])
    await other.ledger.add_usage(steps[1])
    assert await one.ledger.usage("", ROOM, "both") == steps[:2]
    await one.ledger.add_usage(steps[2])
    assert await one.ledger.usage("", ROOM, "both") == steps[:3]
    await other.ledger.add_usage(steps[3])
    for store in (one, other):
        assert await store.ledger.usage("", ROOM, "both") == steps
        await store.close()
