"""Show threads as a list and as pages of messages."""

from __future__ import annotations

from collections.abc import Sequence

from shipmate.priming.replay import hides_priming
from shipmate.server.error import missing
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
        "running": ship.feed.running(info.thread_id) is not None,
        "pendingApprovals": waiting.get(info.thread_id, 0),
    }


async def page_of(ship: Ship, thread_id: ThreadId, before: str | None, limit: int) -> JsonObject:
    """Give one page of messages, oldest first."""
    info = await ship.store.threads.find(str(thread_id))
    if not await ship.threads.exists(thread_id):
        if info is None or info.binned:
            raise missing("such thread")
        return _page(ship, thread_id, info, [], has_more=False, problems=[])
    thread = await ship.threads.read(thread_id)
    shown = without_running(ship, thread_id, thread.messages)
    end = _place_of(shown, before)
    start = max(0, end - limit)
    problems = [str(problem) for problem in thread.problems]
    return _page(ship, thread_id, info, shown[start:end], has_more=start > 0, problems=problems)


def without_running(ship: Ship, thread_id: ThreadId, messages: list[UIMessage]) -> list[UIMessage]:
    """Leave out what the stream of the run in flight will tell, so that a client hears it once."""
    run = ship.feed.running(str(thread_id))
    if run is None:
        return messages
    return [message for message in messages if message["id"] != run.message_id]


def _place_of(messages: Sequence[UIMessage], before: str | None) -> int:
    if before is None:
        return len(messages)
    for place in range(len(messages) - 1, -1, -1):
        if messages[place]["id"] == before:
            return place
    raise missing("such message")


def _page(
    ship: Ship,
    thread_id: ThreadId,
    info: ThreadInfo | None,
    messages: list[UIMessage],
    *,
    has_more: bool,
    problems: list[str],
) -> JsonObject:
    return {
        "messages": messages,
        "hasMore": has_more,
        "problems": problems,
        "running": ship.feed.running(str(thread_id)) is not None,
        "hidePriming": info is not None and hides_priming(info.settings),
    }
