"""Open courses and change pins: what a person notes in a thread without asking the member anything."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from shipmate.thread.course import Course, Stretch, course_parts, open_calls, steps_of
from shipmate.thread.pin import Pin, list_pins, pin_parts, say, unpin_parts
from shipmate.thread.service import Thread
from shipmate.values.event import CourseEvent, Outcome, PinEvent
from shipmate.values.message import JsonObject, UIMessage, new_id, timestamp

NoteEvent: TypeAlias = CourseEvent | PinEvent

# More could crowd out the conversation itself: every course begins with all of them.
PIN_LENGTH = 4_000
PIN_COUNT = 50


class Note(msgspec.Struct, frozen=True):
    """What comes of an event: the row that keeps it, if it changes anything, and the words back."""

    row: UIMessage | None
    outcome: Outcome


class NoteContent(msgspec.Struct, frozen=True):
    """The parts of a row, what is said back, and the course the row belongs to."""

    parts: list[JsonObject]
    said: str
    course: int


def make_course_event(
    thread_id: str,
    *,
    platform: str,
    user_id: str,
    message_id: str | None = None,
    summarise: bool = False,
    focus: str = "",
) -> CourseEvent:
    """Make the event that opens a course, empty but for its pins or with a summary."""
    return CourseEvent(
        platform=platform,
        thread_id=thread_id,
        user_id=user_id,
        message_id=message_id or new_id("course"),
        timestamp=timestamp(),
        summarise=summarise,
        focus=focus,
    )


def make_pin_event(
    thread_id: str,
    text: str = "",
    number: int | None = None,
    *,
    platform: str,
    user_id: str,
    message_id: str | None = None,
    member: str | None = None,
    source: str | None = None,
) -> PinEvent:
    """Make the event that pins a text, or takes a pin off by its number."""
    return PinEvent(
        platform=platform,
        thread_id=thread_id,
        user_id=user_id,
        message_id=message_id or new_id("pin" if number is None else "unpin"),
        timestamp=timestamp(),
        member=member,
        text=text,
        number=number,
        source=source,
    )


def make_note(
    thread: Thread, event: NoteEvent, row_id: str, *, tainted: bool, language: str, summary: str = ""
) -> Note:
    """Decide what comes of an event; the caller puts the row on disk."""
    told = _decide(thread, event, tainted, language, summary)
    if isinstance(told, Outcome):
        return Note(None, told)
    row = _make_row(event, row_id, told)
    return Note(row, Outcome(run_id="", status="replied", message_id=row_id, text=told.said))


def _decide(
    thread: Thread, event: NoteEvent, tainted: bool, language: str, summary: str
) -> NoteContent | Outcome:
    match event:
        case CourseEvent():
            return _open_course(thread, tainted, language, summary)
        case PinEvent(number=int()):
            return _unpin(thread, event, language)
        case PinEvent() if event.text:
            return _pin(thread, event, tainted, language)
        case _:
            return Outcome(run_id="", status="replied", text=tell_pins(thread, language))


def tell_pins(thread: Thread, language: str) -> str:
    """List the pins of a thread for a person."""
    pins = thread.pins.list()
    return f"{say(language, 'pins')}\n\n{list_pins(pins)}" if pins else say(language, "no-pins")


def outcome_of_note(row: UIMessage | None) -> Outcome | None:
    """Return what was said back to an event, once a row keeps it."""
    if row is None:
        return None
    said = (part["data"].get("said") for part in row["parts"] if part.get("id") in ("course", "pin", "unpin"))
    return Outcome(run_id="", status="replied", message_id=row["id"], text=str(next(said, None) or ""))


def _open_course(thread: Thread, tainted: bool, language: str, summary: str) -> NoteContent | Outcome:
    closed = [message for message in thread.current() if message["role"] != "system"]
    if not thread.messages:
        return _refuse(say(language, "empty-thread"))
    if not closed:
        return _refuse(say(language, "empty-course", course=thread.course))
    course = next_course(thread, tainted=tainted, summary=summary)
    told = _tell_opened(course, len(closed), language)
    return NoteContent(course_parts(course, language), told, course.course)


def next_course(thread: Thread, *, tainted: bool, summary: str = "", kept: tuple[str, ...] = ()) -> Course:
    """Describe the course that would follow the current one, with all it must carry over."""
    waiting = (message for each in thread.waiting if (message := thread.find(each)) is not None)
    return Course(
        course=thread.course + 1,
        closes=Stretch(
            course=thread.course,
            first=thread.current()[0]["id"],
            last=thread.messages[-1]["id"],
            messages=len(thread.current()),
        ),
        tainted=tainted,
        approvals=tuple(open_calls(waiting)),
        pins=tuple(thread.pins.list()),
        steps=steps_of(thread.messages),
        summary=summary,
        kept=kept,
    )


def _tell_opened(course: Course, count: int, language: str) -> str:
    key = "opened-summary" if course.summary else "opened"
    lines = [say(language, key, course=course.course, closed=course.course - 1, count=count)]
    if course.pins:
        lines.append(say(language, "opened-pins", count=len(course.pins)))
    if asked := [call for call in course.approvals if call.approval_id]:
        lines.append(say(language, "opened-approvals", count=len(asked)))
    return "\n".join(lines)


def _pin(thread: Thread, event: PinEvent, tainted: bool, language: str) -> NoteContent | Outcome:
    text = event.text.strip()
    if not text:
        return _refuse(say(language, "blank-pin"))
    if len(text) > PIN_LENGTH:
        return _refuse(say(language, "long-pin", length=f"{len(text):,}", limit=f"{PIN_LENGTH:,}"))
    if (count := len(thread.pins.list())) >= PIN_COUNT:
        return _refuse(say(language, "many-pins", count=count))
    pin = Pin(
        number=thread.pins.next_number,
        text=text,
        at=event.timestamp,
        by=event.user_id,
        source=event.source,
        tainted=tainted,
    )
    return NoteContent(pin_parts(pin, language), say(language, "pinned", number=pin.number), thread.course)


def _unpin(thread: Thread, event: PinEvent, language: str) -> NoteContent | Outcome:
    pin = thread.pins.get(event.number or 0)
    if pin is None:
        numbers = ", ".join(str(each.number) for each in thread.pins.list()) or say(language, "none")
        return _refuse(say(language, "no-pin", number=event.number, numbers=numbers))
    return NoteContent(
        unpin_parts(pin, language), say(language, "unpinned", number=pin.number), thread.course
    )


def _make_row(event: NoteEvent, row_id: str, change: NoteContent) -> UIMessage:
    """Make the row of an event. Its id follows from the event, so that it is stored once."""
    first, *rest = change.parts
    metadata: JsonObject = {
        "timestamp": event.timestamp,
        "platform": event.platform,
        "userId": event.user_id,
        "messageId": event.message_id,
        "threadId": event.thread_id,
        "course": change.course,
    }
    # A repeat is answered with the same words.
    kept = {**first, "data": {**first["data"], "said": change.said}}
    return {"id": row_id, "role": "system", "metadata": metadata, "parts": [kept, *rest]}


def _refuse(words: str) -> Outcome:
    return Outcome(run_id="", status="failed", error=words)
