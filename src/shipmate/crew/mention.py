"""Find whom a message hands over to: `@name` at the start of a line, `[NEXT: name, …]`; not in code."""

from __future__ import annotations

import re

import msgspec

# A fence that is never closed reaches to the end, as Markdown has it.
CODE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(`+)[^`\n][^\n]*?\1")
MENTION = re.compile(
    r"^[ \t]{0,3}@(?P<at>[\w-]{1,64})|\[NEXT:[ \t]*(?P<next>[^\]\n]{1,400})\]", re.MULTILINE | re.IGNORECASE
)


class Mention(msgspec.Struct, frozen=True):
    """A name as it was written, and the mark it stood in."""

    name: str
    marker: str


def find_mentions(text: str) -> list[Mention]:
    """Return the names a text hands over to, each once, in the order they stand."""
    words = INLINE.sub("", CODE.sub("", text))
    found: dict[str, Mention] = {}
    for match in MENTION.finditer(words):
        at = match["at"]
        for name in [at] if at else filter(None, map(str.strip, match["next"].split(","))):
            found.setdefault(name.casefold(), Mention(name, f"@{name}" if at else f"[NEXT: {name}]"))
    return list(found.values())
