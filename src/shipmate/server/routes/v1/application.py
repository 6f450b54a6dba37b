"""Decide which thread answers a completion request, and make the event it starts."""

from __future__ import annotations

import contextlib

import msgspec

from shipmate.errors import ThreadIdError, UserError
from shipmate.orchestrator.lane.ingress import last_said
from shipmate.server.guard.error import ApiError
from shipmate.server.guard.viewer import check_sight, sees, viewer
from shipmate.server.port import Ship, read_if_there
from shipmate.server.routes.v1.body import CompletionBody, read_options
from shipmate.server.routes.v1.call_thread import (
    PLATFORM,
    RequestMark,
    call_of,
    callers,
    digest_of,
    make_rows,
    new_call,
    read_mark,
    say,
    take_id,
    words_of,
)
from shipmate.server.routes.v1.client_history import ClientHistory, Words, read_history
from shipmate.server.routes.v1.refusal import bad
from shipmate.thread.service import Thread
from shipmate.values.event import RunOptions, TextEvent, ToolResultEvent
from shipmate.values.message import JsonObject, client_calls, new_id, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

KEY_LIMIT = 255


class Admitted(msgspec.Struct, frozen=True):
    """The thread that answers a request, and the event that is put to it."""

    thread_id: ThreadId
    event: TextEvent | ToolResultEvent


class Application:
    """One request on its way in."""

    def __init__(
        self, ship: Ship, body: CompletionBody, given: JsonObject, header: str | None, key: str | None
    ) -> None:
        self._ship = ship
        self._body = body
        self._given = given
        self._sent: ClientHistory = read_history(body.messages)
        self._options: RunOptions = read_options(body)
        self._named = _name_thread(body, header)
        # Named by the program itself, among its own; not by a header, which may name any.
        self._is_own = not header
        # The keys of one person are not those of another.
        self._key = f"{viewer().uid} {key}" if _check_key(key) is not None and viewer().uid else key
        self._digest = digest_of([given, header]) if key is not None else ""

    async def admit(self, member: str) -> Admitted:
        """Choose the thread, and put on disk what it begins with."""
        if self._named is not None and not self._is_own:
            check_sight(await self._ship.store.threads.find(str(self._named)))
        if self._key is not None and (known := await self._find_repeat(self._key)) is not None:
            return self._admitted(known, member)
        thread_id = self._named or await self._find_caller()
        if thread_id is not None:
            await self._check_results(thread_id)
        own = call_of(self._key) if self._key is not None else new_call()
        thread_id = await self._prepare(own, thread_id, member)
        return self._admitted(thread_id, member)

    async def _find_repeat(self, key: str) -> ThreadId | None:
        """Return the thread that answers a request of this key; another request may not have it."""
        thread = await read_if_there(self._ship, call_of(key))
        if thread is None:
            return None
        mark = read_mark(thread)
        if mark is None or mark.body != self._digest:
            error = ApiError(
                422,
                "idempotency_key_reused",
                "This Idempotency-Key was sent before with another request.",
                "Send a new key with a new request.",
            )
            error.param = "Idempotency-Key"
            raise error
        return ThreadId.parse(mark.thread)

    async def _find_caller(self) -> ThreadId | None:
        """Return the thread whose calls were made for this program, when the request goes on with it."""
        if isinstance(self._sent.new, Words):
            return None
        for thread_id in callers(call.id for call in self._sent.new.calls):
            thread = await read_if_there(self._ship, thread_id)
            mark = None if thread is None else read_mark(thread)
            if thread is None or mark is None or not await sees(self._ship, str(thread_id)):
                continue
            begins = self._given["messages"][: mark.count]
            if mark.digest == digest_of(begins) and self._awaits(thread):
                return thread_id
        return None

    async def _check_results(self, thread_id: ThreadId) -> None:
        if isinstance(self._sent.new, Words):
            return
        thread = await read_if_there(self._ship, thread_id)
        if thread is None or not self._awaits(thread):
            raise bad("messages", f"no calls in the thread {thread_id} wait for just these results.")

    def _awaits(self, thread: Thread) -> bool:
        last = last_said(thread)
        waiting = {part["toolCallId"] for part in client_calls(last)} if last is not None else set[str]()
        return bool(waiting) and waiting == self._results(thread.id).keys()

    def _results(self, thread_id: ThreadId) -> dict[str, str]:
        new = self._sent.new
        calls = () if isinstance(new, Words) else new.calls
        return {take_id(thread_id, call.id): call.result for call in calls}

    async def _prepare(self, own: ThreadId, other: ThreadId | None, member: str) -> ThreadId:
        """Make the thread of the request, or only the note of its key when another thread answers."""
        thread_id = other or own
        if viewer().uid and await self._ship.store.threads.find(str(thread_id)) is None:
            settings = viewer().claim({})
            await self._ship.store.threads.create(str(thread_id), member=member, settings=settings)
        has_history = bool(self._sent.before or self._options.tools or not isinstance(self._sent.new, Words))
        if self._key is None and (other is not None or not has_history):
            return thread_id
        messages = self._given["messages"]
        mark = RequestMark(
            thread=str(thread_id), count=len(messages), digest=digest_of(messages), body=self._digest
        )
        sent = self._sent if other is None else ClientHistory((), Words(text=""))
        if other is None and member != CAPTAIN and not viewer().uid:
            await self._ship.store.threads.create(str(own), member=member)
        # Another request of the same key may have made it just now: it is the same request.
        with contextlib.suppress(UserError):
            await self._ship.threads.create(own, make_rows(own, sent, mark, self._ship.config.language))
        known = await self._find_repeat(self._key) if self._key is not None else None
        return known or thread_id

    def _admitted(self, thread_id: ThreadId, member: str) -> Admitted:
        own = call_of(self._key).scope_id if self._key is not None else new_id("api")
        language = self._ship.config.language
        new = self._sent.new
        if not isinstance(new, Words):
            event: TextEvent | ToolResultEvent = ToolResultEvent(
                platform=PLATFORM,
                thread_id=str(thread_id),
                user_id=viewer().speaker,
                message_id=own,
                timestamp=timestamp(),
                member=member,
                results=self._results(thread_id),
                options=self._options,
            )
            return Admitted(thread_id, event)
        told = self._sent.instructions if self._named is not None else ""
        event = TextEvent(
            platform=PLATFORM,
            thread_id=str(thread_id),
            user_id=viewer().speaker,
            speaker=viewer().shown,
            message_id=own,
            timestamp=timestamp(),
            member=member,
            text=words_of(new, language),
            attachments=new.files,
            extra_context=say(language, "instructions", text=told) if told else None,
            options=self._options,
        )
        return Admitted(thread_id, event)


def _name_thread(body: CompletionBody, header: str | None) -> ThreadId | None:
    """Return the thread that the header or the user names."""
    try:
        if header:
            return ThreadId.parse(header)
        who = f"{viewer().uid}/{body.user}" if viewer().uid else body.user
        return ThreadId(PLATFORM, "user", who) if body.user and who else None
    except ThreadIdError as error:
        raise bad("x-shipmate-thread" if header else "user", str(error)) from error


def _check_key(key: str | None) -> str | None:
    if key is not None and (not 0 < len(key) <= KEY_LIMIT or not key.isprintable()):
        raise bad("Idempotency-Key", f"a text of at most {KEY_LIMIT} characters is expected.")
    return key
