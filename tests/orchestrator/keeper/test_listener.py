"""What a keeper bears from a process that attaches and misbehaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.models.scripted import ScriptedModel, hold, say
from shipmate.orchestrator.feed import FeedEvent
from shipmate.orchestrator.keeper.frame import VERSION
from shipmate.orchestrator.keeper.listener import BACKLOG
from tests.support.wait import LONG
from tests.support.workspace import ROOM, open_workspace, said, talk

HELLO = {"is": "hello", "number": 1, "version": VERSION}
ELSEWHERE = "cli:dm:bob"


def framed(said: dict[str, Any]) -> bytes:
    data = json.dumps(said).encode()
    return len(data).to_bytes(4, "big") + data


def is_delta(event: FeedEvent) -> bool:
    return event.chunk is not None and event.chunk["type"] == "text-delta"


@asynccontextmanager
async def knocking(
    folder: Path, *first: bytes
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_unix_connection(str(folder / ".ship" / "keeper.sock"))
    try:
        writer.write(b"".join(first))
        await asyncio.wait_for(writer.drain(), LONG)
        yield reader, writer
    finally:
        writer.close()


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"\0\0\0\x08not json",
        (200_000).to_bytes(4, "big") + b"[" * 200_000,
        framed({"is": "hello", "version": "one"}),
        framed({"is": "welcome"}),
        framed({"is": "watch", "number": 2, "threadId": ROOM}),
        framed(HELLO | {"version": VERSION + 1}) + framed({"is": "watch", "number": 2, "threadId": ROOM}),
    ],
    ids=["too long", "empty", "no JSON", "nested", "wrong type", "a keeper's", "no hello", "other version"],
)
async def test_what_is_no_frame_of_a_greeted_process_cuts_the_link_and_nothing_else(
    tmp_path: Path, data: bytes
) -> None:
    async with open_workspace(tmp_path, ScriptedModel({"": ["Aye."]})) as ship:
        async with knocking(tmp_path, data) as (reader, _):
            assert b'"is":"done"' not in await asyncio.wait_for(reader.read(), LONG)
        assert (await asyncio.wait_for(talk(ship, "hello"), LONG)).text == "Aye."


async def test_a_process_that_never_reads_is_cut_off_before_it_fills_the_memory(tmp_path: Path) -> None:
    forever, size = asyncio.Event(), 1 << 20
    model = ScriptedModel({"long": [[say("x" * size), hold(forever)]], "": ["Aye."]})
    async with open_workspace(tmp_path, model) as ship:
        async with ship.keeper.watch(ROOM) as queue:
            await ship.receive(said("long"))
            while not is_delta(await asyncio.wait_for(queue.get(), LONG)):
                pass
        # Each is answered with the running message, of a megabyte.
        watches = [framed({"is": "watch", "number": n, "threadId": ROOM}) for n in range(2, 202)]
        async with knocking(tmp_path, framed(HELLO), *watches) as (reader, _):
            assert (await asyncio.wait_for(talk(ship, "hello", thread_id=ELSEWHERE), LONG)).text == "Aye."
            held = 0
            while data := await asyncio.wait_for(reader.read(size), LONG):
                held += len(data)
        assert held < BACKLOG + 4 * size


async def test_a_number_that_is_watched_again_is_told_everything_once(tmp_path: Path) -> None:
    watch = framed({"is": "watch", "number": 2, "threadId": ROOM})
    async with (
        open_workspace(tmp_path, ScriptedModel({"": ["Only once."]})) as ship,
        knocking(tmp_path, framed(HELLO), watch, watch, watch) as (reader, _),
    ):
        await talk(ship, "hello")
        told = b""
        while b'"outcome"' not in told:
            told += await asyncio.wait_for(reader.read(1 << 16), LONG)
    assert told.count(b'"delta":"Only once."') == 1
