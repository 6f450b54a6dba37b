from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.file.memory_upsert import MemoryUpsert, upsert
from shipmate.tools.tool import ToolContext

headings = st.sampled_from(["Tea", "Wind and tide", "项目", "a b", "Ünï"])
lines = st.sampled_from(
    ["plain", "# one", "## Tea", "  ## x ##", "```", "````python", "~~~", "", "- a", "    ## code", "`#`"]
)
contents = st.lists(lines, max_size=6).map("\n".join)


async def remember(context: ToolContext, scope: str, heading: str, content: str) -> str:
    tool = MemoryUpsert()
    return (
        await tool.run(tool.parse({"scope": scope, "heading": heading, "content": content}), context)
    ).output


async def test_a_note_is_added_replaced_and_forgotten(context: ToolContext) -> None:
    path = context.layout.project_memory
    assert (
        await remember(context, "project", "Tea", "at four") == "Remembered: Tea (.ship/memory/project.md)."
    )
    await remember(context, "project", "Coffee", "never")
    await remember(context, "project", "tea", "at five")
    assert path.read_text() == "## tea\n\nat five\n\n## Coffee\n\nnever\n"
    before = path.stat().st_mtime_ns
    await remember(context, "project", "tea", "at five")
    assert path.stat().st_mtime_ns == before
    assert "Forgotten" in await remember(context, "project", "tea", " ")
    assert path.read_text() == "## Coffee\n\nnever\n"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_people_have_their_own_files(context: ToolContext) -> None:
    ann = msgspec.structs.replace(context, user_id="ann", thread_id="telegram:group:1")
    output = await remember(ann, "user", "Name", "Ann")
    assert "users/telegram.ann.md" in output
    assert "Ann" in context.layout.user_memory("telegram.ann").read_text()
    evil = msgspec.structs.replace(context, user_id="../../token")
    await remember(evil, "user", "Name", "x")
    assert not (context.layout.ship / "token.md").exists()
    with pytest.raises(ToolError, match="Nobody"):
        await remember(context, "user", "Name", "x")


async def test_a_preview_shows_the_change(context: ToolContext) -> None:
    tool = MemoryUpsert()
    arguments = tool.parse({"scope": "project", "heading": "Tea", "content": "at\u202e four"})
    shown = (await tool.picture(arguments, context)).text
    assert "+## Tea" in (shown or "")
    assert "+at four" in (shown or "")
    assert not context.layout.project_memory.exists()


@pytest.mark.parametrize(
    ("heading", "content"), [("", "x"), ("##", "x"), ("h" * 101, "x"), ("h", "x" * 70_000), ("h", "\ud800")]
)
async def test_notes_that_cannot_be_kept_change_nothing(
    context: ToolContext, heading: str, content: str
) -> None:
    with pytest.raises(ToolError):
        await remember(context, "project", heading, content)
    assert not context.layout.project_memory.exists()


def test_other_scopes_are_refused() -> None:
    with pytest.raises(ToolInputError):
        MemoryUpsert().parse({"scope": "world", "heading": "h", "content": "c"})
    assert MemoryUpsert.labels.acts


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
