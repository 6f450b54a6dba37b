"""Check the frontmatter of a script. Whom a script is for must be readable, or the script is closed."""

from __future__ import annotations

import re
from typing import Any

from shipmate.priming.script.kind import FLAG, NAME, TEXT, Kind, one_of
from shipmate.priming.script.near_key import find_near, fold_key
from shipmate.priming.script.record import KIND, VERSION
from shipmate.values.message import JsonObject

RESTRICTIONS = ("applicableMemberIds", "applicable_members")
KEYS = (
    "kind",
    "version",
    "title",
    *RESTRICTIONS,
    "ownerAgentId",
    "generatedAt",
    "sourceDialog",
    "reminders",
    "expect",
)
# A key about members that is none of ours was meant to say whom the script is for.
_ABOUT_MEMBERS = re.compile(r"ap+l[iy]|member|agent(?:id)?s")
_ABOUT_MEMBERS_ZH = re.compile("成员|适用")
_PROSE_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_]*(?:[ -][A-Za-z0-9_]+){0,2})[\"'`*]*\s*[:=：]")
# A key on a line of its own, before an arrow or in a table: its members stand beside or below.
_BARE_KEY = re.compile(
    r"\W*([A-Za-z][A-Za-z0-9_]*(?:[ -][A-Za-z0-9_]+){0,2})[\"'`*]*\s*(?:$|[|({\[]|[-=]*[>→⇒])"
)
_OPTIONAL: dict[str, Kind] = {
    "id": NAME,
    "echoback": FLAG,
    "scope": one_of("dialog", "task", "agent", "runtime"),
    "renderMode": one_of("plain", "markdown"),
    "createdAt": TEXT,
    "priority": one_of("high", "medium", "low"),
}


def check_frontmatter(values: JsonObject) -> tuple[str, str]:
    """Return the key that is wrong and what to write instead; two "" when none is."""
    for key, value in values.items():
        if problem := _check_key(key, value):
            return key, problem
    if values.get("kind", KIND) != KIND:
        return "kind", f"`kind` is {values['kind']!r:.80}. Write `kind: {KIND}`, or leave it out"
    version = values.get("version", VERSION)
    if version != VERSION:
        return "version", f"version {version!r:.80} is not known. Write `version: {VERSION}`, or leave it out"
    given = [values[key] for key in RESTRICTIONS if key in values]
    if len(given) > 1 and given[0] != given[1]:
        return RESTRICTIONS[1], "`applicableMemberIds` and `applicable_members` differ. Write one of them"
    problem = check_reminders(values)
    return ("reminders", problem) if problem else ("", "")


def name_rule(key: str, values: JsonObject) -> str:
    """Return the rule that a key breaks."""
    if key not in KEYS and key not in RESTRICTIONS and not _find_hidden(values.get(key)):
        return "key"
    return "restriction" if key in RESTRICTIONS else "frontmatter-value"


def _check_key(key: str, value: Any) -> str:
    if key in RESTRICTIONS:
        return check_restriction(key, value)
    if key in KEYS:
        return "" if key == "reminders" else _find_hidden(value)
    if near := name_restriction(key) or find_near(key, KEYS):
        return f"there is no `{key}`. Write `{near}`"
    return _find_hidden(value)


def check_restriction(key: str, value: Any) -> str:
    """Say why nobody can tell from a value whom a script is for, "" when one can."""
    if isinstance(value, list) and value and all(map(NAME.test, value)):
        return ""
    if isinstance(value, list) and not value:
        return f"`{key}` names nobody. Name the members, or leave it out for everyone"
    return f"`{key}` must be a list of member ids. Write for example `{key}: [ux]`"


def name_restriction(key: str) -> str:
    """Return the key a key about members was meant to be, "" for any other."""
    if key in RESTRICTIONS:
        return key
    is_about = _ABOUT_MEMBERS.search(fold_key(key)) or _ABOUT_MEMBERS_ZH.search(key)
    return RESTRICTIONS[0] if is_about else find_near(key, RESTRICTIONS)


def _find_hidden(value: Any) -> str:
    """Look for a restriction that stands too deep to count."""
    if isinstance(value, list):
        return next((problem for item in value if (problem := _find_hidden(item))), "")
    if isinstance(value, str) and "\n" in value:
        found = next((key for line in value.split("\n") if (key := find_restriction(line))), "")
        return (
            f"`{found}` does not count in a text. Write `applicableMemberIds` at the margin" if found else ""
        )
    if not isinstance(value, dict):
        return ""
    for key, inner in value.items():
        if key in RESTRICTIONS or find_near(key, RESTRICTIONS):
            return f"`{key}` does not count here. Write `applicableMemberIds` at the margin"
        if problem := _find_hidden(inner):
            return problem
    return ""


def find_restriction(line: str) -> str:
    """Return the restriction that a line outside the frontmatter seems to state, "" when it is none."""
    if not line:
        return ""
    bare = _BARE_KEY.match(line)
    found = [bare[1]] if bare is not None else []
    if ":" in line or "=" in line or "：" in line:
        found += [match[1] for match in _PROSE_KEY.finditer(line)]
    return next((key for key in found if key in RESTRICTIONS or find_near(key, RESTRICTIONS)), "")


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
