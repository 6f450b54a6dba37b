"""Work the inbox of one thread: one run at a time; what arrives meanwhile waits and becomes one turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from shipmate.approvals.service import ApprovalService
from shipmate.errors import ShipmateError
from shipmate.orchestrator.feed import Feed, Run
from shipmate.orchestrator.ingress import (
    decision_rows,
    is_kept,
    replaced_row,
    reply_row,
    user_message_id,
    user_row,
)
from shipmate.orchestrator.loop import AgentOrchestrator
from shipmate.orchestrator.turn import Turn, message_id_of
from shipmate.store.port import InboxRow, Store
from shipmate.thread.service import Thread, ThreadService
from shipmate.values import chunk as chunks
from shipmate.values.event import ApprovalReplyEvent, EgressMessage, Outcome, RetryEvent, TextEvent
from shipmate.values.message import UIMessage, is_settled, metadata_of, new_id, tool_parts
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

MAX_ATTEMPTS = 5


class GaveUpError(ShipmateError):
    """The process ended five times at one point of this run, so it was given up. Send the message anew."""


class Lane:
    """Take one thread's turns, each from its inbox rows to their outcome."""

    def __init__(
        self,
        thread_id: ThreadId,
        *,
        threads: ThreadService,
        store: Store,
        orchestrator: AgentOrchestrator,
        approvals: ApprovalService,
        feed: Feed,
        sends: Callable[[ThreadId, Outcome], Sequence[EgressMessage]],
        finished: Callable[[Sequence[InboxRow], Outcome], None],
    ) -> None:
        self.thread_id = thread_id
        self._threads = threads
        self._store = store
        self._orchestrator = orchestrator
        self._approvals = approvals
        self._feed = feed
        self._sends = sends
        self._finished = finished
        self._turn: Turn | None = None
        self._run: asyncio.Task[Outcome] | None = None

    async def drain(self) -> None:
        """Take turns until nothing waits."""
        while await self._store.inbox.open(str(self.thread_id)):
            async with self._threads.open(self.thread_id) as thread:
                # Another process may have worked the rows while this one waited for the thread.
                rows = await self._store.inbox.open(str(self.thread_id))
                if rows:
                    await self._take(thread, rows)

    def steer(self) -> None:
        """Ask the run in flight to end with its step."""
        if self._turn is not None:
            self._turn.steer_asked = True

    def stop(self) -> bool:
        """End the run in flight where it is; tell whether there was one."""
        if self._turn is None or self._run is None:
            return False
        self._turn.stop_asked = True
        self._run.cancel()
        return True

    async def _take(self, thread: Thread, rows: list[InboxRow]) -> None:
        """Take one turn's worth of rows: an interrupted run first, then an answer, then the rest as one."""
        await self._settle_decided(thread)
        running = [row for row in rows if row.status == "running"]
        if running:
            run_id = running[0].run_id or new_id("run")
            await self._converse(thread, [row for row in running if row.run_id == run_id], run_id)
            return
        for row in rows:
            if await self._answer(thread, row):
                return
        await self._converse(thread, rows, new_id("run"))

    async def _settle_decided(self, thread: Thread) -> None:
        """Bring decisions into the thread that an expiry, a crash or another process left outside."""
        if thread.waiting:
            rows = decision_rows(thread, await self._approvals.decisions_for(str(thread.id)))
            if rows:
                await thread.append(*rows)

    async def _answer(self, thread: Thread, row: InboxRow) -> bool:
        """Take a row as an answer to approvals; tell whether it was one."""
        event = row.event
        if not isinstance(event, TextEvent | ApprovalReplyEvent):
            return False
        if not thread.waiting and isinstance(event, TextEvent):
            return False
        answer = await self._approvals.answer(event, await self._approvals.pending(str(thread.id)))
        if not answer.consumed:
            return False
        about = answer.decisions[-1].message_id if answer.decisions else next(reversed(thread.waiting), None)
        if about is not None:
            await thread.append(*decision_rows(thread, answer.decisions), reply_row(about, event, answer.say))
        run_id = self._run_of(thread, about)
        if answer.say:
            self._feed.publish(
                str(thread.id), run_id, chunks.data("notice", {"text": answer.say}, transient=True)
            )
        if answer.decisions:
            await self._converse(thread, [row], run_id)
        else:
            await self._finish(thread, [row], Outcome(run_id=run_id, status="replied", text=answer.say or ""))
        return True

    def _run_of(self, thread: Thread, message_id: str | None) -> str:
        """Give the run that goes on with a message: its own while it is the last word, else a new one."""
        last = thread.messages[-1] if thread.messages else None
        suspended = metadata_of(last).get("runId") if last is not None and last["id"] == message_id else None
        return suspended if isinstance(suspended, str) else new_id("run")

    async def _converse(self, thread: Thread, rows: list[InboxRow], run_id: str) -> None:
        """Put what was said into the thread and run."""
        written = thread.find(message_id_of(run_id))
        attempts = await self._store.inbox.take(rows, run_id, progress_of(written))
        await self._append_said(thread, rows, run_id)
        event = rows[-1].event
        turn = Turn(
            thread,
            self._feed,
            run_id,
            user_id=_initiator_of(thread) or event.user_id,
            member=event.member or await self._member(),
            message=written,
            extra_context=event.extra_context if isinstance(event, TextEvent) else None,
        )
        answers = frozenset(row.event.message_id for row in rows)
        run = Run(run_id=run_id, answers=answers, message_id=turn.message["id"], before=written)
        self._feed.begin(str(thread.id), run)
        if attempts > MAX_ATTEMPTS and turn.ending is None:
            turn.start()
            outcome = await turn.fail(GaveUpError())
        else:
            await self._work_decided(thread, turn)
            outcome = await self._run_turn(turn)
        await self._finish(thread, rows, outcome)

    async def _append_said(self, thread: Thread, rows: list[InboxRow], run_id: str) -> None:
        said: list[UIMessage] = []
        for row in rows:
            if isinstance(row.event, RetryEvent):
                said += replaced_row(thread, message_id_of(run_id))
            elif not is_kept(thread, row.event):
                said.append(user_row(row.event, thread))
        if said:
            await thread.append(*said)
            # Lists show a thread while its first run is still going on.
            await self._store.threads.note(str(self.thread_id), thread.messages, member=await self._member())

    async def _work_decided(self, thread: Thread, turn: Turn) -> None:
        """Work calls of earlier messages that a person decided after the talk had moved on."""
        for message_id in list(thread.waiting):
            message = thread.find(message_id)
            if message is not None and message_id != turn.message["id"]:
                earlier = Turn(
                    thread, self._feed, turn.run_id, user_id=turn.user_id, member=turn.member, message=message
                )
                await self._orchestrator.work(earlier)

    async def _run_turn(self, turn: Turn) -> Outcome:
        self._turn = turn
        self._run = asyncio.create_task(self._orchestrator.run(turn))
        try:
            return await self._run
        finally:
            self._run.cancel()
            self._turn = self._run = None

    async def _finish(self, thread: Thread, rows: list[InboxRow], outcome: Outcome) -> None:
        """Store the outcome and what must be sent, then bring lists and search up to date."""
        await self._store.inbox.finish(rows, outcome, self._sends(self.thread_id, outcome))
        self._feed.end(str(self.thread_id), outcome)
        self._finished(rows, outcome)
        if thread.messages:
            await self._store.threads.note(str(self.thread_id), thread.messages, member=await self._member())
            changed = [outcome.message_id, *(user_message_id(row.event) for row in rows)]
            found = [message for message_id in changed if message_id and (message := thread.find(message_id))]
            await self._store.search.index(str(self.thread_id), found)

    async def _member(self) -> str:
        info = await self._store.threads.find(str(self.thread_id))
        return info.member if info else CAPTAIN


def progress_of(message: UIMessage | None) -> int:
    """Measure how far a run has got: each part and each settled call counts."""
    if message is None:
        return 0
    return len(message["parts"]) + sum(is_settled(part) for part in tool_parts(message))


def _initiator_of(thread: Thread) -> str | None:
    """Name who said the last thing; a person who only answers an approval is not the one who asked for it."""
    spoken = (message for message in reversed(thread.messages) if message["role"] == "user")
    found = metadata_of(last).get("userId") if (last := next(spoken, None)) is not None else None
    return found if isinstance(found, str) else None
