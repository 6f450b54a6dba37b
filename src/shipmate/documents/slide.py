"""Read the slides of a presentation in their order, with what the speaker noted."""

from __future__ import annotations

from collections.abc import Iterator

from shipmate.documents.archive import Archive, Attributes
from shipmate.documents.extract import Found
from shipmate.documents.flow import Flow


class Slides:
    """A presentation."""

    def __init__(self, data: bytes, name: str) -> None:
        self._archive = Archive(data, name)
        main = self._archive.find_main()
        order = _Order()
        self._archive.parse(main, order)
        relations = self._archive.relations(main)
        self._parts = [relations[each].target for each in order.ids if each in relations]
        self.total = len(self._parts)

    def read(self, first: int) -> Iterator[tuple[int, Found]]:
        """Go over the slides from a number on."""
        for number, part in enumerate(self._parts[first - 1 :], first):
            text = self._read_part(part)
            notes = [
                self._read_part(each.target)
                for each in self._archive.relations(part).values()
                if each.kind == "notesSlide"
            ]
            said = [text or "[no text]", *(f"Notes: {note}" for note in notes if note)]
            yield number, (f"slide {number}", 0, "\n".join(said))

    def _read_part(self, part: str) -> str:
        flow = Flow()
        self._archive.parse(part, flow)
        return "\n".join(flow.take())


class _Order:
    def __init__(self) -> None:
        self.ids: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sldId":
            self.ids.append(attributes.get("id", ""))

    def end(self, name: str) -> None: ...
    def text(self, text: str) -> None: ...
