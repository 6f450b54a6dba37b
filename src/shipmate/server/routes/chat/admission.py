"""Decide what a chat request starts: which events, and which message the client goes on with."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from shipmate.delivery.reception.transcribing import take_voice
from shipmate.orchestrator.lane.ingress import last_said
from shipmate.orchestrator.turn import message_id_of
from shipmate.server.guard.error import ApiError, invalid, missing
from shipmate.server.guard.viewer import viewer
from shipmate.server.port import Ship, read_if_there
from shipmate.server.routes.chat.chat_body import (
    RETRY,
    ChatBody,
    ClientDecision,
    decided_reply_event,
    held_copy,
    last_message,
    read_decision,
    retry_event,
    retry_id,
    text_event,
    waiting_approvals,
)
from shipmate.server.stream.view import run_of
from shipmate.thread.course import read_course
from shipmate.thread.service import Thread
from shipmate.values.event import IngressEvent, RetryEvent, TextEvent
from shipmate.values.message import JsonObject, UIMessage, metadata_of, text_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

# What the state of a part looks like in a message that holds a decision; others need not be decoded.
DECIDED = b'"approval-responded"'


class Admission(msgspec.Struct, frozen=True):
    """What a request starts, and the client's copy of the message it goes on with."""

    events: list[IngressEvent]
    held: UIMessage | None = None


async def admit(ship: Ship, thread_id: ThreadId, body: ChatBody, key: str | None) -> Admission:
    """Read a chat request; raise an error that says in words why nothing can come of it."""
    if body.member and body.member not in ship.crew.ids():
        # Says who there is, before anything is stored.
        ship.crew.find(body.member)
    if body.trigger == RETRY:
        thread = await read_if_there(ship, thread_id)
        if thread is None:
            raise missing("such thread")
        retry = await _retry(ship, thread, body, key)
        return Admission([*_decisions(thread, body), *([] if retry is None else [retry])])
    message = last_message(body)
    if message["role"] == "user":
        event = text_event(thread_id, message, body.member)
        await refuse_edit(ship, event)
        await _mark(ship, event, body.member)
        return Admission([*_decisions(await read_if_there(ship, thread_id), body), take_voice(event)])
    return await _admit_decisions(ship, thread_id, body)


async def refuse_edit(ship: Ship, event: TextEvent) -> None:
    """Refuse other words under the id of a stored message: the stored answer is none to them."""
    thread_id = ThreadId.parse(event.thread_id)
    thread = await read_if_there(ship, thread_id)
    if thread is None and await asyncio.to_thread(_is_in_bin, ship, thread_id, event.message_id):
        raise ApiError(
            409,
            "conflict",
            "This message and what came of it are in a thread that was moved to the bin.",
            "Restore the thread to read it, or send the words as a new message.",
        )
    stored = thread.find(event.message_id) if thread is not None else None
    waits = next(
        (row.event for row in await ship.keeper.queue(event.thread_id) if _is_of(row.event, event)), None
    )
    if stored is not None and not _says(stored, event):
        raise _edited()
    said = event.text, event.attachments
    if isinstance(waits, TextEvent) and not waits.spoken and (waits.text, waits.attachments) != said:
        raise _edited()


async def _admit_decisions(ship: Ship, thread_id: ThreadId, body: ChatBody) -> Admission:
    """Take decisions that came without a new message; those taken before join what came of them."""
    sent = [message for message, _ in _decided(body)]
    if not sent:
        raise invalid("There is no new message and no answer to an approval.")
    for _, decisions in _decided(body):
        for decision in decisions:
            read_decision(decision)
    thread = await ship.threads.read(thread_id)
    # Clients go on with the message they name, else with their last one.
    named = next((each for each in sent if each.get("id") == body.message_id), None)
    held = held_copy(named or last_message(body))
    return Admission(_decisions(thread, body), held if held and thread.find(held["id"]) else None)


def _decisions(thread: Thread | None, body: ChatBody) -> list[IngressEvent]:
    """Make events of the decisions in any message of the body, of those that are still waited for."""
    waiting = waiting_approvals(thread.messages) if thread is not None and thread.waiting else {}
    if thread is None or not waiting:
        return []
    found: dict[str, ClientDecision] = {}
    for _, decisions in _decided(body):
        for decision in decisions:
            if isinstance(decision, dict) and decision.get("id") in waiting:
                read = read_decision(decision)
                found[read.approval_id] = read
    return [decided_reply_event(str(thread.id), decision) for decision in found.values()]


def _decided(body: ChatBody) -> list[tuple[JsonObject, list[Any]]]:
    """List the messages of the body that hold decisions, with what they say."""
    found: list[tuple[JsonObject, list[Any]]] = []
    for raw in body.messages:
        if DECIDED not in bytes(raw):
            continue
        message = msgspec.json.decode(raw)
        parts = message.get("parts") if isinstance(message, dict) else None
        decided = [
            part.get("approval")
            for part in (parts if isinstance(parts, list) else ())
            if isinstance(part, dict) and part.get("state") == "approval-responded"
        ]
        if decided:
            found.append((message, decided))
    return found


async def _retry(ship: Ship, thread: Thread, body: ChatBody, key: str | None) -> RetryEvent | None:
    """Make the event of a retry, or None when the answer it asks for is being written already."""
    named = thread.find(body.message_id) if body.message_id else None
    running = await run_of(ship, thread.id)
    if running and body.message_id == message_id_of(running):
        raise _being_written()
    if body.message_id and named is None:
        raise missing("such message")
    last = last_said(thread)
    if last is None or read_course(last) is not None:
        raise missing("message to answer again")
    replaced = named if named is not None and named["role"] == "assistant" else last
    event = retry_event(thread.id, retry_id(key or replaced["id"]), replaced)
    if await _is_known(ship, replaced, event):
        return event
    question = named if named is not None and named["role"] == "user" else _asked(body)
    if replaced["id"] != last["id"] or _is_past(thread, question):
        raise _replaced()
    if running is None:
        return event
    if key or named is not None:
        raise _being_written()
    return None


def _asked(body: ChatBody) -> JsonObject | None:
    message = msgspec.json.decode(body.messages[-1]) if body.messages else None
    return message if isinstance(message, dict) and message.get("role") == "user" else None


def _is_past(thread: Thread, question: UIMessage | JsonObject | None) -> bool:
    """Return whether the thread went on after a question."""
    said = [message["id"] for message in thread.messages if message["role"] == "user"]
    return question is not None and question.get("id") in said[:-1]


async def _is_known(ship: Ship, replaced: UIMessage, event: RetryEvent) -> bool:
    """Return whether a retry of the same key was taken before."""
    keys = [part["data"].get("key") for part in replaced["parts"] if part["type"] == "data-replaced"]
    return event.message_id in keys or any(
        row.event.message_id == event.message_id for row in await ship.keeper.queue(event.thread_id)
    )


def _says(stored: UIMessage, event: TextEvent) -> bool:
    # A recording was sent without the words that were heard in it.
    is_spoken = metadata_of(stored).get("spoken") is True
    files = [(part.get("url"), part.get("mediaType")) for part in stored["parts"] if part["type"] == "file"]
    return (
        stored["role"] == "user"
        and (text_of(stored) == event.text or (is_spoken and text_of(stored).startswith(event.text.strip())))
        and files == [(each.url, each.media_type) for each in event.attachments]
    )


def _is_of(waiting: IngressEvent, event: IngressEvent) -> bool:
    return (waiting.platform, waiting.message_id) == (event.platform, event.message_id)


def _is_in_bin(ship: Ship, thread_id: ThreadId, message_id: str) -> bool:
    path = ship.layout.thread_bin(thread_id)
    if not path.is_file():
        return False
    sought = msgspec.json.encode(message_id)
    with path.open("rb") as lines:
        return any(b'"id":' + sought in line.replace(b'"id": ', b'"id":') for line in lines)


async def _mark(ship: Ship, event: TextEvent, member: str | None) -> None:
    """Note whose a new thread is, before its first word makes it."""
    is_marked = member not in (None, CAPTAIN) or bool(viewer().uid)
    if is_marked and await ship.store.threads.find(event.thread_id) is None:
        settings = viewer().claim({})
        await ship.store.threads.create(event.thread_id, member=member or CAPTAIN, settings=settings)


def _edited() -> ApiError:
    return ApiError(
        409,
        "conflict",
        "A message with this id is stored with other words, and stored messages are not changed.",
        "Branch the thread before it (POST /api/threads/{id}/branch) and say the new words there.",
    )


def _replaced() -> ApiError:
    return ApiError(
        409,
        "conflict",
        "That answer is no longer the last one of the thread, so it cannot be replaced.",
        "Read the thread again and retry its last answer, or branch before it.",
    )


def _being_written() -> ApiError:
    return ApiError(409, "conflict", "An answer is being written in that thread.", "Wait for it, or stop it.")
