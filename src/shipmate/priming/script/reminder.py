"""Check the reminders that scripts may carry; replayed, each is a pin of the new thread."""

from __future__ import annotations

from shipmate.priming.script.kind import FLAG, NAME, TEXT, Kind, one_of
from shipmate.values.message import JsonObject

_OPTIONAL: dict[str, Kind] = {
    "id": NAME,
    "echoback": FLAG,
    "scope": one_of("dialog", "task", "agent", "runtime"),
    "renderMode": one_of("plain", "markdown"),
    "createdAt": TEXT,
    "priority": one_of("high", "medium", "low"),
}


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
