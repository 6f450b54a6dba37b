"""Cut memory into passages: what stands below a heading, or one item of a list there."""

from __future__ import annotations

import re

import msgspec

from shipmate.values.message import JsonObject
from shipmate.workspace.frontmatter import read_frontmatter

# A longer passage is cut at a paragraph.
PASSAGE_LIMIT = 600
_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t#]*$")
_ITEM = re.compile(r"[-*+][ \t]+|\d{1,3}[.)][ \t]+")
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")


class MemoryPassage(msgspec.Struct, frozen=True):
    """A piece of memory, and where it comes from."""

    path: str
    heading: str
    text: str
    # When it was written and in which thread, where the file says so.
    date: str = ""
    source: str = ""
    # Strangers may have written it.
    is_tainted: bool = False

    def __str__(self) -> str:
        """Write the passage as one line for a prompt: what it says, and from where."""
        origin = ", ".join(
            filter(None, (self.path, self.date, self.source, "a stranger's words" if self.is_tainted else ""))
        )
        heading = f"{self.heading}: " if self.heading else ""
        return f"{heading}{' '.join(self.text.split())} ({origin})"


def cut_passages(path: str, text: str) -> list[MemoryPassage]:
    """Cut a memory file into passages; its front matter tells when and where entries were made."""
    read = read_frontmatter(text)
    entries = read.data.get("entries")
    known = {
        str(each.get("heading", "")).casefold(): each
        for each in (entries if isinstance(entries, list) else ())
        if isinstance(each, dict)
    }
    found: list[MemoryPassage] = []
    heading, lines, fence = "", list[str](), ""
    for line in [*read.body.splitlines(), "# end"]:
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        if fence or (title := _HEADING.match(line)) is None:
            lines.append(line)
            continue
        origin: JsonObject = known.get(heading.casefold(), {})
        found += [
            MemoryPassage(
                path,
                heading,
                piece,
                str(origin.get("date") or ""),
                str(origin.get("from") or ""),
                bool(origin.get("tainted")),
            )
            for piece in _split(lines)
        ]
        heading, lines = title[1].strip(), []
    return found


def _split(lines: list[str]) -> list[str]:
    """Split what stands below a heading: each item of a list by itself, paragraphs as far as they fit."""
    pieces: list[str] = []
    is_open = False
    for line in lines:
        if not line.strip():
            is_open = False
        elif _ITEM.match(line) or (not is_open and (not pieces or len(pieces[-1]) > PASSAGE_LIMIT // 2)):
            pieces.append(line.strip())
            is_open = True
        else:
            pieces[-1] += f"\n{line.strip()}" if pieces else line.strip()
            is_open = True
    return [piece[at : at + PASSAGE_LIMIT] for piece in pieces for at in range(0, len(piece), PASSAGE_LIMIT)]
