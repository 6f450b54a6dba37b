"""A turn claims what acts, once, and says of a call that had begun what can be said."""

from __future__ import annotations

from shipmate.errors import NotFoundError, UserError
from shipmate.orchestrator.control import Control
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.feed import LocalFeed
from shipmate.orchestrator.turn import INTERRUPTED, NOT_RUN, Turn
from shipmate.thread.memory_log import MemoryLog
from shipmate.thread.service import Thread, ThreadService
from shipmate.values import chunk as chunks
from shipmate.values.message import UIMessage, tool_parts
from shipmate.values.thread_id import ThreadId

ROOM = ThreadId.parse("cli:dm:ann")


def nobody() -> Equipment:
    raise NotFoundError("there is no such member")


async def begin(thread: Thread, message: UIMessage | None = None) -> Turn:
    turn = Turn(thread, LocalFeed(), "run_1", user_id="ann", equip=nobody, message=message)
    if message is None:
        turn.start()
        told = [chunks.tool_input_available(each, "act", {}) for each in ("one", "two")]
        await turn.commit(*told)
    return turn


async def test_a_call_is_claimed_once_whoever_takes_the_turn_up() -> None:
    threads = ThreadService(MemoryLog())
    async with threads.open(ROOM) as thread:
        turn = await begin(thread)
        assert [await turn.claim("one") for _ in range(2)] == [True, False]
        later = await begin(thread, (await threads.read(ROOM)).find(turn.message["id"]))
        assert [await later.claim(each) for each in ("one", "two")] == [False, True]
        await later.release("two")
        assert not later.has_begun("two")


async def test_of_calls_that_a_failure_leaves_open_only_those_not_begun_did_not_run() -> None:
    async with ThreadService(MemoryLog()).open(ROOM) as thread:
        turn = await begin(thread)
        await turn.claim("one")
        await turn.fail(UserError("broken"))
        assert [part["errorText"] for part in tool_parts(turn.message)] == [INTERRUPTED, NOT_RUN]


async def test_a_turn_goes_on_with_a_call_that_had_begun_though_another_waits_for_a_person() -> None:
    async with ThreadService(MemoryLog()).open(ROOM) as thread:
        turn = await begin(thread)
        await turn.commit(chunks.tool_approval_request("two", "apr_1"))
        assert not turn.is_decided
        await turn.claim("one")
        assert turn.is_decided


async def test_a_run_is_quiet_when_the_last_call_that_acts_has_ended() -> None:
    control = Control()
    async with control.acting():
        async with control.acting():
            assert not control.is_quiet.is_set()
        assert not control.is_quiet.is_set()
    assert control.is_quiet.is_set()
