"""Open courses, and pin what every course must show."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Path
from pydantic import StringConstraints
from starlette.responses import Response

from shipmate.orchestrator.lane.note import PIN_LENGTH, NoteEvent, make_course_event, make_pin_event
from shipmate.server.guard.error import ApiError, invalid, missing
from shipmate.server.guard.viewer import viewer
from shipmate.server.port import Ship
from shipmate.server.routes.thread import find_thread
from shipmate.server.shape import Answer, Json, Shape, Slot, tells
from shipmate.server.site import ID_LIMIT, PLATFORM, TheShip
from shipmate.thread.course import read_course
from shipmate.thread.pin import Pin, read_pin
from shipmate.thread.service import Thread
from shipmate.values.event import CourseEvent, Outcome, PinEvent
from shipmate.values.message import text_of
from shipmate.values.thread_id import ThreadId

# How long a request waits for a thread where nothing runs; what takes longer is stored and done later.
WAIT_SECONDS = 10.0
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=ID_LIMIT - 20)]
router = APIRouter(tags=["courses"])


class NewPin(Shape):
    """What to pin: a text, or else the words of a message."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=PIN_LENGTH)] | None = None
    message_id: Slot | None = None


class Compaction(Shape):
    """What the summary should heed above all, if anything."""

    focus: Annotated[str, StringConstraints(max_length=PIN_LENGTH)] = ""


class PinView(Answer):
    """A pinned fact, when and by whom it was pinned, and the message it was taken from."""

    number: int
    text: str
    at: str = ""
    by: str = ""
    source: str | None = None


class PinsView(Answer):
    """What is pinned, oldest first, and the texts that will be once the run has ended."""

    pins: list[PinView]
    waiting: list[str]


class Noted(Answer):
    """What came of a course to open or a pin; what waits is done when the run has ended."""

    message_id: str
    waits: bool
    course: int | None
    pin: PinView | None
    say: str | None


@router.post("/api/threads/{thread_id}/courses", status_code=202, openapi_extra=tells(Noted))
async def open_course(ship: TheShip, thread_id: str, key: Key = None) -> Response:
    """Open a course: the model sees nothing of what was said before, but for the pins. A run ends first."""
    name = await _name(ship, thread_id)
    event = make_course_event(
        name, platform=PLATFORM, user_id=viewer().speaker, message_id=_name_event("course", key)
    )
    return await _answer(ship, event)


@router.post("/api/threads/{thread_id}/compact", status_code=202, openapi_extra=tells(Noted))
async def compact(ship: TheShip, thread_id: str, body: Compaction, key: Key = None) -> Response:
    """Sum a thread up: a course begins with the summary. On trouble nothing changes. A run ends first."""
    event = make_course_event(
        await _name(ship, thread_id),
        platform=PLATFORM,
        user_id=viewer().speaker,
        message_id=_name_event("compact", key),
        summarise=True,
        focus=body.focus,
    )
    return await _answer(ship, event)


@router.get("/api/threads/{thread_id}/pins", openapi_extra=tells(PinsView))
async def read_pins(ship: TheShip, thread_id: str) -> Response:
    """List what is pinned in a thread, and what will be once its run has ended."""
    name = (await find_thread(ship, thread_id)).thread_id
    thread = await _read(ship, name)
    pins = thread.pins.list() if thread is not None else []
    rows = await ship.keeper.queue(name)
    events = [row.event for row in rows if isinstance(row.event, PinEvent)]
    waiting = [event.text for event in events if event.text]
    return Json(PinsView(pins=[_show(each) for each in pins], waiting=waiting))


@router.post("/api/threads/{thread_id}/pins", status_code=202, openapi_extra=tells(Noted))
async def pin(ship: TheShip, thread_id: str, body: NewPin, key: Key = None) -> Response:
    """Pin a text, or the words of a message, so that every course of the thread shows it."""
    name = await _name(ship, thread_id)
    text = body.text
    if text is None:
        text = await _words_of(ship, name, body.message_id)
    if not text.strip() or len(text) > PIN_LENGTH:
        raise invalid(
            f"text: {len(text):,} characters; a pin holds 1 to {PIN_LENGTH:,}. Write the fact alone."
        )
    event = make_pin_event(
        name,
        text,
        platform=PLATFORM,
        user_id=viewer().speaker,
        message_id=_name_event("pin", key),
        source=body.message_id,
    )
    return await _answer(ship, event)


@router.delete("/api/threads/{thread_id}/pins/{number}", status_code=202, openapi_extra=tells(Noted))
async def unpin(
    ship: TheShip, thread_id: str, number: Annotated[int, Path(ge=1, le=2**31)], key: Key = None
) -> Response:
    """Take a pin off; the thread keeps that it was there."""
    name = await _name(ship, thread_id)
    event = make_pin_event(
        name, number=number, platform=PLATFORM, user_id=viewer().speaker, message_id=_name_event("unpin", key)
    )
    return await _answer(ship, event)


async def _name(ship: Ship, thread_id: str) -> str:
    """Return the id of a thread that can be changed."""
    info = await find_thread(ship, thread_id)
    if info.binned:
        raise ApiError(409, "conflict", "The thread is in the bin.", "Restore it first.")
    return info.thread_id


def _name_event(kind: str, key: str | None) -> str | None:
    """Name an event by the client's key: sent twice it is done once."""
    return None if key is None else f"{kind}-{key}"


async def _words_of(ship: Ship, name: str, message_id: str | None) -> str:
    if message_id is None:
        raise invalid("Write what to pin: text, or the messageId of a message.")
    thread = await _read(ship, name)
    message = thread.find(message_id) if thread is not None else None
    if message is None or message["role"] == "system":
        raise missing("such message")
    return text_of(message)


async def _answer(ship: Ship, event: NoteEvent) -> Response:
    """Hand an event over; wait for what comes of it, unless a run goes first."""
    is_busy = ship.keeper.running(event.thread_id) is not None
    receipt = await ship.keeper.receive(event)
    outcome: Outcome | None = None
    if not (is_busy and receipt.row.outcome is None):
        try:
            outcome = await asyncio.wait_for(receipt.outcome(), WAIT_SECONDS)
        except TimeoutError:
            # Another run of the thread went first; the event is stored and will be taken.
            outcome = None
    if outcome is not None and outcome.status != "replied":
        raise _refused(event, outcome)
    thread = await _read(ship, event.thread_id)
    return Json(_show_note(thread, event, outcome), 202)


def _refused(event: NoteEvent, outcome: Outcome) -> ApiError:
    words = outcome.error or "Nothing came of it."
    if isinstance(event, PinEvent) and event.number is not None:
        return ApiError(404, "not-found", words, "Look at the pins again.")
    if isinstance(event, CourseEvent) and event.summarise:
        return ApiError(409, "conflict", words, "Nothing changed; try again, or open a new course.")
    if outcome.retryable:
        return ApiError(503, "unavailable", words, "Try again.")
    return ApiError(409, "conflict", words, "Say something in the thread first.")


def _show_note(thread: Thread | None, event: NoteEvent, outcome: Outcome | None) -> Noted:
    message = thread.find(outcome.message_id or "") if thread is not None and outcome is not None else None
    course = read_course(message)
    parts = message["parts"] if message is not None else []
    pinned = next((read_pin(part["data"]) for part in parts if part.get("type") == "data-pin"), None)
    return Noted(
        message_id=event.message_id,
        waits=outcome is None,
        course=course.course if course is not None else None,
        pin=None if pinned is None else _show(pinned),
        say=outcome.text if outcome is not None else None,
    )


def _show(pin: Pin) -> PinView:
    return PinView(number=pin.number, text=pin.text, at=pin.at, by=pin.by, source=pin.source)


async def _read(ship: Ship, name: str) -> Thread | None:
    """Read a thread; one that was made without words has no file to read."""
    thread_id = ThreadId.parse(name)
    return await ship.threads.read(thread_id) if await ship.threads.exists(thread_id) else None
