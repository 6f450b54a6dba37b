"""Stand between the lanes and the platforms: make what answers send, and answer what needs no member."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import Approval
from shipmate.delivery.adapter import Adapter
from shipmate.delivery.command_answer import Commands
from shipmate.delivery.compose import compose_answer, make_question, make_send
from shipmate.delivery.delivery_wording import say
from shipmate.delivery.preview import UNFINISHED, Preview
from shipmate.delivery.reception.fetching import Fetching
from shipmate.delivery.reception.transcribing import Transcribing
from shipmate.delivery.sender import Sender
from shipmate.delivery.splitting import clip
from shipmate.delivery.spoken_reply import SpokenReply
from shipmate.delivery.task_result import compose_result, is_heartbeat, is_silent, source_of
from shipmate.errors import ConfigError, StorageError
from shipmate.orchestrator.feed import LocalFeed
from shipmate.orchestrator.lane.outlet import CommandAnswer
from shipmate.store.port import InboxRow, Outbox, OutboxRow, answered_by
from shipmate.thread.service import Thread
from shipmate.values.event import (
    AdapterCapabilities,
    EgressMessage,
    IngressEvent,
    Outcome,
    TextEvent,
    VoiceEvent,
)
from shipmate.values.message import JsonObject
from shipmate.values.thread_id import ThreadId

# How long a process that ends waits for what it still has to send.
LAST_SECONDS = 10.0
# How often it is looked whether something waits that nobody works on, or a question has expired.
SWEEP_SECONDS = 30.0


class Delivery:
    """The delivery of one keeper."""

    def __init__(
        self,
        platforms: frozenset[str],
        find: Callable[[str], Adapter],
        *,
        outbox: Outbox,
        sender: Sender,
        fetching: Fetching,
        transcribing: Transcribing,
        speaking: SpokenReply,
        commands: Commands,
        approvals: ApprovalService,
        feed: LocalFeed,
        language: str,
        targets: Callable[[str], Sequence[str]] = lambda _source: (),
    ) -> None:
        self._platforms = platforms
        # Where else the answer to what no person said goes.
        self._targets = targets
        self._find = find
        self._outbox = outbox
        self._sender = sender
        self._fetching = fetching
        self._transcribing = transcribing
        self._speaking = speaking
        self._commands = commands
        self._approvals = approvals
        self._feed = feed
        self._language = language
        self._previews: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Take up what waits to be sent."""
        if self._platforms:
            await self._sender.begin()
            self._sweeper = asyncio.create_task(self._sweep())

    async def _sweep(self) -> None:
        """Look now and then what waits that nobody works on, and which questions are over."""
        while True:
            # A disk that refuses is asked again the next time.
            with suppress(StorageError):
                await self._sender.sweep()
                await self._approvals.expire()
                await self._close_decided(await self._outbox.list())
            await asyncio.sleep(SWEEP_SECONDS)

    async def rest(self) -> None:
        """Look no more for what waits: another process does."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)

    async def idle(self) -> None:
        """Wait a while until what waits is sent; a process is about to end."""
        for thread_id in await self._outbox.threads() if self._platforms and self._sender.is_here else ():
            self.wake(thread_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._sender.idle()

    async def close(self) -> None:
        """Send nothing more; what waits is sent by the next keeper."""
        await self._sender.close()
        tasks = [*self._previews, *([self._sweeper] if self._sweeper else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def bring(self, event: IngressEvent) -> IngressEvent:
        """Return an event whose files lie in the workspace."""
        return await self._fetching.bring(event)

    async def hear(self, event: VoiceEvent) -> TextEvent | VoiceEvent:
        """Return what a spoken message says, or why it has no words."""
        return await self._transcribing.hear(event)

    async def answer(self, thread: Thread, event: IngressEvent) -> CommandAnswer | None:
        """Answer an event that asks for nothing but words already said."""
        return await self._commands.answer(thread, event, self._capabilities(thread.id))

    def follow(self, thread_id: str, rows: Sequence[InboxRow], run_id: str) -> None:
        """Show an answer while it is written."""
        is_shown = ThreadId.parse(thread_id).platform in self._platforms and self._sender.is_here
        if not is_shown or is_heartbeat(rows):
            return
        preview = Preview(
            thread_id,
            run_id,
            answered_by(rows),
            _reply_to(rows, thread_id),
            outbox=self._outbox,
            sender=self._sender,
            feed=self._feed,
        )
        task = asyncio.create_task(self._follow(preview, thread_id))
        # That of the run before may not have noticed its end yet.
        self._previews.add(task)
        task.add_done_callback(self._previews.discard)

    async def _follow(self, preview: Preview, thread_id: str) -> None:
        # Without an adapter nothing is shown; what waits is told of by whoever sends it.
        with suppress(ConfigError):
            await preview.follow(self._find(ThreadId.parse(thread_id).platform))

    async def compose(
        self, thread: Thread, rows: Sequence[InboxRow], outcome: Outcome
    ) -> Sequence[EgressMessage]:
        """Make what an outcome sends, from the rows of its thread alone."""
        if is_silent(thread, rows, outcome):
            return []
        elsewhere = self._compose_elsewhere(thread, outcome)
        if thread.id.platform not in self._platforms:
            return elsewhere
        thread_id, capabilities = str(thread.id), self._capabilities(thread.id)
        message = thread.find(outcome.message_id) if outcome.message_id else None
        sends = compose_answer(thread_id, message, outcome, capabilities, self._language)
        known = await self._outbox.in_thread(thread_id)
        has_words = any(send.extra.get("name") == "words.0" for send in sends)
        await self._conclude(known, answered_by(rows) if has_words else "")
        if outcome.status == "replied" and message is not None and capabilities.supports_files:
            sends += await self._speaking.make(thread_id, rows, message)
        sends += await self._questions(thread_id, known, capabilities)
        if sends and (reply_to := _reply_to(rows, thread_id)) is not None:
            sends[0] = replace(sends[0], reply_to_message_id=reply_to)
        await self._close_decided(known)
        return [*sends, *elsewhere]

    def _compose_elsewhere(self, thread: Thread, outcome: Outcome) -> list[EgressMessage]:
        source = source_of(thread, outcome.message_id)
        targets = [
            each
            for each in (self._targets(source) if source else ())
            if each != str(thread.id) and ThreadId.parse(each).platform in self._platforms
        ]
        return compose_result(thread, outcome, targets, self._capabilities, self._language)

    async def _conclude(self, known: Sequence[OutboxRow], answered: str) -> None:
        """Say of previews that nothing follows: all but that of the answer whose words are known now."""
        for row in known:
            if not row.is_preview or row.answered == answered or row.status != "shown":
                continue
            if row.receipt is None:
                await self._outbox.mark(row, "dropped")
            else:
                text = (
                    f"{(row.message.text or '').removesuffix(UNFINISHED)}\n\n{say(self._language, 'cut-off')}"
                )
                await self._outbox.conclude(row, replace(row.message, text=text))

    async def _questions(
        self, thread_id: str, known: Sequence[OutboxRow], capabilities: AdapterCapabilities
    ) -> list[EgressMessage]:
        """Put what waits for a person's word, each question once."""
        asked = {row.message.extra.get("approval") for row in known}
        pending = [each for each in await self._approvals.pending(thread_id) if each.id not in asked]
        return [send for each in pending for send in make_question(each, capabilities, self._language)]

    async def _close_decided(self, known: Sequence[OutboxRow]) -> None:
        """Take the buttons from questions that are decided, and say how.

        What was asked and how it stands is on disk, so a crash or another process loses nothing of it.
        """
        closed = {row.message.extra.get("closes") for row in known}
        for row in known:
            approval_id = row.message.extra.get("approval")
            if not approval_id or approval_id in closed or row.receipt is None:
                continue
            approval = await self._approvals.get(approval_id)
            capabilities = self._capabilities(ThreadId.parse(row.message.thread_id))
            send = self._close(row, approval, capabilities)
            if send is not None:
                await self._outbox.intend("", "closed", [send])
                self.wake(send.thread_id)

    def _close(
        self, row: OutboxRow, approval: Approval, capabilities: AdapterCapabilities
    ) -> EgressMessage | None:
        """Return what closes a question; None while it is open, or when people see for themselves."""
        if approval.is_open:
            return None
        thread_id, told = row.message.thread_id, say(self._language, f"decided-{approval.status}")
        if capabilities.supports_edits:
            text = clip(f"{told}\n\n{row.message.text}", capabilities)
            extra: JsonObject = {"edits": row.receipt, "closes": approval.id}
            return make_send(thread_id, f"closed.{approval.id}", "question", text, **extra)
        if approval.status != "expired":
            return None
        return make_send(thread_id, f"expired.{approval.id}", "notice", told, closes=approval.id)

    def wake(self, thread_id: str) -> None:
        """Hear that something waits to be sent."""
        self._sender.wake(thread_id)

    def _capabilities(self, thread_id: ThreadId) -> AdapterCapabilities:
        try:
            return self._find(thread_id.platform).capabilities
        except ConfigError:
            return AdapterCapabilities()


def _reply_to(rows: Sequence[InboxRow], thread_id: str) -> str | None:
    """Return the message that is answered; what was said elsewhere is none of this chat."""
    platform = ThreadId.parse(thread_id).platform
    said = [row.event.message_id for row in rows if row.event.platform == platform]
    return said[-1] if said else None
