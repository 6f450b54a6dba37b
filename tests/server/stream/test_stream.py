"""One open response: what a reader gets, and when it is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from starlette.types import Message

from shipmate.orchestrator.feed import FeedEvent
from shipmate.server.stream.stream import BACKLOG, OpenResponse, Streams
from shipmate.values.chunk import Chunk


async def stay() -> Message:
    """Be a reader that never leaves."""
    await asyncio.Event().wait()
    raise AssertionError


class Reader:
    """What was sent to a reader, and how often it was asked what to send."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.asked = 0

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def choose(self, events: Sequence[FeedEvent]) -> tuple[list[Chunk], bool]:
        self.asked += 1
        return [{"type": "text-delta", "id": "t", "delta": "x"} for _ in events], True


@pytest.mark.parametrize(("behind", "is_served"), [(BACKLOG, True), (BACKLOG + 1, False)])
async def test_h4_a_reader_too_far_behind_is_cut_off(behind: int, is_served: bool) -> None:
    reader, streams = Reader(), Streams()
    queue: asyncio.Queue[FeedEvent] = asyncio.Queue()
    for _ in range(behind):
        queue.put_nowait(FeedEvent(run_id="r"))
    await OpenResponse(stay, reader.send, streams).follow(queue, reader.choose)
    assert (reader.asked == 1, bool(reader.sent)) == (is_served, is_served)
    assert streams.open == set()


async def test_a_stopping_server_says_that_the_answer_goes_on() -> None:
    reader, streams = Reader(), Streams()
    queue: asyncio.Queue[FeedEvent] = asyncio.Queue()
    wire = OpenResponse(stay, reader.send, streams)
    # The server stops as soon as the stream is open.
    asyncio.get_running_loop().call_soon(streams.leave)
    await wire.follow(queue, reader.choose)
    assert reader.asked == 0
    assert b"when it is back" in reader.sent[-1]["body"]
