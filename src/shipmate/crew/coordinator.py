"""Carry what members say to each other from one thread to another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from shipmate.crew.ask_member import ASK, CREW, AskMember, name_errand
from shipmate.crew.mention import Mention, find_mentions
from shipmate.errors import ShipmateError
from shipmate.orchestrator.feed import Receipt
from shipmate.store.port import InboxRow
from shipmate.thread.errand import read_errand
from shipmate.thread.service import Thread
from shipmate.values.event import Errand, HandoffEvent, IngressEvent, Outcome, TextEvent
from shipmate.values.message import UIMessage, metadata_of, text_of, timestamp, tool_name, tool_parts
from shipmate.values.saying import fill, load_sayings
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.crew import Crew
from shipmate.workspace.member import Member

WORDS = Path(__file__).with_name("words")
# How often members may pass the word to each other until a person speaks again.
MAX_HOPS = 8
# A run that ended like this has said what it has to say.
OVER = ("replied", "failed", "stopped")


class Coordinator:
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

    async def pass_on(self, thread: Thread, member: str, rows: Sequence[InboxRow], outcome: Outcome) -> str:
        """Bring an answer to whoever asked and does not wait, stop those whose asker was stopped, and pass
        the word to whom the answer names.
        """
        errand = _errand_of(thread, outcome.run_id)
        if errand is not None and outcome.status in OVER and not _is_awaited(rows):
            await self._receive(self._answer(thread, member, errand, outcome))
        message = thread.find(outcome.message_id) if outcome.message_id else None
        if outcome.status == "stopped" and message is not None:
            for asked in _unanswered(message, outcome.run_id):
                await self._stop(asked)
        if outcome.status != "replied" or message is None or len(self._crew.ids()) == 1:
            return ""
        giver = str(metadata_of(message).get("member") or member)
        return await self._hand_over(thread, giver, _mentions(message, rows), outcome)

    def addressed(self, event: IngressEvent) -> str | None:
        """Return the first member that a person's words begin a line with."""
        if not isinstance(event, TextEvent) or not event.is_persons or len(self._crew.ids()) == 1:
            return None
        found = (self._find(each.name) for each in find_mentions(event.text))
        return next((each.id for each in found if each is not None), None)

    async def _hand_over(
        self, thread: Thread, giver: str, mentions: Sequence[Mention], outcome: Outcome
    ) -> str:
        """Let each named member answer next, in order; say whom nobody knows, and when it is enough."""
        found = [(each, self._find(each.name)) for each in mentions]
        unknown = [each.name for each, member in found if member is None]
        called = [(each, member) for each, member in found if member is not None and member.id != giver]
        words: list[str] = []
        if unknown:
            words.append(self._say("unknown", names=", ".join(unknown), members=", ".join(self._crew.ids())))
        hops = _count_hops(thread)
        room = max(0, MAX_HOPS - hops)
        for number, (mention, member) in enumerate(called[:room]):
            await self._receive(
                HandoffEvent(
                    platform=CREW,
                    thread_id=str(thread.id),
                    user_id="",
                    message_id=f"{outcome.run_id}.next.{number}",
                    timestamp=timestamp(),
                    member=member.id,
                    giver=giver,
                    marker=mention.marker,
                )
            )
        if left := called[room:]:
            names = ", ".join(member.id for _, member in left)
            words.append(self._say("hops", count=hops, names=names, name=left[0][1].id))
        return "\n".join(words)

    def _find(self, name: str) -> Member | None:
        try:
            return self._crew.choose(name)
        except ShipmateError:
            return None

    def _say(self, key: str, **values: object) -> str:
        return fill(load_sayings(WORDS, self._crew.loaded.config.language)[key], values)

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


def _mentions(message: UIMessage, rows: Sequence[InboxRow]) -> list[Mention]:
    """Return whom an answer names, and whom the person named besides the one who answers."""
    asked = [row.event.text for row in rows if isinstance(row.event, TextEvent) and row.event.is_persons]
    return [*find_mentions(text_of(message)), *(each for text in asked for each in find_mentions(text)[1:])]


def _count_hops(thread: Thread) -> int:
    """Count how often members passed the word since a person spoke."""
    count = 0
    for message in reversed(thread.messages):
        if message["role"] == "user":
            if not any(part.get("type") == "data-handoff" for part in message["parts"]):
                break
            count += 1
    return count


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
