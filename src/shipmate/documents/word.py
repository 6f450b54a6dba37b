"""Read the paragraphs of a Word document, and its notes after them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shipmate.documents.archive import Archive, Attributes
from shipmate.documents.extract import Found
from shipmate.documents.flow import Flow

# The names of these styles are English in every language of Word.
MARKED = re.compile(r"heading ([1-6])|(title)|list (?:bullet|number)[ 0-9]*", re.IGNORECASE)


def read_word(data: bytes, name: str) -> Iterator[Found]:
    """Go over the paragraphs, and the rows of tables among them."""
    archive = Archive(data, name)
    main = archive.find_main()
    relations = archive.relations(main).values()
    styles = _Styles()
    for each in relations:
        if each.kind == "styles" and archive.has(each.target):
            archive.parse(each.target, styles)
    notes = [each.target for each in relations if each.kind in ("footnotes", "endnotes")]
    for part in (main, *filter(archive.has, notes)):
        flow = Flow(styles.marks) if part == main else _Notes()
        for _ in archive.walk(part, flow):
            yield from (("", 0, line) for line in flow.take())


class _Styles:
    """Which styles are headings or items of lists."""

    def __init__(self) -> None:
        self.marks: dict[str, str] = {}
        self._id = ""

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "style":
            self._id = attributes.get("styleId", "")
        elif name == "name" and (found := MARKED.fullmatch(attributes.get("val", ""))):
            level = found[1] or found[2]
            self.marks[self._id] = "#" * (int(level) if level.isdecimal() else 1) + " " if level else "- "

    def end(self, name: str) -> None: ...
    def text(self, text: str) -> None: ...


class _Notes(Flow):
    """Notes at the foot, each after the mark that stands in the text."""

    def __init__(self) -> None:
        super().__init__()
        self._note = ""

    def start(self, name: str, attributes: Attributes) -> None:
        if name in ("footnote", "endnote"):
            self._note = f"[^{attributes.get('id', '')}]: "
        super().start(name, attributes)

    def take(self) -> list[str]:
        return [line for line in super().take() if line]

    def _put(self, line: str) -> None:
        super()._put(self._note + line)
