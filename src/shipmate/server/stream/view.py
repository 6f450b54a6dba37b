"""Show threads as a list and as pages of messages."""

from __future__ import annotations

from collections.abc import Sequence

from shipmate.orchestrator.lane.note import NoteEvent
from shipmate.orchestrator.turn import message_id_of
from shipmate.priming.replay import hides_priming
from shipmate.server.guard.error import missing
from shipmate.server.port import Ship
from shipmate.store.port import ThreadInfo
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.thread_id import ThreadId


async def list_threads(ship: Ship, found: Sequence[ThreadInfo]) -> list[JsonObject]:
    """Describe threads for a list."""
    waiting = await ship.store.consents.waiting()
    return [_describe(ship, info, waiting) for info in found]


async def show_thread(ship: Ship, info: ThreadInfo) -> JsonObject:
    """Describe one thread."""
    return _describe(ship, info, await ship.store.consents.waiting())


def _describe(ship: Ship, info: ThreadInfo, waiting: dict[str, int]) -> JsonObject:
    return {
        "id": info.thread_id,
        "title": info.title,
        "platform": ThreadId.parse(info.thread_id).platform,
        "member": info.member,
        "messageCount": info.message_count,
        "tokenEstimate": info.token_estimate,
        "createdAt": info.created_at,
        "lastAt": info.last_at,
        "archived": info.archived,
        "binned": info.binned,
        "unread": info.message_count > 0 and (info.read_at or "") < info.last_at,
        "running": ship.keeper.running(info.thread_id) is not None,
        "pendingApprovals": waiting.get(info.thread_id, 0),
    }


async def page_of(ship: Ship, thread_id: ThreadId, before: str | None, limit: int) -> JsonObject:
    """Return one page of messages, oldest first."""
    info = await ship.store.threads.find(str(thread_id))
    if not await ship.threads.exists(thread_id):
        if info is None or info.binned:
            raise missing("such thread")
        return _page(info, [], running=await run_of(ship, thread_id), has_more=False, problems=[])
    # The run is asked for first: one that ends meanwhile is read whole by its client's next look.
    running = await run_of(ship, thread_id)
    thread = await ship.threads.read(thread_id)
    shown = without(thread.messages, running)
    end = _place_of(shown, before)
    start = max(0, end - limit)
    problems = [str(problem) for problem in thread.problems]
    return _page(info, shown[start:end], running=running, has_more=start > 0, problems=problems)


async def run_of(ship: Ship, thread_id: ThreadId) -> str | None:
    """Return the run in flight of a thread, or the one about to begin; empty when that has no id yet."""
    if (run := ship.keeper.running(str(thread_id))) is not None:
        return run.run_id
    rows = await ship.keeper.queue(str(thread_id))
    # What opens a course or pins something is answered by no run.
    return next((row.run_id or "" for row in rows if not isinstance(row.event, NoteEvent)), None)


def without(messages: list[UIMessage], run_id: str | None) -> list[UIMessage]:
    """Leave out the message that the stream of a run will tell whole, so that a client hears it once."""
    if not run_id:
        return messages
    return [message for message in messages if message["id"] != message_id_of(run_id)]


def _place_of(messages: Sequence[UIMessage], before: str | None) -> int:
    if before is None:
        return len(messages)
    for place in range(len(messages) - 1, -1, -1):
        if messages[place]["id"] == before:
            return place
    raise missing("such message")


def _page(
    info: ThreadInfo | None,
    messages: list[UIMessage],
    *,
    running: str | None,
    has_more: bool,
    problems: list[str],
) -> JsonObject:
    return {
        "messages": messages,
        "hasMore": has_more,
        "problems": problems,
        "running": running is not None,
        "hidePriming": info is not None and hides_priming(info.settings),
    }
