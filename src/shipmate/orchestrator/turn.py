"""Hold the assistant message of a run while it is written: every change goes to the watchers and to disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Literal

from shipmate.errors import ModelError, ShipmateError
from shipmate.models.history import RESUMED
from shipmate.orchestrator.control import Control
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.feed import Feed
from shipmate.orchestrator.reduce import Reducer
from shipmate.orchestrator.run_wording import CUT_ENDINGS, say
from shipmate.thread.service import Thread
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.event import Outcome, OutcomeStatus, RunOptions
from shipmate.values.message import (
    JsonObject,
    UIMessage,
    is_settled,
    metadata_of,
    text_of,
    timestamp,
    tool_name,
    tool_parts,
)
from shipmate.values.saying import tell_error
from shipmate.workspace.layout import CAPTAIN

Ending = Literal["replied", "stopped", "steered", "failed"]
NOT_RUN = "the run failed before this call; it did not run"
CUT_SHORT = "the answer broke off while this call was written; it did not run"
# How often one message may be asked to go on.
MAX_RESUMES = 2
UNKNOWN = "stopped; what it had done by then is not known"
INTERRUPTED = "interrupted, outcome unknown: it had begun when the process ended. Check before repeating it."


async def _do_nothing(*_: object) -> None:
    """Count no attempt, record nothing of an approved call that does not run."""


class Turn:
    """One assistant message of one run while it is written."""

    def __init__(
        self,
        thread: Thread,
        feed: Feed,
        run_id: str,
        *,
        user_id: str,
        initiators: tuple[str, ...] = (),
        equip: Callable[[], Equipment],
        language: str = "en",
        # Who answers, when it is not the member the thread belongs to.
        member: str | None = None,
        owner: str = CAPTAIN,
        message: UIMessage | None = None,
        notice: str | None = None,
        extra_context: str | None = None,
        # Nothing acts before a person has agreed to a plan.
        is_planning: bool = False,
        model: str | None = None,
        options: RunOptions | None = None,
        control: Control | None = None,
        count_attempt: Callable[[int], Awaitable[None]] = _do_nothing,
        # Records that an approved call will not run, and why.
        abandon: Callable[[str, str], Awaitable[None]] = _do_nothing,
    ) -> None:
        self.thread = thread
        self.thread_id = str(thread.id)
        self.run_id = run_id
        self.user_id = user_id
        self.initiators = initiators
        self.equip = equip
        self._language = language
        self.member = member
        self.owner = owner
        self.extra_context = extra_context
        self.is_planning = is_planning
        self.control = control or Control()
        self.model = model
        self.route = ""
        self.options = options or RunOptions()
        # Tools of the program that asks: it makes their calls, nothing runs here.
        self.client_tools = frozenset(tool.name for tool in self.options.tools)
        # The model that answered last, when it is not the member's own.
        self.answered_by = ""
        # How many tokens the model reads at once: tools are offered as far as they have room.
        self.window: int | None = None
        self.is_window_guessed = False
        # The guides told in this run, also those that are not in the message yet.
        self.guides: set[str] = set()
        self._count_attempt = count_attempt
        self._abandon = abandon
        self._notice = notice
        self._feed = feed
        self._writing = asyncio.Lock()
        self._reducer = Reducer(message or {"id": message_id_of(run_id), "role": "assistant", "parts": []})
        self._is_new = message is None
        self._is_started = False

    def open_earlier(
        self, message: UIMessage, *, equip: Callable[[], Equipment], initiators: tuple[str, ...]
    ) -> Turn:
        """Open an earlier message of the thread within this run, with the member that wrote it."""
        return Turn(
            self.thread,
            self._feed,
            self.run_id,
            user_id=self.user_id,
            initiators=initiators,
            equip=equip,
            language=self._language,
            owner=self.owner,
            message=message,
            is_planning=self.is_planning,
            control=self.control,
            abandon=self._abandon,
        )

    @cached_property
    def equipment(self) -> Equipment:
        """The member that answers, with what it works with; raises when there is no such member any more."""
        return self.equip()

    @property
    def language(self) -> str:
        """Return the language of the member that answers, or of the workspace when there is none any more."""
        try:
            return self.equipment.member.config.language
        except ShipmateError:
            return self._language

    @property
    def message(self) -> UIMessage:
        return self._reducer.message

    @property
    def steps(self) -> int:
        """Count the steps the message has so far."""
        return sum(part["type"] == "step-start" for part in self.message["parts"])

    @property
    def ending(self) -> Ending | None:
        """Return how the run ended, when its stored message says so."""
        return metadata_of(self.message).get("outcome")

    @property
    def is_decided(self) -> bool:
        """Return whether open calls could go on: they wait for nobody, are decided on, or had begun."""
        calls = self.open_calls()
        states = {part["state"] for part in calls}
        has_begun = any(self.has_begun(part["toolCallId"]) for part in calls)
        is_free = "approval-requested" not in states or "approval-responded" in states
        return bool(states) and (is_free or has_begun)

    def open_calls(self) -> list[JsonObject]:
        """List the calls without a result, in call order."""
        return [part for part in tool_parts(self.message) if not is_settled(part)]

    def has_begun(self, call_id: str) -> bool:
        """Return whether an acting call was claimed: it may have acted, and must not run again."""
        begun = metadata_of(self.message).get("begun")
        return isinstance(begun, dict) and bool(begun.get(call_id))

    def is_clients(self, call_id: str) -> bool:
        """Return whether a call is of a tool of the program that asks."""
        theirs = metadata_of(self.message).get("clientCalls")
        return isinstance(theirs, dict) and call_id in theirs

    async def claim(self, call_id: str) -> bool:
        """Put on disk that an acting call begins; False means that it had begun before."""
        if self.has_begun(call_id):
            return False
        await self._mark_begun(call_id, timestamp())
        return True

    async def release(self, call_id: str) -> None:
        """Release a claim whose call has surely done nothing."""
        await self._mark_begun(call_id, None)

    async def _mark_begun(self, call_id: str, at: str | None) -> None:
        self._reducer.touch(call_id)
        await self.commit(chunks.message_metadata({"begun": {call_id: at}}))

    @property
    def is_watched(self) -> bool:
        """Return whether anybody watches the run."""
        return self._feed.is_watched(self.thread_id)

    async def count_attempt(self) -> None:
        """Count that the model is asked, having got as far as this."""
        await self._count_attempt(progress_of(self.message))

    def open(self) -> None:
        """Name the message to those who watch the run."""
        self._feed.open(self.thread_id, self.message)

    def start(self) -> None:
        """Open the message for the watchers, once."""
        if self._is_started:
            return
        self._is_started = True
        self.open()
        metadata: JsonObject = {}
        if self._is_new:
            metadata = {
                "timestamp": timestamp(),
                "threadId": self.thread_id,
                "course": self.thread.course,
                "runId": self.run_id,
                **({"member": self.member} if self.member else {}),
            }
        self.tell(chunks.start(self.message["id"], metadata))
        if self._notice:
            self.tell(chunks.data("notice", {"text": self._notice}, f"notice-{self.message['id']}"))

    def tell(self, *told: Chunk) -> None:
        """Take chunks over into the message and show them; they reach the disk with the next commit."""
        for chunk in map(chunks.storable, told):
            self._reducer.apply(chunk)
            self._feed.publish(self.thread_id, self.message["id"], chunk)

    async def commit(self, *told: Chunk) -> None:
        """Take chunks over, put everything new on disk, and only then show them."""
        taken = [chunks.storable(chunk) for chunk in told]
        async with self._writing:
            for chunk in taken:
                self._reducer.apply(chunk)
            row = self._reducer.take_row()
            if row is not None:
                await self.thread.append(row)
        for chunk in taken:
            self._feed.publish(self.thread_id, self.message["id"], chunk)

    def can_resume(self, *, begun: bool) -> bool:
        """Return whether an answer that broke off may be asked for again: what was said of it stays."""
        resumed = sum(part["type"] == RESUMED for part in self.message["parts"])
        return begun and resumed < MAX_RESUMES

    async def resume(self, unfinished: list[str], error: ModelError) -> None:
        """Mark where an answer broke off; calls that were not written to their end did not run."""
        mark = chunks.data(RESUMED.removeprefix("data-"), {"reason": tell_error(error, self.language)})
        await self.commit(*self._reducer.close_open_text(), *self._cut_calls(unfinished), mark)
        self.notify("resumed", transient=True)

    def drop_calls(self, unfinished: list[str]) -> None:
        """Close calls that an answer which has ended did not write to their end."""
        self.tell(*self._cut_calls(unfinished))

    def notify(self, kind: str, *, transient: bool = False) -> None:
        """Tell the person something about the run."""
        self.tell(chunks.data("notice", self._notify(kind), transient=transient))

    def _notify(self, kind: str) -> JsonObject:
        return {"kind": kind, "text": say(kind).tell(self.language)}

    def _cut_calls(self, unfinished: list[str]) -> list[Chunk]:
        parts = (part for part in tool_parts(self.message) if part["toolCallId"] in unfinished)
        return [_close_call(part, CUT_SHORT) for part in parts]

    async def reply(self, reason: str) -> Outcome:
        """End the run with what was said; an ending that is none is told with what to do."""
        told: list[Chunk] = []
        ending: JsonObject = {} if reason == "stop" else {"ending": reason}
        if reason in CUT_ENDINGS:
            told.append(chunks.data("notice", self._notify(reason)))
        by = {"model": self.answered_by} if self.answered_by else {}
        await self.commit(*told, chunks.message_metadata({"outcome": "replied", **by, **ending}))
        self.tell(chunks.finish_step(), chunks.finish(reason))
        return self.outcome("replied")

    async def suspend(self) -> Outcome:
        """End the run until a person decides; the message stays open."""
        await self.commit()
        self.tell(chunks.finish_step(), chunks.finish("tool-calls"))
        return self.outcome("suspended")

    async def steer(self) -> Outcome:
        """End the run at a step's end, because a person said something that cannot wait."""
        notice = chunks.data("notice", {"text": say("steered").tell(self.language)})
        await self.commit(notice, chunks.message_metadata({"outcome": "steered"}))
        self.tell(chunks.finish_step(), chunks.finish("other"))
        return self.outcome("steered")

    async def stop(self) -> Outcome:
        """End the run where it is; what was said and done stays."""
        self.start()
        notice = chunks.data("notice", {"text": say("stopped").tell(self.language)})
        await self._abandon_approved("stopped before it began")
        await self.commit(*self._close_all(UNKNOWN), notice, chunks.message_metadata({"outcome": "stopped"}))
        self.tell(chunks.abort("stopped"))
        return self.outcome("stopped")

    async def close_calls(self, words: str = UNKNOWN) -> None:
        """Close the calls that were to go on, because a person stopped all of it or nobody can make them."""
        self.open()
        await self._abandon_approved("stopped before it began" if words == UNKNOWN else words)
        await self.commit(*self._close_all(words))

    async def fail(self, error: ShipmateError, calls: str = NOT_RUN) -> Outcome:
        """End the run with an error that the thread shows; `calls` says what became of open calls."""
        self.start()
        trouble: JsonObject = {"retryable": False}
        if isinstance(error, ModelError):
            trouble = {"retryable": error.retryable, "kind": error.kind}
            if error.retry_after is not None:
                trouble["retryAfter"] = error.retry_after
        words = tell_error(error, self.language)
        shown = chunks.data("error", {"message": words, **trouble})
        await self._abandon_approved(f"{error} Nothing ran.")
        await self.commit(*self._close_all(calls), shown, chunks.message_metadata({"outcome": "failed"}))
        self.tell(chunks.error(words), chunks.finish("error"))
        return self.outcome("failed")

    async def _abandon_approved(self, why: str) -> None:
        """Record, before it is told, which calls a person approved and nobody will make."""
        for part in self.open_calls():
            is_approved = part["state"] == "approval-responded" and part["approval"].get("approved")
            if is_approved and not self.has_begun(part["toolCallId"]):
                await self._abandon(part["approval"]["id"], why)

    def _close_all(self, words: str) -> list[Chunk]:
        """Close texts and calls that will not go on; calls that wait for a person stay."""
        calls = [part for part in self.open_calls() if part["state"] != "approval-requested"]
        closed = (_close_call(part, self._fate_of(part, words)) for part in calls)
        return [*self._reducer.close_open_text(), *closed]

    def _fate_of(self, part: JsonObject, words: str) -> str:
        """Say what became of a call: one that had begun was not left out, whatever the others were."""
        return INTERRUPTED if words == NOT_RUN and self.has_begun(part["toolCallId"]) else words

    def outcome(self, status: OutcomeStatus) -> Outcome:
        """Describe how the run ended, from what its message says."""
        return describe_outcome(self.message, self.run_id, status)


def describe_outcome(message: UIMessage, run_id: str, status: OutcomeStatus) -> Outcome:
    """Describe how a run ended, from what its message says."""
    shown = [part["data"] for part in message["parts"] if part["type"] == "data-error"]
    error: JsonObject = shown[-1] if shown and status == "failed" else {}
    return Outcome(
        run_id=run_id,
        status=status,
        message_id=message["id"],
        text=text_of(since_answer(message)),
        ending=metadata_of(message).get("ending"),
        model=_find_substitute(message),
        error=error.get("message"),
        retryable=error.get("retryable", False),
        kind=error.get("kind"),
        retry_after=error.get("retryAfter"),
    )


def _find_substitute(message: UIMessage) -> str | None:
    """Return the model that was turned to last because the one that was asked did not answer."""
    notices = (part["data"] for part in message["parts"] if part["type"] == "data-notice")
    told = [data for data in notices if isinstance(data, dict) and data.get("kind") == "fallback"]
    return told[-1].get("model") if told else None


def _close_call(part: JsonObject, words: str) -> Chunk:
    call_id, state = part["toolCallId"], part["state"]
    if state == "input-streaming":
        # Whoever watches holds it already; left as it is, no row would have it.
        return chunks.tool_input_error(call_id, tool_name(part), None, CUT_SHORT)
    # Clients refuse a call that a person denied in any other state.
    is_denied = state == "approval-responded" and not part["approval"].get("approved")
    return chunks.tool_output_denied(call_id) if is_denied else chunks.tool_output_error(call_id, words)


def since_answer(message: UIMessage) -> UIMessage:
    """Return a message without what was said, and told, before a person's last answer to an approval."""
    answers = [place for place, part in enumerate(message["parts"]) if part["type"] == "data-reply"]
    return {**message, "parts": message["parts"][answers[-1] :]} if answers else message


def message_id_of(run_id: str) -> str:
    """Return the id of the message a run writes; the same run writes the same message after a crash."""
    return f"msg_{run_id.removeprefix('run_')}"


def run_id_of(message_id: str) -> str:
    """Return the id of the run that writes a message."""
    return f"run_{message_id.removeprefix('msg_')}"


def progress_of(message: UIMessage | None) -> int:
    """Measure how far a run has got: each part and each settled call counts."""
    if message is None:
        return 0
    return len(message["parts"]) + sum(is_settled(part) for part in tool_parts(message))
