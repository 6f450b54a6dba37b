from __future__ import annotations

from datetime import date

import msgspec
import pytest

from shipmate.errors import TargetChangedError, ToolError, ToolInputError
from shipmate.memory.memory_entry import read_memory
from shipmate.memory.service import MemoryService
from shipmate.tools.file.memory_upsert import MemoryUpsert
from shipmate.tools.tool import ToolContext
from shipmate.workspace.settings.memory_rule import MemoryRule


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
    found = read_memory(path.read_text())
    assert found.body.strip() == "## tea\n\nat five\n\n## Coffee\n\nnever"
    assert {(each.source, bool(each.date)) for each in found.entries} == {(context.thread_id, True)}
    before = path.stat().st_mtime_ns
    await remember(context, "project", "tea", "at five")
    assert path.stat().st_mtime_ns == before
    assert "Forgotten" in await remember(context, "project", "tea", " ")
    assert read_memory(path.read_text()).body.strip() == "## Coffee\n\nnever"
    assert "tea" not in path.read_text()
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


async def test_days_and_topics_are_the_members_own_and_named_in_its_index(context: ToolContext) -> None:
    own = context.member.own
    assert "(memory/topics/wind-and-tide.md)" in await remember(context, "topic", "Wind and tide", "west")
    note = await remember(context, "day", "Keel", "laid")
    index = own.memory_index.read_text()
    assert "- topics/wind-and-tide.md: Wind and tide" in index
    assert note.partition("(memory/")[2].removesuffix(").") + ": Keel" in index
    # A MEMORY.md that stands alone is told whole; an index would take its place.
    own.memory_index.unlink()
    own.long_term_memory[0].write_text("all of it")
    await remember(context, "topic", "Sails", "two")
    assert not own.memory_index.exists()
    own.filed_daily_note(date(2026, 1, 1)).parent.mkdir()
    for each in own.memory.glob("20*.md"):
        each.unlink()
    assert "(memory/daily/20" in await remember(context, "day", "Mast", "stepped")


@pytest.mark.parametrize(
    ("scope", "content"),
    [
        ("project", "the key is sk-ant-REDACTED"),
        ("project", "it lies in /home/ann/boat"),
        ("project", r"see C:\Users\ann"),
        ("project", "Bob is bob@example.org"),
        ("project", "call Bob: +44 20 7946 0958"),
        ("user", "password: hunter2hunter2"),
        ("project", "her salary is fine"),
    ],
)
async def test_secrets_machine_paths_and_private_data_are_refused(
    context: ToolContext, scope: str, content: str
) -> None:
    rule = MemoryRule(avoid=("Salary",))
    config = msgspec.structs.replace(context.member.config, memory=rule)
    member = msgspec.structs.replace(context.member, config=config)
    strict = msgspec.structs.replace(context, member=member, user_id="ann")
    with pytest.raises(ToolError, match="Nothing was written"):
        await remember(strict, scope, "Bob", content)
    assert not MemoryService(context.layout).files()
    # What is no such thing passes: addresses, routes, days, and one's own number.
    await remember(strict, "project", "Site", "https://a.example/home/x, /api/users, on 2026-11-16 10:30")
    await remember(strict, "user", "Number", "+44 20 7946 0958")


async def test_an_approval_holds_for_the_entry_that_was_shown(context: ToolContext) -> None:
    tool = MemoryUpsert()
    tea = tool.parse({"scope": "project", "heading": "Tea", "content": "at four"})
    shown = await tool.picture(tea, context)
    approved = msgspec.structs.replace(context, expected=shown.target)
    # Another entry of the same file is none of its business; the same one is.
    await remember(context, "project", "Coffee", "never")
    await tool.run(tea, approved)
    await remember(context, "project", "Tea", "at five")
    with pytest.raises(TargetChangedError):
        await tool.run(tea, approved)
    assert {each.text for each in read_memory(context.layout.project_memory.read_text()).entries} == {
        "never",
        "at five",
    }
