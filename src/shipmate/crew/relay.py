"""Carry what members say to each other from one thread to another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from shipmate.crew.ask_member import ASK, CREW, AskMember, name_errand
from shipmate.orchestrator.feed import Receipt
from shipmate.store.port import InboxRow
from shipmate.thread.errand import read_errand
from shipmate.thread.service import Thread
from shipmate.values.event import Errand, IngressEvent, Outcome, TextEvent
from shipmate.values.message import UIMessage, metadata_of, timestamp, tool_name, tool_parts
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.crew import Crew

# A run that ended like this has said what it has to say.
OVER = ("replied", "failed", "stopped")


class Relay:
    """What hears of every outcome before it is stored: one that is told twice is passed on once."""

    def __init__(
        self,
        crew: Crew,
        receive: Callable[[IngressEvent], Awaitable[Receipt]],
        stop: Callable[[str], Awaitable[bool]],
        is_tainted: Callable[[Thread], bool],
    ) -> None:
        self._crew = crew
        self._receive = receive
        self._stop = stop
        self._is_tainted = is_tainted

    async def pass_on(self, thread: Thread, member: str, rows: Sequence[InboxRow], outcome: Outcome) -> None:
        """Bring an answer to whoever asked and does not wait, and stop those whose asker was stopped."""
        errand = _errand_of(thread, outcome.run_id)
        if errand is not None and outcome.status in OVER and not _is_awaited(rows):
            await self._receive(self._answer(thread, member, errand, outcome))
        message = thread.find(outcome.message_id) if outcome.message_id else None
        if outcome.status == "stopped" and message is not None:
            for asked in _unanswered(message, outcome.run_id):
                await self._stop(asked)

    def _answer(self, thread: Thread, member: str, errand: Errand, outcome: Outcome) -> TextEvent:
        return TextEvent(
            platform=CREW,
            thread_id=errand.thread_id,
            user_id="",
            # The same however often the outcome is told.
            message_id=f"answer-{outcome.run_id}",
            timestamp=timestamp(),
            speaker=self._crew.find(member).name,
            text=outcome.text or outcome.error or outcome.status,
            errand=Errand(
                chain=(member,),
                thread_id=str(thread.id),
                run_id=outcome.run_id,
                payer=errand.payer,
                is_tainted=self._is_tainted(thread),
                is_answer=True,
            ),
        )


def _errand_of(thread: Thread, run_id: str) -> Errand | None:
    """Return what a run was asked by another member."""
    for message in reversed(thread.messages) if thread.id.platform == CREW else ():
        if message["role"] == "user" and metadata_of(message).get("runId") == run_id:
            errand = read_errand(message)
            if errand is not None and not errand.is_answer:
                return errand
    return None


def _is_awaited(rows: Sequence[InboxRow]) -> bool:
    """Return whether the outcome reaches the asker as the result of its call."""
    said = (row.event for row in rows if isinstance(row.event, TextEvent))
    return any(event.errand is not None and event.errand.is_awaited for event in said)


def _unanswered(message: UIMessage, run_id: str) -> Iterator[str]:
    """Go over the threads of colleagues whose answers were waited for."""
    for part in tool_parts(message):
        if tool_name(part) == AskMember.name and "output" not in part:
            given = part.get("input") or {}
            named = given.get("thread") if isinstance(given, dict) else ""
            yield str(named or ThreadId(CREW, ASK, name_errand(run_id, part["toolCallId"])))
