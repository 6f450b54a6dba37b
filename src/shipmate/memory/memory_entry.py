"""Read and write what is remembered: Markdown sections, and front matter that says where each came from."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import msgspec

from shipmate.values.saying import fill, read_sayings
from shipmate.workspace.frontmatter import read_frontmatter
from shipmate.workspace.settings.memory_rule import EntryKind

# The schema of the front matter; a file without any was written by hand.
VERSION = 2
HEADING_LIMIT = 100
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r" {0,3}(#{1,2})[ \t]+(.*?)[ \t#]*$")
# The lines of front matter that are ours: both keys, and what stands below the second.
OWN_LINES = re.compile(r"^(?:memory:.*|entries:.*(?:\n[ \t-].*)*)(?:\n|\Z)", re.MULTILINE)
WORDS = read_sayings(Path(__file__).with_name("prompt.md"))


class EntryNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What front matter says of an entry; keys of later schemas are passed over."""

    heading: str
    kind: EntryKind = "fact"
    # The day it was remembered, and the thread it came from.
    date: str = ""
    source: str = msgspec.field(default="", name="from")
    # Strangers may have written into that thread.
    is_tainted: bool = msgspec.field(default=False, name="tainted")


class MemoryEntry(EntryNote, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is remembered."""

    text: str

    @property
    def is_noted(self) -> bool:
        """Return whether it came out of a thread; all else a person wrote by hand."""
        return bool(self.source or self.date)


class MemoryText(msgspec.Struct, frozen=True):
    """A file of memory, taken apart."""

    body: str
    entries: tuple[MemoryEntry, ...]
    # The lines of front matter that are not ours.
    other: str = ""

    def find(self, heading: str) -> MemoryEntry | None:
        """Return the entry of a heading, in whichever case it is written."""
        wanted = heading.casefold()
        return next((each for each in self.entries if each.heading.casefold() == wanted), None)

    @property
    def preamble(self) -> str:
        """Return what stands before the first heading."""
        lines = self.body.splitlines()
        marks = find_headings(lines)
        return "\n".join(_trim(lines[: marks[0][0]] if marks else lines))


def read_memory(text: str) -> MemoryText:
    """Take a file of memory apart; whatever cannot be read is taken for words of a person."""
    front = read_frontmatter(text)
    notes: dict[str, EntryNote] = {}
    listed = front.data.get("entries")
    for raw in listed if isinstance(listed, list) else ():
        try:
            note = msgspec.convert(raw, EntryNote, strict=True)
        except msgspec.ValidationError:
            continue
        notes.setdefault(note.heading.casefold(), note)
    lines = front.body.splitlines()
    marks = find_headings(lines)
    entries: dict[str, MemoryEntry] = {}
    for number, (at, level, title) in enumerate(marks):
        if level == 2 and title and title.casefold() not in entries:
            end = marks[number + 1][0] if number + 1 < len(marks) else len(lines)
            note = notes.get(title.casefold(), EntryNote(heading=title))
            words = "\n".join(_trim(lines[at + 1 : end]))
            entries[title.casefold()] = MemoryEntry(
                heading=title,
                text=words,
                kind=note.kind,
                date=note.date,
                source=note.source,
                is_tainted=note.is_tainted,
            )
    other = OWN_LINES.sub("", front.raw).strip("\n")
    return MemoryText(front.body, tuple(entries.values()), other)


def put_entry(text: str, entry: MemoryEntry) -> str:
    """Put an entry in place of the one of its heading, or at the end; one without words is removed."""
    found = read_memory(text)
    body = upsert(found.body, entry.heading, entry.text)
    notes = {each.heading.casefold(): each for each in found.entries}
    notes[entry.heading.casefold()] = entry
    present = [each.heading.casefold() for each in read_memory(f"\n{body}").entries]
    return _join(found.other, [notes[key] for key in present if notes[key].is_noted], body)


def write_memory(preamble: str, entries: tuple[MemoryEntry, ...]) -> str:
    """Write a file of memory anew."""
    text = f"{preamble}\n" if preamble else ""
    for entry in entries:
        text = put_entry(text, entry)
    return text


def _join(other: str, notes: list[MemoryEntry], body: str) -> str:
    lines = [other] if other else []
    if notes:
        lines += [f"memory: {VERSION}", "entries:"]
        # JSON is YAML too, and is read without a whole parser.
        lines += [f"  - {msgspec.json.encode(_note_of(each)).decode()}" for each in notes]
    if not lines:
        return body
    front = "\n".join(["---", *lines, "---", ""])
    return f"{front}\n{body}" if body else front


def _note_of(entry: MemoryEntry) -> EntryNote:
    return EntryNote(**{name: getattr(entry, name) for name in EntryNote.__struct_fields__})


@lru_cache(maxsize=64)
def present(text: str) -> str:
    """Return a file of memory as models are shown it: what came out of threads is quoted, with its source.

    So words that look like an instruction stay what somebody once said.
    """
    found = read_memory(text)
    body = found.body.strip()
    for entry in found.entries:
        if entry.is_noted:
            body = upsert(body, entry.heading, quote_entry(entry))
    return body.strip()


def quote_entry(entry: MemoryEntry) -> str:
    """Return the words of an entry as a quotation, below a line that says whence they are."""
    source = fill(WORDS["source"], {"kind": entry.kind, "date": entry.date, "source": entry.source})
    if entry.is_tainted:
        source = f"{source} {WORDS['tainted']}"
    return "\n".join([source, *(f"> {line}".rstrip() for line in entry.text.splitlines())])


def upsert(text: str, heading: str, content: str) -> str:
    """Put content under a heading, in place of what stands there or at the end; empty content removes it."""
    lines = text.splitlines()
    block = [f"## {heading}", "", *tame(content)] if content.strip() else []
    start, end = _find(lines, heading)
    before, after = _trim(lines[:start]), _trim(lines[end:])
    pieces = ["\n".join(piece) for piece in (before, block, after) if piece]
    return "\n\n".join(pieces) + "\n" if pieces else ""


def tame(content: str) -> list[str]:
    """Make content that cannot pass for another section: headings go down, an open fence is closed."""
    lines = _trim(content.splitlines())
    for at, level, _ in find_headings(lines):
        lines[at] = "#" * (3 - level) + lines[at].lstrip()
    fence = ""
    for line in lines:
        fence = _fence_after(fence, line)
    return [*lines, fence] if fence else lines


def _find(lines: list[str], heading: str) -> tuple[int, int]:
    marks = find_headings(lines)
    for number, (at, level, title) in enumerate(marks):
        if level == 2 and title.casefold() == heading.casefold():
            return at, marks[number + 1][0] if number + 1 < len(marks) else len(lines)
    return len(lines), len(lines)


def find_headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """List headings of the first two levels outside fences: line, level, words."""
    found: list[tuple[int, int, str]] = []
    fence = ""
    for at, line in enumerate(lines):
        if not fence and (heading := HEADING.match(line)):
            found.append((at, len(heading[1]), heading[2]))
        fence = _fence_after(fence, line)
    return found


def _fence_after(fence: str, line: str) -> str:
    """Return the fence that is open after a line, empty when none is."""
    mark = FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    closes = mark[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


def _trim(lines: list[str]) -> list[str]:
    """Drop blank lines at both ends."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines
