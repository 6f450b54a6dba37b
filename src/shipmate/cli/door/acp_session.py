"""Hold one session of an editor: a thread that is followed, spoken in, and decided about."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.approvals.value import Approval
from shipmate.cli.door.acp_update import UpdateTeller, make_question, read_prompt
from shipmate.cli.door.door_wording import name_call, tell
from shipmate.cli.door.line_peer import AskedError, LinePeer
from shipmate.cli.ship import local_user
from shipmate.cli.terminal.watching import Watching
from shipmate.errors import ShipmateError
from shipmate.orchestrator.feed import FeedEvent
from shipmate.values.event import ApprovalReplyEvent, Outcome, TextEvent
from shipmate.values.message import JsonObject, UIMessage, metadata_of, new_id, text_of, timestamp
from shipmate.values.primed import hides_priming, is_primed
from shipmate.values.reveal import reveal_line
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.upload import ADDRESS, name_upload

log = logging.getLogger(__name__)
PLATFORM = "acp"
ENDINGS = {"length": "max_tokens", "content-filter": "refusal"}
SCOPES = {"allow_once": "once", "allow_always": "always", "reject_once": "once"}


class RunFailedError(ShipmateError):
    """The run that answered a prompt failed."""


class AcpSession:
    """A thread as one editor has it open; several may have the same."""

    def __init__(self, ship: Shipmate, peer: LinePeer, thread_id: ThreadId, folder: str) -> None:
        self._ship = ship
        self._peer = peer
        self.thread_id = thread_id
        self._folder = folder
        # Who answers, when it is not the thread's own member.
        self.member: str | None = None
        self._teller = UpdateTeller(ship.layout.root, self._name_file)
        self._watching = Watching()
        # What was sent from here, and the messages of others that were told.
        self._sent: set[str] = set()
        self._seen: set[str] = set()
        self._run = ""
        self._queue: asyncio.Queue[FeedEvent] | None = None
        # Who waits until all is told that happened before, by the mark in the queue.
        self._marks: dict[str, asyncio.Future[None]] = {}
        self._cancelled = asyncio.Event()
        self._asking = asyncio.Lock()
        self._follower: asyncio.Task[None] | None = None

    async def open(self, *, retells: bool) -> None:
        """Begin to follow the thread, after telling how it stands."""
        is_open: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._follower = self._peer.start(self._follow(is_open, retells=retells))
        await is_open

    def close(self) -> None:
        """Follow the thread no longer."""
        if self._follower is not None:
            self._follower.cancel()

    async def prompt(self, blocks: object) -> str:
        """Say something in the thread; return why the turn ended once nothing of it waits any more."""
        text, attachments = read_prompt(blocks, self._ship.uploads, self._ship.layout.root)
        event = TextEvent(**self._base(), text=text, attachments=attachments, extra_context=self._context())
        self._sent.add(event.message_id)
        self._teller.say("")
        self._cancelled.clear()
        try:
            outcome = await (await self._ship.receive(event)).outcome()
            await self._catch_up_with(outcome)
            if outcome.status == "suspended":
                outcome = await self.settle() or outcome
        except asyncio.CancelledError:
            # An editor that wants no answer any more stops the run; one that is gone does not.
            if not self._peer.is_gone:
                self._peer.start(self.cancel())
            raise
        if self._cancelled.is_set() or outcome.status == "stopped":
            return "cancelled"
        if outcome.status == "failed":
            raise RunFailedError(outcome.error or "the run failed")
        return ENDINGS.get(outcome.ending or "", "end_turn")

    async def cancel(self) -> None:
        """Stop what runs, and take back what was sent from here and waits."""
        self._cancelled.set()
        thread_id = str(self.thread_id)
        for row in await self._ship.keeper.queue(thread_id):
            if row.event.message_id in self._sent:
                await self._ship.keeper.withdraw(thread_id, row.event.message_id)
        await self._ship.keeper.stop(thread_id)

    async def settle(self) -> Outcome | None:
        """Ask the person at the editor about what waits, one by one; return how the run ended then."""
        outcome: Outcome | None = None
        async with self._asking, self._ship.keeper.watch(str(self.thread_id)) as queue:
            while waiting := await self._ship.approvals.pending(str(self.thread_id)):
                following = await self._decide(waiting[0], queue)
                if following is None:
                    return outcome
                await self._catch_up_with(following)
                outcome = following
            while outcome is None and self._ship.keeper.running(str(self.thread_id)) is not None:
                # Somebody decided elsewhere, and the run goes on.
                outcome = (await queue.get()).outcome
        return outcome

    async def _decide(self, approval: Approval, queue: asyncio.Queue[FeedEvent]) -> Outcome | None:
        """Have one question decided, here or elsewhere; None when it was not."""
        asking = asyncio.ensure_future(self._ask_person(approval))
        leaving = asyncio.ensure_future(self._cancelled.wait())
        try:
            while True:
                getting = asyncio.ensure_future(queue.get())
                await asyncio.wait({asking, getting, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    getting.cancel()
                if asking.done():
                    answer = asking.result()
                    return None if answer is None else await (await self._ship.receive(answer)).outcome()
                if leaving.done():
                    return None
                told = getting.result()
                is_decided = not (await self._ship.approvals.get(approval.id)).is_open
                if is_decided and (told.outcome is not None or told.is_handed_over):
                    return told.outcome or Outcome(run_id="", status="replied")
        finally:
            for each in (asking, leaving):
                each.cancel()

    async def _ask_person(self, approval: Approval) -> ApprovalReplyEvent | None:
        """Show a call and take the answer; one that was not offered decides nothing."""
        language = self._ship.config.language
        call, options = make_question(approval, language, self._ship.layout.root)
        params = {"sessionId": str(self.thread_id), "toolCall": call, "options": options}
        try:
            answer = await self._peer.ask("session/request_permission", params)
        except AskedError:
            words = tell(language, "unasked", what=name_call(approval), id=approval.id)
            self._tell(self._teller.take({"type": "data-error", "data": {"message": words}}))
            return None
        match answer:
            case {"outcome": {"outcome": "selected", "optionId": str(chosen)}}:
                pass
            case {"outcome": {"outcome": "cancelled"}}:
                self._cancelled.set()
                return None
            case _:
                return None
        if chosen not in [option["optionId"] for option in options]:
            return None
        approved = chosen != "reject_once"
        event = ApprovalReplyEvent(
            **self._base(), text="", approval_id=approval.id, approved=approved, scope=SCOPES[chosen]
        )
        self._sent.add(event.message_id)
        return event

    async def _follow(self, is_open: asyncio.Future[None], *, retells: bool) -> None:
        """Tell the editor what happens in the thread, whoever caused it."""
        try:
            async with self._ship.keeper.watch(str(self.thread_id)) as queue:
                self._queue = queue
                if retells:
                    await self._retell()
                is_open.set_result(None)
                while True:
                    event = await queue.get()
                    try:
                        await self._take(event)
                    except Exception:
                        # What cannot be shown ends no session; the thread has all of it.
                        log.exception("something in %s cannot be told", self.thread_id)
        except ShipmateError as error:
            if is_open.done():
                raise
            is_open.set_exception(error)

    async def _take(self, event: FeedEvent) -> None:
        if (mark := self._marks.pop(event.message_id, None)) is not None:
            mark.set_result(None)
            return
        if event.run_id not in ("", self._run):
            self._run = event.run_id
            await self._tell_words_of_others(event.answers)
        if event.is_handed_over:
            await self._retell()
        is_own = not event.answers.isdisjoint(self._sent)
        for chunk in self._watching.take(event):
            # What fails is the answer to the prompt; told here too it would be shown twice.
            if chunk["type"] != "data-error" or not is_own:
                self._tell(self._teller.take(chunk))

    async def _catch_up_with(self, outcome: Outcome) -> None:
        """Wait until all is told that led to an outcome, and tell what the thread alone has of it."""
        assert self._queue is not None, "the session is open"
        mark = FeedEvent(run_id="", message_id=new_id("mark"))
        self._marks[mark.message_id] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(mark)
        await self._marks[mark.message_id]
        if outcome.message_id is None or not await self._ship.threads.exists(self.thread_id):
            return
        stored = (await self._ship.threads.read(self.thread_id)).find(outcome.message_id)
        for chunk in self._watching.complete(stored) if stored is not None else ():
            if chunk["type"] != "data-error":
                self._tell(self._teller.take(chunk))

    async def _retell(self) -> None:
        """Tell what the thread has and the editor does not: all that no run writes just now."""
        if not await self._ship.threads.exists(self.thread_id):
            return
        before = self._ship.keeper.running(str(self.thread_id))
        info = await self._ship.store.threads.find(str(self.thread_id))
        hides = info is not None and hides_priming(info.settings)
        thread = await self._ship.threads.read(self.thread_id)
        # What was being written meanwhile is told by the keeper, from its beginning.
        runs = (before, self._ship.keeper.running(str(self.thread_id)))
        live = {run.message_id for run in runs if run is not None}
        for message in thread.messages:
            is_shown = "replacedBy" not in metadata_of(message) and not (hides and is_primed(message))
            if is_shown and message["id"] not in live:
                self._tell_message(message)

    def _tell_message(self, message: UIMessage) -> None:
        if message["role"] == "user":
            if message["id"] not in self._seen and metadata_of(message).get("messageId") not in self._sent:
                self._seen.add(message["id"])
                self._tell(self._teller.say(text_of(message)))
            return
        for chunk in self._watching.complete(message):
            self._tell(self._teller.take(chunk))

    async def _tell_words_of_others(self, answered: frozenset[str]) -> None:
        if answered <= self._sent or not await self._ship.threads.exists(self.thread_id):
            return
        for message in (await self._ship.threads.read(self.thread_id)).messages:
            if message["role"] == "user" and metadata_of(message).get("messageId") in answered:
                self._tell_message(message)

    def _tell(self, updates: list[JsonObject]) -> None:
        for update in updates:
            self._peer.tell("session/update", {"sessionId": str(self.thread_id), "update": update})

    def _base(self) -> dict[str, Any]:
        return {
            "platform": PLATFORM,
            "thread_id": str(self.thread_id),
            "user_id": local_user(),
            "message_id": new_id("in"),
            "timestamp": timestamp(),
            "member": self.member,
        }

    def _context(self) -> str | None:
        root = self._ship.layout.root
        if not self._folder or Path(self._folder) == root:
            return None
        return tell(self._ship.config.language, "editor", folder=reveal_line(self._folder, 300), root=root)

    def _name_file(self, url: str) -> tuple[str, str]:
        """Return what a kept file is called, and where the editor finds it."""
        uploads = self._ship.uploads
        found = uploads.find(url.removeprefix(ADDRESS)) if url.startswith(ADDRESS) else None
        return name_upload(uploads, url), url if found is None else found[1].as_uri()
