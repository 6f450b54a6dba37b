"""Find whom a message hands over to: `@name` at the start of a line, `[NEXT: name, …]`; in its own words."""

from __future__ import annotations

import re

import msgspec

# A fence that is never closed reaches to the end, as Markdown has it.
CODE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
# As many marks behind as before; a run of them is looked at once, however long it is.
INLINE = re.compile(r"(?<!`)(`++)[^\n]*?[^`\n]\1(?!`)")
# What others said, and what nobody sees.
QUOTED = re.compile(r"^ {0,3}>[^\n]*|<!--.*?(?:-->|\Z)", re.MULTILINE | re.DOTALL)
MENTION = re.compile(
    r"^[ \t]{0,3}@(?P<at>\w(?:[\w.-]{0,62}[\w-])?)|\[NEXT:[ \t]*(?P<next>[^\[\]\n]{1,400})\]",
    re.MULTILINE | re.IGNORECASE,
)


# Nobody means more people than this, and each is looked for.
MOST = 32


class Mention(msgspec.Struct, frozen=True):
    """A name as it was written, and the mark it stood in."""

    name: str
    marker: str


def find_mentions(text: str) -> list[Mention]:
    """Return the names a text hands over to, each once, in the order they stand."""
    words = QUOTED.sub("", INLINE.sub("`", CODE.sub("", text)))
    found: dict[str, Mention] = {}
    for match in MENTION.finditer(words):
        at = match["at"]
        for name in [at] if at else filter(None, map(str.strip, match["next"].split(","))):
            if len(found) == MOST:
                return list(found.values())
            found.setdefault(name.casefold(), Mention(name, f"@{name}" if at else f"[NEXT: {name}]"))
    return list(found.values())
