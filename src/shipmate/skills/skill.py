"""Read one skill: a folder with a SKILL.md as the Agent Skills standard describes it."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from shipmate.skills.requirement import NOTHING, Requirement, read_requirement
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting
from shipmate.workspace.file import FileText
from shipmate.workspace.frontmatter import read_frontmatter

# The standard's own limits.
NAME_LIMIT = 64
DESCRIPTION_LIMIT = 1024

SALVAGE_LIMIT = 16_384
_SALVAGED = re.compile(r"^(name|description|always):[ \t]*([^\s\[{|>&*!%@`].*?)[ \t\r]*$", re.MULTILINE)

Origin = Literal["member", "workspace", "package"]
# Keys under `metadata` whose object may carry `always`, `requires` and `os`.
DIALECTS = ("shipmate", "nanobot", "openclaw")


class Skill(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Hold a skill as its files describe it."""

    name: str
    # What people call it; the name unless a skill.json says otherwise.
    title: str
    description: str
    # What `read` takes to load it.
    location: str
    folder: str
    origin: Origin
    body: str
    always: bool = False
    enabled: bool = True
    requirement: Requirement = NOTHING
    # What this machine lacks for it; empty when it can be used.
    missing: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_available(self) -> bool:
        return not self.missing


def read_skill(folder: str, origin: Origin, location: str, text: FileText, card: FileText) -> Skill:
    """Read a skill from its SKILL.md and, where there is one, ZyHive's skill.json."""
    front = read_frontmatter(text.text)
    # `description: Does this: that` is no YAML, yet what it says is plain.
    data = front.data if not front.problem else dict(_SALVAGED.findall(front.raw[:SALVAGE_LIMIT]))
    zyhive, card_problem = _read_card(card)
    name = _line(data.get("name"))
    problems = [text.problem] if text.problem else []
    problems += [f"broken front matter: {front.problem}"] if front.problem else []
    problems += [card_problem] if card_problem else []
    if len(name) > NAME_LIMIT:
        problems.append(f"its name has more than {NAME_LIMIT} characters; the folder's name is used")
        name = ""
    words = _line(data.get("description")) or _line(zyhive.get("description")) or _first_line(front.body)
    if len(words) > DESCRIPTION_LIMIT:
        problems.append(f"its description has {len(words):,} characters; {DESCRIPTION_LIMIT} are used")
        words = words[: DESCRIPTION_LIMIT - 1] + "…"
    dialects = _dialects(data.get("metadata"))
    return Skill(
        name=name or folder,
        title=_line(zyhive.get("name"))[:NAME_LIMIT] or name or folder,
        description=words or name or folder,
        location=location,
        folder=folder,
        origin=origin,
        body=front.body.strip(),
        always=any(_is_true(source.get("always")) for source in (data, *dialects)),
        enabled=zyhive.get("enabled") is not False,
        requirement=read_requirement(data, *dialects),
        problems=tuple(problems),
    )


def _read_card(card: FileText) -> tuple[JsonObject, str]:
    if card.is_missing:
        return {}, ""
    try:
        found = msgspec.json.decode(check_nesting(card.text.encode()))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}, "its skill.json is not JSON and is ignored"
    return (found, "") if isinstance(found, dict) else ({}, "its skill.json is no object and is ignored")


def _dialects(metadata: Any) -> list[JsonObject]:
    """Give the objects of known dialects in `metadata`, itself an object or JSON text."""
    if isinstance(metadata, str):
        try:
            metadata = msgspec.json.decode(check_nesting(metadata.encode()))
        except (msgspec.DecodeError, UnicodeEncodeError):
            return []
    if not isinstance(metadata, dict):
        return []
    return [metadata[name] for name in DIALECTS if isinstance(metadata.get(name), dict)]


def _is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _line(value: Any) -> str:
    """Give a value as one line of text; nothing when it is no text or number."""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) and value is not True else ""


_HEADING = re.compile(r"^#+\s*")


def _first_line(body: str) -> str:
    """Give the first line of prose, for a skill that does not describe itself."""
    lines = [line.strip() for line in body[:4096].splitlines() if line.strip()]
    prose = [line for line in lines if not _HEADING.match(line)]
    return (prose or [_HEADING.sub("", line) for line in lines] or [""])[0]
