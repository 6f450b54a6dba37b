"""Running text as Word and slides write it: paragraphs, and rows of tables."""

from __future__ import annotations

from collections.abc import Mapping

from shipmate.documents.archive import Attributes
from shipmate.documents.extract import UNIT_LIMIT

# The second wording of a drawing for old programs, and numbers that a program counts.
HIDDEN = frozenset({"Fallback", "fld"})


class Flow:
    """Gathers lines: a paragraph, or a row of a table, each."""

    def __init__(self, styles: Mapping[str, str] | None = None) -> None:
        self.lines: list[str] = []
        # What stands before a paragraph, by the name of its style.
        self._styles = styles or {}
        self._path: list[str] = []
        self._hidden = 0
        self._paragraphs: list[list[str]] = []
        self._marks: list[str] = []
        self._rows: list[list[str]] = []
        self._cells: list[list[str]] = []
        self._size = 0

    def take(self) -> list[str]:
        """Return the lines that are complete, once."""
        taken, self.lines = self.lines, []
        return taken

    def start(self, name: str, attributes: Attributes) -> None:
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        self._hidden += name in HIDDEN
        if self._hidden:
            return
        match name:
            case "p":
                self._paragraphs.append([])
                self._marks.append("")
                self._size = 0
            case "pStyle" if self._marks:
                self._marks[-1] = self._styles.get(attributes.get("val", ""), self._marks[-1])
            case "numPr" if self._marks:
                self._marks[-1] = self._marks[-1] or "- "
            case "tr":
                self._rows.append([])
            case "tc":
                self._cells.append([])
            case "tab" if parent == "r":
                self._add("\t")
            case "br" | "cr" if parent in ("r", "p"):
                self._add("\n")
            case "footnoteReference" | "endnoteReference":
                self._add(f"[^{attributes.get('id', '')}]")
            case _:
                pass

    def end(self, name: str) -> None:
        if self._path:
            self._path.pop()
        if self._hidden:
            self._hidden -= name in HIDDEN
            return
        if name == "p" and self._paragraphs:
            text = "".join(self._paragraphs.pop()).strip()
            mark = self._marks.pop()
            if text:
                self._put(mark + text)
        elif name == "tc" and self._cells and self._rows:
            self._rows[-1].append(" ".join(self._cells.pop()))
        elif name == "tr" and self._rows:
            row = self._rows.pop()
            if any(row):
                self._put(" | ".join(row))

    def text(self, text: str) -> None:
        if not self._hidden and self._path and self._path[-1] == "t":
            self._add(text)

    def _add(self, text: str) -> None:
        # What is longer is cut anyway; it must not be gathered.
        if self._paragraphs and self._size < UNIT_LIMIT:
            self._size += len(text)
            self._paragraphs[-1].append(text)

    def _put(self, line: str) -> None:
        if self._cells:
            self._cells[-1].append(line)
        else:
            self.lines.append(line)
