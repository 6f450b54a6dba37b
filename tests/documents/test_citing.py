from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shipmate.documents.citing import PASSAGE_SIZE, split_text, split_units
from shipmate.documents.document import Unit


@given(st.lists(st.text(st.sampled_from("ab 。.字\n"), max_size=3_000), max_size=12))
def test_passages_are_short_and_lose_no_letter(pages: list[str]) -> None:
    units = [Unit(at, f"page {at}", 0, text) for at, text in enumerate(pages, 1)]
    found = list(split_units("a.pdf", units, "page"))
    assert all(len(each.text) <= PASSAGE_SIZE * 1.5 for each in found)
    assert "".join("".join(each.text.split()) for each in found) == "".join("".join(pages).split())
    for unit in units:
        here = "".join(each.text for each in found if each.place == unit.group)
        assert "".join(here.split()) == "".join(unit.text.split())


def test_places_are_those_of_the_document() -> None:
    text = "# Leave\n\n" + "a" * 900 + "\n\n" + "b" * 900 + "\n## Pay\nmonthly\n"
    places = [each.citation for each in split_text("h.md", text)]
    assert places == ["h.md, lines 1–3, Leave", "h.md, line 5, Leave", "h.md, lines 6–7, Pay"]
    rows = [Unit(at, "sheet S", at + 1, f"row {at} " + "x" * 500) for at in range(1, 6)]
    found = list(split_units("b.xlsx", [*rows, Unit(6, "sheet T", 1, "other")], "row"))
    assert [each.place for each in found] == [
        *("sheet S, rows 2–3", "sheet S, rows 4–5", "sheet S, row 6", "sheet T, row 1"),
    ]
    # What the columns are stands in the first row.
    assert found[1].text.startswith("row 1 ")
    assert found[3].text == "other"
