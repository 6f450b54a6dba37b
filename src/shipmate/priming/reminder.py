"""Read and write the reminders of a script: replayed, each is a pin of the new thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shipmate.priming.kind import FLAG, NAME, TEXT, Kind, one_of
from shipmate.thread.course import read_course
from shipmate.thread.pin import Pin, is_pin_row
from shipmate.values.message import JsonObject, UIMessage

_OPTIONAL: dict[str, Kind] = {
    "id": NAME,
    "echoback": FLAG,
    "scope": one_of("dialog", "task", "agent", "runtime"),
    "renderMode": one_of("plain", "markdown"),
    "createdAt": TEXT,
    "priority": one_of("high", "medium", "low"),
}
# What a row that opens a course says about its own thread.
_OF_THE_THREAD = frozenset({"closes", "approvals", "pins", "said"})


def check_reminders(frontmatter: JsonObject) -> str:
    """Say what is wrong with the reminders, "" when nothing is."""
    reminders = frontmatter.get("reminders")
    if "reminders" not in frontmatter:
        return ""
    if not isinstance(reminders, list):
        return "`reminders` must be a list of {content, …}"
    for number, reminder in enumerate(reminders, 1):
        if problem := _check_reminder(reminder):
            return f"reminder {number}: {problem}"
    return ""


def _check_reminder(reminder: object) -> str:
    if not isinstance(reminder, dict):
        return "write {content, …}"
    if not NAME.test(reminder.get("content")):
        return "`content` must be a text that is not blank"
    if "ownerName" in reminder:
        return "no owner of reminders is registered here. Leave `ownerName` out"
    for name, kind in _OPTIONAL.items():
        if name in reminder and not kind.test(reminder[name]):
            return f"`{name}` must be {kind.want}"
    return ""


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
    place = next(at for at, part in enumerate(message["parts"]) if part.get("type") == "data-course")
    parts = list(message["parts"])
    if course.pins:
        # The words about the pins stand right behind the course.
        del parts[place + 1 : place + 2]
    data = {key: value for key, value in parts[place]["data"].items() if key not in _OF_THE_THREAD}
    parts[place] = {**parts[place], "data": data}
    says_something = len(parts) > 1 or course.summary or course.tainted
    return {**message, "parts": parts} if says_something else None
