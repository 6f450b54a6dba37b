"""Describe a priming script: its frontmatter, its records, and what is said about a mistake in one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shipmate.errors import PrimingError
from shipmate.values.message import JsonObject

KIND = "agent_priming_script"
VERSION = 3
# The origin trims by JavaScript's notion of white space, which is not Python's.
BLANKS = (
    " \t\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


class ScriptError(PrimingError):
    """That priming script breaks the format. Mend the line it names."""

    def __init__(
        self, problem: str, *, path: str = "", line: int = 0, record: int = 0, rule: str = "format"
    ) -> None:
        where = f"{path or 'script'}:{line}: " if line else f"{path}: " if path else ""
        which = f"record {record}: " if record else ""
        super().__init__(f"{where}{which}{problem}")
        self.problem = problem
        self.path = path
        self.line = line
        self.record = record
        # Which kind of mistake it is.
        self.rule = rule


@dataclass(slots=True)
class Record:
    """One `### record` block: its known fields (the body among them) and the metadata no rule names."""

    type: str
    fields: JsonObject
    extra: JsonObject = field(default_factory=dict[str, Any])
    # Where the heading stood in the file; two equal records may stand in different places.
    line: int = field(default=0, compare=False)

    @property
    def genseq(self) -> int | None:
        """Return the number of the generation the record belongs to."""
        return self.fields.get("genseq")

    def values(self) -> JsonObject:
        """Return the record as one JSON object, without what no rule names."""
        return {"type": self.type, **self.fields}


@dataclass(slots=True)
class Script:
    """A whole script."""

    frontmatter: JsonObject
    records: list[Record]

    @property
    def title(self) -> str | None:
        """Return the title, None when there is none."""
        title = self.frontmatter.get("title")
        return title.strip(BLANKS + "\n") or None if isinstance(title, str) else None

    @property
    def applicable(self) -> tuple[str, ...]:
        """List the members a shared script is for; empty means every member."""
        listed = self.frontmatter.get("applicableMemberIds", self.frontmatter.get("applicable_members"))
        if not isinstance(listed, list):
            return ()
        named = [item.strip(BLANKS + "\n") for item in listed if isinstance(item, str)]
        return tuple(dict.fromkeys(filter(None, named)))

    @property
    def reminders(self) -> list[JsonObject]:
        """List the reminders the origin's scripts may carry."""
        return list(self.frontmatter.get("reminders") or [])
