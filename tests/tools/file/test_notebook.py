from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.file.notebook import upsert

headings = st.sampled_from(["Tea", "Wind and tide", "项目", "a b", "Ünï"])
lines = st.sampled_from(
    ["plain", "# one", "## Tea", "  ## x ##", "```", "````python", "~~~", "", "- a", "    ## code", "`#`"]
)
contents = st.lists(lines, max_size=6).map("\n".join)


@given(st.lists(st.tuples(headings, contents), max_size=8))
def test_each_note_stays_what_was_last_written(notes: list[tuple[str, str]]) -> None:
    text = ""
    kept: dict[str, str] = {}
    for heading, content in notes:
        text = upsert(text, heading, content)
        if content.strip():
            kept[heading] = upsert("", heading, content)
        else:
            kept.pop(heading, None)
        assert text == "\n".join(kept.values())
        assert upsert(text, heading, content) == text


def test_what_stands_before_the_sections_is_kept() -> None:
    text = "# Memory\n\nWritten by hand.\n\n## Tea\n\nold\n\n# Appendix\n\nmore\n"
    assert upsert(text, "Tea", "new") == text.replace("old", "new")
    assert upsert(text, "Wind", "west") == text + "\n## Wind\n\nwest\n"
    assert upsert(text, "Tea", "") == "# Memory\n\nWritten by hand.\n\n# Appendix\n\nmore\n"


def test_headings_inside_code_are_no_sections() -> None:
    text = upsert("", "Shell", "```\n## Tea\n```")
    assert upsert(text, "Tea", "x") == "## Shell\n\n```\n## Tea\n```\n\n## Tea\n\nx\n"
