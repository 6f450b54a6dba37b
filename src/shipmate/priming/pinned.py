"""Make pins of the reminders of a script, and reminders of the pins of a thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shipmate.thread.course import read_course
from shipmate.thread.pin import Pin, is_pin_row, without_words
from shipmate.values.message import JsonObject, UIMessage

# What a row that opens a course says about its own thread.
_OF_THE_THREAD = frozenset({"closes", "approvals", "pins", "said", "kept"})


def read_reminders(reminders: Iterable[JsonObject], at: str) -> list[Pin]:
    """Return the pins that reminders make; the same words make one."""
    found: dict[str, Pin] = {}
    for reminder in reminders:
        text = str(reminder["content"]).strip()
        tainted = _is_tainted(reminder.get("meta"))
        known = found.get(text)
        number = known.number if known else len(found) + 1
        found[text] = Pin(number=number, text=text, at=at, tainted=tainted or bool(known and known.tainted))
    return list(found.values())


def _is_tainted(meta: Any) -> bool:
    return isinstance(meta, dict) and bool(meta.get("tainted"))


def write_reminders(pins: Iterable[Pin]) -> list[JsonObject]:
    """Return the reminders that make these pins again."""
    return [
        {
            "content": pin.text,
            "id": f"pin-{pin.number}",
            "scope": "dialog",
            **({"meta": {"tainted": True}} if pin.tainted else {}),
        }
        for pin in pins
    ]


def without_pins(messages: Sequence[UIMessage]) -> list[UIMessage]:
    """Return messages without what the reminders say, and without what only concerns the thread itself."""
    kept = (_strip(message) for message in messages if not is_pin_row(message))
    return [message for message in kept if message is not None]


def _strip(message: UIMessage) -> UIMessage | None:
    """Return a row that opened a course with its summary and taint alone; None when it has neither."""
    course = read_course(message)
    if course is None:
        return message
    parts = without_words(message["parts"])
    place = next(at for at, part in enumerate(parts) if part.get("type") == "data-course")
    data = {key: value for key, value in parts[place]["data"].items() if key not in _OF_THE_THREAD}
    parts[place] = {**parts[place], "data": data}
    says_something = len(parts) > 1 or course.summary or course.tainted
    return {**message, "parts": parts} if says_something else None
