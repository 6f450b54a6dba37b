"""Carry what members say to each other from one thread to another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from shipmate.crew.ask_member import ASK, CREW, AskMember, name_errand
from shipmate.crew.mention import Mention, find_mentions
from shipmate.errors import ShipmateError
from shipmate.orchestrator.feed import Receipt
from shipmate.orchestrator.turn import UNKNOWN
from shipmate.store.port import InboxRow
from shipmate.thread.errand import begins, is_persons, read_errand
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
# So many names that nobody has are said of one message.
NAMED = 5
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
        return await self._hand_over(thread, member, message, outcome)

    def addressed(self, event: IngressEvent) -> str | None:
        """Return the first member that a person's words begin a line with."""
        if not isinstance(event, TextEvent) or not event.is_persons or len(self._crew.ids()) == 1:
            return None
        found = (self._find(each.name) for each in find_mentions(event.text))
        return next((each.id for each in found if each is not None), None)

    async def _hand_over(self, thread: Thread, owner: str, message: UIMessage, outcome: Outcome) -> str:
        """Let each named member answer next, in order; say whom nobody knows, and when it is enough."""
        called, unknown = self._read_names(thread, message, owner)
        words: list[str] = []
        if unknown:
            names = ", ".join(unknown[:NAMED]) + (" …" if len(unknown) > NAMED else "")
            words.append(self._say("unknown", names=names, members=", ".join(self._crew.ids())))
        room = max(0, MAX_HOPS - self._count_called(thread, message, owner))
        for number, (mention, member) in enumerate(called[:room]):
            await self._receive(
                HandoffEvent(
                    platform=CREW,
                    thread_id=str(thread.id),
                    user_id="",
                    message_id=f"{outcome.run_id}.next.{number}",
                    timestamp=timestamp(),
                    member=member.id,
                    giver=_speaker_of(message, owner),
                    marker=mention.marker,
                )
            )
        if left := called[room:]:
            names = ", ".join(member.id for _, member in left)
            words.append(self._say("hops", count=MAX_HOPS, names=names, name=left[0][1].id))
        return "\n".join(words)

    def _read_names(
        self, thread: Thread, message: UIMessage, owner: str
    ) -> tuple[list[tuple[Mention, Member]], list[str]]:
        """Return the members that an answer passes the word to, each once, and names that nobody has."""
        called: dict[str, tuple[Mention, Member]] = {}
        unknown: list[str] = []
        for mention in _mentions(thread, message):
            member = self._find(mention.name)
            if member is None:
                unknown.append(mention.name)
            elif member.id != _speaker_of(message, owner):
                called.setdefault(member.id, (mention, member))
        return list(called.values()), unknown

    def _count_called(self, thread: Thread, message: UIMessage, owner: str) -> int:
        """Count whom earlier answers passed the word to since a person spoke, also those yet to answer."""
        said = takewhile(lambda each: not begins(each), reversed(thread.messages))
        earlier = [each for each in said if each["role"] == "assistant" and each["id"] != message["id"]]
        replied = (each for each in earlier if metadata_of(each).get("outcome") == "replied")
        return sum(len(self._read_names(thread, each, owner)[0]) for each in replied)

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
            # Whoever asked goes on, also where the thread belongs to another.
            member=errand.chain[-1],
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


def _mentions(thread: Thread, message: UIMessage) -> list[Mention]:
    """Return whom an answer names, and whom the person it answers named besides the one who answers."""
    before = reversed(thread.messages[: thread.messages.index(message)])
    asked = [each for each in takewhile(lambda each: each["role"] == "user", before) if is_persons(each)]
    besides = (each for said in reversed(asked) for each in find_mentions(text_of(said))[1:])
    return [*find_mentions(text_of(message)), *besides]


def _speaker_of(message: UIMessage, owner: str) -> str:
    return str(metadata_of(message).get("member") or owner)


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
    """Go over the threads of colleagues whose answers were waited for; a call that was refused has none."""
    for part in tool_parts(message):
        if tool_name(part) == AskMember.name and part.get("errorText") == UNKNOWN:
            given = part.get("input") or {}
            named = str(given.get("thread") or "") if isinstance(given, dict) else ""
            own = str(ThreadId(CREW, ASK, name_errand(run_id, part["toolCallId"])))
            yield named if named.startswith(f"{CREW}:") else own
