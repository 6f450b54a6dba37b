"""Work the inbox of one thread: one run at a time; what arrives meanwhile waits and becomes one turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial

from shipmate.approvals.question import say
from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import ReplyEffect
from shipmate.errors import ModelStreamError, SpeechError, StorageError
from shipmate.models.wording import say as tell_model
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.feed import Feed, Run
from shipmate.orchestrator.lane import ingress
from shipmate.orchestrator.lane.decided import asks_to_stop, open_decided, read_answer, settle_decided
from shipmate.orchestrator.lane.heard import SpokenRows, unheard_reason
from shipmate.orchestrator.lane.note import NoteEvent, make_note
from shipmate.orchestrator.lane.outlet import Messenger, Outlet
from shipmate.orchestrator.lane.owner import Switch, ThreadOwner
from shipmate.orchestrator.lane.summing import Summing
from shipmate.orchestrator.loop import AgentOrchestrator
from shipmate.orchestrator.run_wording import say as tell_run
from shipmate.orchestrator.turn import UNKNOWN, Turn, message_id_of
from shipmate.orchestrator.work import is_cancelled
from shipmate.store.port import InboxRow, Store
from shipmate.thread.course import read_course
from shipmate.thread.service import Thread, ThreadService
from shipmate.values import chunk as chunks
from shipmate.values.event import (
    TYPED_MODEL,
    ApprovalReplyEvent,
    EgressMessage,
    ModelSwitchEvent,
    Outcome,
    PlanEvent,
    RetryEvent,
    TextEvent,
    ToolResultEvent,
)
from shipmate.values.message import UIMessage, data_part, new_id
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.load import Loaded

MAX_ATTEMPTS = 5


class Lane:
    """The lane of one thread, which takes its turns, each from its inbox rows to their outcome."""

    def __init__(
        self,
        thread_id: ThreadId,
        *,
        threads: ThreadService,
        store: Store,
        orchestrator: AgentOrchestrator,
        equip: Callable[..., Equipment],
        approvals: ApprovalService,
        feed: Feed,
        outlet: Outlet,
        messenger: Messenger,
        finished: Callable[[Sequence[InboxRow], Outcome], None],
        settings: Callable[[], Loaded],
    ) -> None:
        self.thread_id = thread_id
        self._threads = threads
        self._store = store
        self._orchestrator = orchestrator
        self._equip = partial(equip, thread_id=thread_id)
        self._approvals = approvals
        self._feed = feed
        self._outlet = outlet
        self._messenger = messenger
        self._finished = finished
        self._settings = settings
        self._owner = ThreadOwner(store, str(thread_id))
        self._turn: Turn | None = None
        self._run: asyncio.Task[Outcome] | None = None
        self._is_leaving = False
        self._summing = Summing(orchestrator, feed, approvals.language)
        self._hearing = SpokenRows(store.inbox, outlet, approvals.language)

    async def drain(self) -> None:
        """Take turns until nothing waits."""
        while await self._store.inbox.open(str(self.thread_id)) and not self._is_leaving:
            async with self._threads.open(self.thread_id) as thread:
                rows = await self._store.inbox.open(str(self.thread_id))
                if rows and not self._is_leaving:
                    await self._take(thread, rows, await self._revive(thread))

    async def leave(self) -> None:
        """Begin no further turn, and wait until nothing acts in the one in flight."""
        self._is_leaving = True
        if (turn := self._turn) is not None:
            turn.control.leave_asked = True
            await turn.control.is_quiet.wait()

    def steer(self) -> None:
        """Ask the run in flight to end with its step."""
        if self._turn is not None:
            self._turn.control.steer_asked = True

    async def stop(self) -> bool:
        """End the run in flight where it is, also after a crash; tell whether there was one."""
        turn, run = self._turn, self._run
        if turn is None or run is None:
            # No run yet: something may be heard or summed up, or a model may be reading an answer for it.
            is_aside = self._hearing.stop() or self._summing.stop()
            return is_aside or self._approvals.stop(str(self.thread_id))
        turn.control.stop_asked = True
        await self._store.inbox.stop(turn.run_id)
        return run.cancel()

    async def _take(self, thread: Thread, rows: list[InboxRow], notice: str | None) -> None:
        """Take one turn's worth of rows: an interrupted run first, then an answer, then the rest as one."""
        await settle_decided(self._approvals, thread)
        if await self._go_on(thread, rows):
            return
        overtaken, rows = ingress.split_overtaken(rows)
        if overtaken:
            # People can always cut in.
            await self._finish(thread, overtaken, Outcome(run_id="", status="stopped"), ())
        rows = await self._hearing.hear(ingress.one_turn(rows))
        if self._hearing.is_stopped:
            await self._converse(thread, rows, new_id("run"), stopped=True)
            return
        for row in rows:
            if await self._take_alone(thread, row):
                return
            answer = await read_answer(self._approvals, thread, row)
            if answer.stopped:
                await self._converse(thread, rows, new_id("run"), stopped=True)
                return
            if answer.consumed:
                await self._answer(thread, row, answer)
                return
            notice = answer.say or unheard_reason(row.event) or notice
        await self._converse(thread, rows, new_id("run"), notice=notice)

    async def _take_alone(self, thread: Thread, row: InboxRow) -> bool:
        """Take a row that is no words to answer; tell whether it was one."""
        match row.event:
            case event if isinstance(event, NoteEvent):
                await self._note(thread, row, event)
            case ToolResultEvent() as event:
                await self._bring(thread, row, event)
            case ModelSwitchEvent() | PlanEvent() as event:
                await self._switch(thread, row, event)
            case event if ingress.is_outdated(thread, event):
                await self._finish(thread, [row], self._refuse("outdated"))
            case event:
                answered = await self._outlet.answer(thread, event)
                if answered is None:
                    return False
                await self._finish(thread, [row], answered.outcome, answered.sends)
        return True

    async def _go_on(self, thread: Thread, rows: list[InboxRow]) -> bool:
        """Go on with a run that a process left unfinished; tell whether there was one."""
        # The row, or what the thread keeps of its event, names the run.
        begun = [(row, run_id) for row in rows if (run_id := row.run_id or ingress.run_of(thread, row.event))]
        if begun:
            # Tools act on what stands there, and the process that wrote it may not have waited for the disk.
            await thread.settle()
            run_id = begun[0][1]
            own = [row for row, other in begun if other == run_id]
            is_stopped = any(row.is_stopped for row in own) or any(map(asks_to_stop, rows))
            await self._converse(thread, own, run_id, stopped=is_stopped)
            return True
        for row in rows:
            if (outcome := ingress.outcome_of(thread, row.event)) is not None:
                await thread.settle()
                await self._finish(thread, [row], outcome)
                return True
        return False

    async def _revive(self, thread: Thread) -> str | None:
        """Go on with a thread that was moved to the bin, and say so: a second one would hide the first."""
        if not await self._threads.revive(thread):
            return None
        await self._owner.list(thread)
        return say(self._approvals.language, "revived")

    async def _note(self, thread: Thread, row: InboxRow, event: NoteEvent) -> None:
        """Open a course or change the pins: one row and words back, no run."""
        language = self._approvals.language
        equip = partial(self._equip, event.member or await self._owner.look(thread, event))
        summary = await self._summing.answer(thread, equip, self._owner.model, event)
        if isinstance(summary, Outcome):
            await self._finish(thread, [row], summary)
            return
        tainted = self._orchestrator.is_tainted(thread)
        row_id = ingress.user_message_id(event)
        note = make_note(thread, event, row_id, tainted=tainted, language=language, summary=summary)
        if note.row is not None:
            await thread.append(note.row)
            self._tell(row_id, note.outcome.text)
        await self._finish(thread, [row], note.outcome)

    async def _switch(self, thread: Thread, row: InboxRow, event: ModelSwitchEvent | PlanEvent) -> None:
        """Choose another model for the thread or its member, or whether it plans first; no run."""
        equipment = self._equip(event.member or await self._owner.look(thread, event))
        outcome = await Switch(self._store, equipment, self._approvals.language).answer(
            event, self._settings()
        )
        self._tell(ingress.user_message_id(event), outcome.text)
        await self._finish(thread, [row], outcome)

    def _tell(self, message_id: str, words: str | None) -> None:
        """Show words to those who watch; the thread does not keep them."""
        if words:
            told = chunks.data("notice", {"text": words}, transient=True)
            self._feed.publish(str(self.thread_id), message_id, told)

    async def _answer(self, thread: Thread, row: InboxRow, answer: ReplyEffect) -> None:
        """Put an answer and its decisions into the thread, and go on with what was decided."""
        event = row.event
        if not isinstance(event, TextEvent | ApprovalReplyEvent):
            return
        here = [each.message_id for each in answer.decisions if thread.find(each.message_id) is not None]
        words = say(self._approvals.language, "elsewhere") if answer.decisions and not here else answer.say
        about = here[-1] if here else next(reversed(thread.waiting), None)
        run_id = ingress.run_to_resume(thread, about)
        if about is not None:
            kept = ingress.reply_row(about, event, words, run_id if here else None)
            await thread.append(*ingress.decision_rows(thread, answer.decisions), kept)
        self._tell(about or "", words)
        if here:
            await self._converse(thread, [row], run_id)
        else:
            await self._finish(thread, [row], Outcome(run_id=run_id, status="replied", text=words or ""))

    async def _bring(self, thread: Thread, row: InboxRow, event: ToolResultEvent) -> None:
        """Put what a program's tools brought into the thread, and go on with the run that called them."""
        run_id = ingress.run_to_resume(thread, thread.messages[-1]["id"] if thread.messages else None)
        kept = ingress.result_row(thread, event, run_id)
        if kept is None:
            await self._finish(thread, [row], self._refuse("not-waited-for"))
            return
        await thread.append(kept)
        await self._converse(thread, [row], run_id)

    async def _converse(
        self,
        thread: Thread,
        rows: list[InboxRow],
        run_id: str,
        *,
        notice: str | None = None,
        stopped: bool = False,
    ) -> None:
        """Put what was said into the thread and run."""
        written = thread.find(message_id_of(run_id))
        rows = await self._store.inbox.take(rows, run_id)
        if not rows:
            # Withdrawn while this lane was making up its mind.
            return
        event = rows[-1].event
        own = await self._owner.look(thread, event)
        await self._append_said(thread, rows, run_id)
        if not self._owner.is_listed:
            # What was settled for a thread without words shows once it has some.
            await self._owner.look(thread, event)
        unheard = await self._hearing.find_trouble(thread, rows)
        answered = ingress.answered_message(thread, event)
        initiators = ingress.initiators_of(thread, answered)
        # What was begun goes on with the member that began it, whoever is named beside the answer.
        named = event.member or self._messenger.addressed(event)
        member = ingress.member_of(written) or (named if written is None else None) or own
        wanted = event.model if isinstance(event, TextEvent) else None
        turn = Turn(
            thread,
            self._feed,
            run_id,
            user_id=ingress.speaker_of(thread) or event.user_id,
            initiators=initiators,
            notice=None if unheard else notice,
            equip=partial(self._equip, member),
            language=self._approvals.language,
            member=None if member == own else member,
            owner=own,
            message=written,
            extra_context=ingress.surroundings_of(rows),
            is_planning=self._owner.is_planning,
            model=TYPED_MODEL if ingress.is_typed(thread, run_id, answered) else wanted or self._owner.model,
            options=ingress.options_of(event),
            count_attempt=partial(self._store.inbox.ask, run_id),
            abandon=self._approvals.abandon,
        )
        answers = frozenset(row.event.message_id for row in rows)
        run = Run(run_id=run_id, answers=answers, message_id=turn.message["id"])
        self._feed.begin(str(thread.id), run)
        self._outlet.follow(str(thread.id), rows, run_id)
        # A run whose message says how it ended is over, whatever was asked of it since.
        if stopped and turn.ending is None:
            outcome = await self._stop(turn)
        elif turn.ending is None and max(row.attempts for row in rows) >= MAX_ATTEMPTS:
            outcome = await turn.fail(ingress.GaveUpError(tell_run("gave-up")), UNKNOWN)
        elif turn.ending is None and unheard:
            outcome = await turn.fail(SpeechError(unheard), UNKNOWN)
        else:
            outcome = await self._run_turn(turn)
        await self._finish(thread, rows, outcome)

    async def _append_said(self, thread: Thread, rows: list[InboxRow], run_id: str) -> None:
        said: list[UIMessage] = []
        for row in rows:
            if isinstance(row.event, RetryEvent):
                said += await self._replace_last(thread, run_id, row.event)
            elif isinstance(row.event, ingress.SAID) and not ingress.is_kept(thread, row.event):
                event = await self._outlet.bring(row.event)
                assert isinstance(event, ingress.SAID), "what was said stays what was said"
                said.append(ingress.user_row(event, thread, run_id))
        if said:
            # The inbox tells these again until the answer, which waits for the disk, stands behind them.
            await thread.append(*said, waits=False)
            if len(thread.messages) == len(said):
                # Lists show a thread while its first run is still going on.
                await self._owner.list(thread)

    async def _replace_last(self, thread: Thread, run_id: str, event: RetryEvent) -> list[UIMessage]:
        """Replace the last answer for a retry; what it asked is asked no more."""
        replaced = ingress.replaced_row(thread, message_id_of(run_id), event.message_id)
        for row in replaced:
            await self._approvals.supersede(str(thread.id), row["id"])
            await settle_decided(self._approvals, thread)
        return replaced

    async def _run_turn(self, turn: Turn) -> Outcome:
        self._turn = turn
        self._run = asyncio.create_task(self._work(turn))
        try:
            return await self._run
        except asyncio.CancelledError:
            if is_cancelled():
                # The process ends; the run is taken up by the next keeper, and this was no attempt.
                await self._leave_run(turn.run_id)
                raise
            if turn.control.stop_asked:
                return await self._stop(turn)
            return await turn.fail(ModelStreamError(tell_model("stream-broke")), UNKNOWN)
        except StorageError:
            await self._leave_run(turn.run_id)
            raise
        finally:
            self._turn = self._run = None

    def _refuse(self, why: str) -> Outcome:
        words = tell_run(why).tell(self._approvals.language)
        return Outcome(run_id="", status="failed", error=words)

    async def _leave_run(self, run_id: str) -> None:
        # A disk that refuses even this makes the run count as tried once more, no worse.
        with contextlib.suppress(StorageError):
            await self._store.inbox.leave(run_id)

    async def _work(self, turn: Turn) -> Outcome:
        """Work calls of earlier messages that a person decided after the talk had moved on; then run."""
        decided = open_decided(turn, await self._owner.member(turn.thread), self._equip)
        for earlier in decided:
            await self._orchestrator.work(earlier)
        return await self._orchestrator.run(turn, decided)

    async def _stop(self, turn: Turn) -> Outcome:
        for earlier in open_decided(turn, await self._owner.member(turn.thread), self._equip):
            await earlier.close_calls()
        return await turn.stop()

    async def _pass_on(self, thread: Thread, rows: list[InboxRow], outcome: Outcome) -> None:
        """Let other members hear of an outcome, and say here what stands in the way."""
        told = await self._messenger.pass_on(thread, await self._owner.member(thread), rows, outcome)
        if told and outcome.message_id:
            notice = data_part("notice", {"text": told}, f"handoff-{outcome.run_id}")
            await thread.append({"id": outcome.message_id, "role": "assistant", "parts": [notice]})
            self._tell(outcome.message_id, told)

    async def _finish(
        self,
        thread: Thread,
        rows: list[InboxRow],
        outcome: Outcome,
        sends: Sequence[EgressMessage] | None = None,
    ) -> None:
        """Store the outcome and what must be sent, then bring lists and search up to date."""
        await self._pass_on(thread, rows, outcome)
        sends = await self._outlet.compose(thread, rows, outcome) if sends is None else sends
        await self._store.inbox.finish(rows, outcome, sends)
        for thread_id in dict.fromkeys(send.thread_id for send in sends):
            self._outlet.wake(thread_id)
        if outcome.message_id is not None and read_course(thread.find(outcome.message_id)) is not None:
            # What stood beside the rows of the course that is closed is told to no model any more.
            await self._store.ledger.drop_sidecars(str(self.thread_id))
        self._feed.end(str(self.thread_id), outcome)
        self._finished(rows, outcome)
        await self._owner.list(thread)
