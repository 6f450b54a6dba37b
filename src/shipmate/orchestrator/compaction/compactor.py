"""Make room in a conversation: clear old outputs, sum up, cut, and at last say what is too large."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from shipmate.context.request import Context
from shipmate.errors import ContextTooLongError, ShipmateError, StorageError
from shipmate.orchestrator.compaction.clearing import Clearing, choose_calls
from shipmate.orchestrator.compaction.cutting import cut_messages
from shipmate.orchestrator.compaction.digest import DigestError, ask_digest, complete_digest, record_aside
from shipmate.orchestrator.compaction.remembering import Remembering
from shipmate.orchestrator.compaction.token_count import TokenCount
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.lane.note import NoteEvent, next_course
from shipmate.orchestrator.run_wording import say
from shipmate.orchestrator.turn import Turn
from shipmate.store.port import Ledger
from shipmate.thread.course import Course, course_parts
from shipmate.thread.pin import is_pin_row
from shipmate.thread.service import Thread
from shipmate.values import chunk as chunks
from shipmate.values.event import TYPED_MODEL, CourseEvent, Outcome
from shipmate.values.message import UIMessage, estimate_tokens, message_tokens, text_of, timestamp
from shipmate.values.saying import tell_error
from shipmate.workspace.layout import Layout

# What is left of the window for the answer, at most.
ANSWER_TOKENS = 4_096
# A clearing goes down to this share of the threshold, and is worth breaking a provider's cache from this on.
CLEARED_SHARE = 0.5
WORTH_SHARE = 0.1
# What a summary may quote, and how much of the window a summariser reads.
QUOTED_SHARE = 0.08
READ_SHARE = 0.7
# After a failure a summary is tried again when this share of the window was added.
PATIENCE_SHARE = 0.1
# A provider that found a request too long is sent at most this share of it.
SQUEEZED_SHARE = 0.6


class Compactor:
    """Keeps what models are shown of threads within what they read."""

    def __init__(
        self,
        layout: Layout,
        ledger: Ledger,
        is_tainted: Callable[[Thread], bool],
        remembering: Remembering | None = None,
    ) -> None:
        self._remembering = remembering
        self._clearing = Clearing(layout)
        self._count = TokenCount()
        self._ledger = ledger
        self._is_tainted = is_tainted
        # How large a thread was when it could not be summed up.
        self._failed: WeakKeyDictionary[Thread, int] = WeakKeyDictionary()

    def show(self, thread: Thread, messages: list[UIMessage]) -> list[UIMessage]:
        """Return messages of a thread without the outputs that left the context."""
        return self._clearing.show(thread, messages)

    def history_tokens(self, thread: Thread) -> int:
        """Estimate what a thread's history takes as it is shown."""
        return self._count.tokens(thread, self.show(thread, thread.history()))

    def used(self, thread: Thread, context: Context) -> int:
        """Return how many of the model's own tokens a request would take."""
        return context.tokens + round(self.history_tokens(thread) * context.ratio)

    async def make_room(self, turn: Turn, context: Context, *, is_refused: bool = False) -> bool:
        """Sum up what was said before a run where clearing is not enough; tell whether a course was opened.

        On trouble nothing changes, the person is told, and the run goes on as far as it fits.
        """
        thread, limit = turn.thread, _limit(turn)
        used = self.used(thread, context)
        history = thread.history()
        if is_refused:
            limit = limit and min(limit, used)
        elif used <= limit or self._enough(turn, context, used, limit):
            return False
        is_written = thread.find(turn.message["id"]) is not None
        if not limit or is_written or _is_elsewhere(turn):
            return False
        window = turn.window or 0
        if not is_refused and used < self._failed.get(thread, 0) + window * PATIENCE_SHARE:
            return False
        kept = find_unanswered(history)
        if all(each["role"] == "system" or each["id"] in kept for each in history):
            return False
        try:
            if self._remembering is not None:
                # A summary keeps what is still needed here; what lasts longer is offered to memory first.
                await self._remembering.look(turn)
            turn.notify("compacting", transient=True)
            summary = await self.sum_up(
                thread, turn.equipment, turn.model, kept=kept, window=window, run_id=turn.run_id
            )
            course = next_course(thread, tainted=self._is_tainted(thread), summary=summary, kept=kept)
            row = _make_row(turn, course)
            weight = message_tokens(row) + _weigh(thread, kept)
            if context.tokens + round(weight * context.ratio) > limit:
                raise DigestError(say("digest-long"))
        except DigestError as error:
            self._failed[thread] = used
            words = say("not-compacted", why=tell_error(error, turn.language)).tell(turn.language)
            turn.tell(chunks.data("notice", {"kind": "not-compacted", "text": words}))
            return False
        await thread.append(row)
        await self._ledger.drop_sidecars(turn.thread_id)
        words = say("compacted", course=str(course.course)).tell(turn.language)
        turn.tell(
            chunks.message_metadata({"course": course.course}),
            chunks.data("notice", {"kind": "compacted", "text": words}, transient=True),
        )
        return True

    async def sum_up(
        self,
        thread: Thread,
        equipment: Equipment,
        model: str | None,
        *,
        window: int,
        kept: tuple[str, ...] = (),
        focus: str = "",
        run_id: str = "",
    ) -> str:
        """Return a checked summary of a thread's current course, smaller than that; raise a `DigestError`."""
        closed = [each for each in self.show(thread, thread.history()) if each["id"] not in kept]
        language = equipment.member.config.language
        asked = equipment.models.named(model)
        text, finish = await ask_digest(asked, closed, focus=focus, tokens=int(window * READ_SHARE))
        await record_aside(self._ledger, thread, equipment, finish, asked.name, run_id)
        summary = complete_digest(text, closed, language, max(200, int(window * QUOTED_SHARE)))
        if estimate_tokens(summary) >= sum(map(message_tokens, closed)):
            raise DigestError(say("digest-long"))
        return summary

    async def answer(
        self,
        thread: Thread,
        equip: Callable[[], Equipment],
        model: str | None,
        event: NoteEvent,
        language: str,
    ) -> str | Outcome:
        """Return the summary that an event asks for, empty when it asks for none, or why there is none."""
        is_empty = all(each["role"] == "system" for each in thread.current())
        if not isinstance(event, CourseEvent) or not event.summarise or is_empty:
            return ""
        try:
            equipment = equip()
            if equipment.member.is_program:
                raise DigestError(say("digest-program"))
            window = (await equipment.models.window(model)).tokens
            focus = event.focus.strip()
            return await self.sum_up(thread, equipment, model, window=window, focus=focus)
        except StorageError:
            raise
        except ShipmateError as error:
            why = tell_error(error, language)
            words = say("not-compacted", why=why).tell(language)
            return Outcome(run_id="", status="failed", error=words.rstrip(".。"))

    async def clear(self, turn: Turn, context: Context) -> None:
        """Take old outputs out of a context that has grown to its threshold; the run's message says so."""
        limit, used = _limit(turn), self.used(turn.thread, context)
        if not limit or used <= limit or _is_elsewhere(turn):
            return
        calls, freed = self._choose(turn, context, used, limit)
        if freed * context.ratio >= limit * WORTH_SHARE:
            await turn.commit(chunks.data("cleared", {"calls": calls, "tokens": freed}))

    def fit(self, turn: Turn, context: Context, messages: list[UIMessage]) -> list[UIMessage]:
        """Return messages that the model can read, cut where they must be; raise when that is not enough."""
        window = turn.window
        # Where nobody told how much the model reads, it says itself what is too much.
        if window is None or turn.is_window_guessed or _is_elsewhere(turn):
            return messages
        if self.used(turn.thread, context) <= _room(window):
            return messages
        tokens = int((_room(window) - context.tokens) / context.ratio)
        cut = cut_messages(messages, _find_words(turn), tokens)
        if context.tokens + sum(map(message_tokens, cut)) * context.ratio > window:
            raise ContextTooLongError(say("too-large-prompt", **_tell_window(turn)))
        return cut

    def blame(self, turn: Turn, messages: list[UIMessage]) -> ContextTooLongError | None:
        """Say which file or message is too large for the model, and what to do; None when neither is."""
        told = _tell_window(turn)
        answered = _find_words(turn)
        words = [each for each in messages if each["id"] in answered]
        files = [part for each in words for part in each["parts"] if part.get("type") == "file"]
        said = sum(map(message_tokens, words))
        if files and len(str(files[0].get("url"))) > 4 * said:
            largest = max(files, key=lambda part: len(str(part.get("url"))))
            name = str(largest.get("filename") or largest.get("mediaType"))
            return ContextTooLongError(say("too-large-file", name=name, **told))
        if said * 4 > (turn.window or 0):
            count = sum(len(text_of(each)) for each in words)
            return ContextTooLongError(say("too-large-message", count=f"{count:,}", **told))
        return None

    def _enough(self, turn: Turn, context: Context, used: int, limit: int) -> bool:
        """Return whether clearing brings a request below the threshold."""
        _, freed = self._choose(turn, context, used, limit)
        return used - freed * context.ratio <= limit

    def _choose(self, turn: Turn, context: Context, used: int, limit: int) -> tuple[list[str], int]:
        wanted = int((used - limit * CLEARED_SHARE) / context.ratio)
        return choose_calls(turn.thread.history(), turn.thread.cleared, wanted)


def squeeze(window: int | None, used: int) -> int:
    """Return how much a model is taken to read that found a request too long."""
    return min(window or used, int(used * SQUEEZED_SHARE))


def find_unanswered(history: list[UIMessage]) -> tuple[str, ...]:
    """Return the messages that the next run answers."""
    found: list[str] = []
    for message in reversed(history):
        if message["role"] == "user":
            found.append(message["id"])
        elif not is_pin_row(message):
            break
    return tuple(reversed(found))


def _is_elsewhere(turn: Turn) -> bool:
    """Return whether no model of ours reads the thread: a command was typed, or a program answers."""
    return turn.model == TYPED_MODEL or turn.equipment.member.is_program


def _find_words(turn: Turn) -> tuple[str, ...]:
    own = turn.message["id"]
    return find_unanswered([each for each in turn.thread.history() if each["id"] != own])


def _tell_window(turn: Turn) -> dict[str, str]:
    return {"model": turn.equipment.models.named(turn.model).name, "window": f"{turn.window or 0:,}"}


def _limit(turn: Turn) -> int:
    return int((turn.window or 0) * turn.equipment.member.config.context.compact_at)


def _room(window: int) -> int:
    return window - min(ANSWER_TOKENS, window // 8)


def _weigh(thread: Thread, kept: tuple[str, ...]) -> int:
    return sum(message_tokens(each) for each in map(thread.find, kept) if each is not None)


def _make_row(turn: Turn, course: Course) -> UIMessage:
    metadata = {"timestamp": timestamp(), "threadId": turn.thread_id, "course": course.course}
    parts = course_parts(course, turn.language)
    return {"id": f"course-{turn.run_id}", "role": "system", "metadata": metadata, "parts": parts}
