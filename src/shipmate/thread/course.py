"""The row that opens a course: what it closes, and what it carries over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shipmate.thread.pin import Pin, list_pins, say
from shipmate.values.message import JsonObject, UIMessage, data_part, is_settled, tool_name, tool_parts


class Stretch(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The course that a row closes: its number, its first and last message, and how many it has."""

    course: int
    first: str
    last: str
    messages: int


class OpenCall(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A call of an earlier course that has no result yet; its question can still be answered."""

    message_id: str
    tool_call_id: str
    tool: str
    approval_id: str | None = None


class Course(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the row that opens a course says of it; the data of its `data-course` part."""

    course: int
    closes: Stretch | None = None
    # Strangers may have written into an earlier course: what acts outward asks in this one too.
    tainted: bool = False
    approvals: tuple[OpenCall, ...] = ()
    pins: tuple[Pin, ...] = ()
    # The list of steps as it stood.
    steps: tuple[JsonObject, ...] = ()
    summary: str = ""
    # Messages before the row that nobody has answered yet: this course shows them whole.
    kept: tuple[str, ...] = ()


def course_parts(course: Course, language: str) -> list[JsonObject]:
    """Make the parts of the row: the course, and what a model reads of pins, steps and summary."""
    parts = [data_part("course", msgspec.json.decode(msgspec.json.encode(course)), "course")]
    told = [say(language, "course-pins", pins=list_pins(course.pins))] if course.pins else []
    if course.steps:
        told.append(say(language, "course-steps", steps=_list_steps(course.steps)))
    if told:
        parts.append({"type": "text", "text": "\n\n".join(told)})
    if course.summary:
        parts.append({"type": "text", "text": course.summary})
    return parts


def steps_of(messages: Sequence[UIMessage]) -> tuple[JsonObject, ...]:
    """Return the list of steps as it stands after some messages; what a course carried over counts."""
    for message in reversed(messages):
        for part in reversed(message["parts"]):
            data = part.get("data")
            if part.get("type") in ("data-steps", "data-course") and isinstance(data, dict):
                steps = data.get("steps")
                return tuple(each for each in steps if isinstance(each, dict)) if steps else ()
    return ()


def _list_steps(steps: Iterable[JsonObject]) -> str:
    return "\n".join(f"[{'x' if each.get('done') else ' '}] {each.get('text', '')}" for each in steps)


def read_course(message: UIMessage | None) -> Course | None:
    """Return what a row says of the course it opens; None when it opens none."""
    if message is None or message["role"] != "system":
        return None
    found = (part.get("data") for part in message["parts"] if part.get("type") == "data-course")
    return _convert(next(found, None))


def _convert(data: Any) -> Course | None:
    try:
        return msgspec.convert(data, Course)
    except msgspec.ValidationError:
        return None


def open_calls(messages: Iterable[UIMessage]) -> list[OpenCall]:
    """List the calls of some messages that have no result yet."""
    return [
        OpenCall(
            message_id=message["id"],
            tool_call_id=part["toolCallId"],
            tool=tool_name(part),
            approval_id=approval.get("id") if isinstance(approval := part.get("approval"), dict) else None,
        )
        for message in messages
        for part in tool_parts(message)
        if not is_settled(part)
    ]


def carry(message: UIMessage, calls: Iterable[OpenCall]) -> UIMessage:
    """Return what a later course shows of a message: the calls that it carried over, as they stand now."""
    wanted = {call.tool_call_id for call in calls if call.message_id == message["id"]}
    parts = [part for part in tool_parts(message) if part["toolCallId"] in wanted]
    return {**message, "parts": parts}
