"""Read one skill: a folder with a SKILL.md as the Agent Skills standard describes it."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from shipmate.skills.requirement import NOTHING, Requirement, read_requirement, read_words
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting
from shipmate.values.pattern import lazy_pattern
from shipmate.workspace.file import FileText
from shipmate.workspace.frontmatter import read_frontmatter
from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.yaml import read_yaml

# The standard's own limits.
NAME_LIMIT = 64
DESCRIPTION_LIMIT = 1024

SALVAGE_LIMIT = 16_384
_SALVAGED = lazy_pattern(
    r"^(name|description|always|disable-model-invocation|user-invocable)"
    r":[ \t]*([^\s\[{|>&*!%@`].*?)[ \t\r]*$",
    re.MULTILINE,
)

Origin = Literal["member", "workspace", "package"]
# Keys under `metadata` whose object may carry `always`, `requires` and `os`; the first that is there counts.
DIALECTS = ("shipmate", "nanobot", "openclaw", "clawdbot", "clawdis")
FALSE = frozenset({"false", "no", "off", "0", ""})


class Skill(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A skill as its files describe it."""

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
    # Whether the model is told of it, and whether people may name it as `$skill`.
    is_for_model: bool = True
    is_for_people: bool = True
    # What its author lets it use; shown, and of no effect: rights come from ship.json alone.
    allowed_tools: tuple[str, ...] = ()
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
    words = " ".join(filter(None, (words, _line(data.get("when_to_use")))))
    if len(words) > DESCRIPTION_LIMIT:
        problems.append(f"its description has {len(words):,} characters; {DESCRIPTION_LIMIT} are used")
        words = words[: DESCRIPTION_LIMIT - 1] + "…"
    dialect, metadata_problem = _dialect(data.get("metadata"))
    problems += [metadata_problem] if metadata_problem else []
    return Skill(
        name=name or folder,
        title=_line(zyhive.get("name"))[:NAME_LIMIT] or name or folder,
        description=words or name or folder,
        location=location,
        folder=folder,
        origin=origin,
        body=front.body.strip(),
        always=any(_is_true(source.get("always")) for source in (data, dialect)),
        enabled=zyhive.get("enabled") is not False,
        # What is written there and is no plain "no" closes the skill to the model.
        is_for_model=_is_false(data.get("disable-model-invocation")),
        is_for_people=not _is_false(data.get("user-invocable", True)),
        allowed_tools=_read_tools(data.get("allowed-tools", data.get("allowed_tools"))),
        requirement=read_requirement(data, dialect),
        # Where there is no text there is nothing to use.
        missing=() if text.text.strip() else (f"SKILL.md: {text.problem or 'empty'}",),
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


def _dialect(metadata: Any) -> tuple[JsonObject, str]:
    """Return the object of the first known dialect in `metadata`, itself an object or JSON text."""
    if isinstance(metadata, str):
        try:
            metadata = _decode(metadata)
        except (YamlError, msgspec.DecodeError, UnicodeEncodeError):
            return {}, "its metadata is not JSON and is ignored"
    if not isinstance(metadata, dict):
        return {}, ""
    found = (metadata[name] for name in DIALECTS if isinstance(metadata.get(name), dict))
    return next(found, {}), ""


def _decode(text: str) -> Any:
    """Read JSON, also with the commas and bare keys that JSON5 allows: YAML knows those."""
    try:
        return msgspec.json.decode(check_nesting(text.encode()))
    except msgspec.DecodeError:
        return read_yaml(text)[0]


def _read_tools(value: Any) -> tuple[str, ...]:
    """Return the tools of a list, or of a text that parts them by commas or blanks, brackets kept whole."""
    texts = read_words(value)
    return tuple(name for text in texts for name in re.findall(r"[^\s,()]+(?:\([^)]*\))?", text))


def _is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _is_false(value: Any) -> bool:
    return not value or (isinstance(value, str) and value.strip().lower() in FALSE)


def _line(value: Any) -> str:
    """Return a value as one line of text; nothing when it is no text or number."""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) and value is not True else ""


_HEADING = lazy_pattern(r"^#+\s*")


def _first_line(body: str) -> str:
    """Return the first line of prose, for a skill that does not describe itself."""
    lines = [line.strip() for line in body[:4096].splitlines() if line.strip()]
    prose = [line for line in lines if not _HEADING.match(line)]
    return (prose or [_HEADING.sub("", line) for line in lines] or [""])[0]
