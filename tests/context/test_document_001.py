"""Document 001 to the letter: what `ContextBuilder(path)` makes of a folder as it describes one."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest

import shipmate
from shipmate import ContextBuilder, MemoryStore, WorkspaceError
from shipmate.context.request import ContextRequest
from shipmate.errors import ConfigError
from shipmate.tools.toolset import default_toolset
from shipmate.values.tool_name import OFFERED
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of
from tests.support.prompt import MOMENT, write_files

SEPARATOR = "\n\n---\n\n"
ORDER = ("AGENTS", "SOUL", "USER", "TOOLS", "IDENTITY")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace as the document lists its files."""
    today = date.today()
    # Midnight may pass meanwhile.
    days = (today, today + timedelta(days=1))
    write_files(
        tmp_path,
        **{name: f"words of {name}" for name in ORDER},
        memory__MEMORY="likes tea",
        **{f"memory__{day}": "met Lee" for day in days},
        **{"memory__2020-01-01": "long ago"},
        skills__style__SKILL="---\nname: style\ndescription: d\nalways: true\n---\nWrite briefly.",
        skills__weather__SKILL="---\nname: weather\ndescription: Tell the weather.\n---\nLook out.",
    )
    settings = {
        "name": "Nano",
        "description": "Helps.",
        "timezone": "",
        "env": {"TOKEN": "secret-value"},
        "context": {"profile": "nanobot"},
        "skills": {"disabled": ["git"]},
    }
    (tmp_path / "ship.json").write_text(json.dumps(settings))
    return tmp_path


def test_m2_the_documents_own_example_gives_its_five_parts(folder: Path) -> None:
    parts = ContextBuilder(folder).build_system_prompt().split(SEPARATOR)
    identity, files, memory, active, summary = parts
    assert identity.startswith("# Nano\n\nYou are Nano, a member of this crew. Helps.\n")
    assert str(folder) in identity
    assert files == "\n\n".join(f"## {name}.md\n\nwords of {name}" for name in ORDER)
    assert memory == "# Memory\n\n## Long-term Memory\nlikes tea\n\n## Today's Notes\nmet Lee"
    assert active == "# Active Skills\n\n### Skill: style\n\nWrite briefly."
    assert summary.startswith("# Skills\n\n")
    assert "<skills>\n" in summary
    assert "<name>weather</name>" in summary
    assert "<name>git</name>" not in summary
    assert "secret-value" not in "".join(parts)


def test_m2_ship_json_decides_the_zone_and_the_variables_of_skills(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="# Ada", skills__x__SKILL="---\nrequires: {env: [KEY]}\n---\nx")
    (tmp_path / "ship.json").write_text('{"timezone": "Pacific/Auckland", "env": {"KEY": "${FROM_FILE}"}}')
    (tmp_path / ".env").write_text("FROM_FILE=value\n")
    builder = ContextBuilder(str(tmp_path))
    prompt = builder.build(ContextRequest(now=MOMENT)).system
    assert "Now (" not in prompt
    assert builder.skills.find().by_name["x"].is_available


def test_m2_a_missing_folder_and_a_broken_ship_json_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"there is no folder .*nowhere"):
        ContextBuilder(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(WorkspaceError, match="there is no folder"):
        ContextBuilder(tmp_path / "file")
    (tmp_path / "ship.json").write_text("{")
    with pytest.raises(ConfigError, match="not JSON"):
        ContextBuilder(tmp_path)


def test_m7_memory_is_the_memory_of_document_001(folder: Path) -> None:
    builder = ContextBuilder(folder)
    found = builder.memory.get_memory_context()
    assert found == "## Long-term Memory\nlikes tea\n\n## Today's Notes\nmet Lee"
    assert found in builder.build_system_prompt()
    assert isinstance(builder.memory, shipmate.MemoryStore)
    assert MemoryStore(folder).get_memory_context() == found
    (folder / "memory/MEMORY.md").write_text("likes coffee")
    assert "likes coffee" in builder.memory.get_memory_context()


def test_m7_memory_says_nothing_where_there_is_none_and_follows_the_profile(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="# Ada")
    assert MemoryStore(tmp_path).get_memory_context() == ""
    write_files(tmp_path, memory__INDEX="an index")
    builder = ContextBuilder(tmp_path)
    assert builder.memory.get_memory_context() == "## Memory (memory/INDEX.md)\n\nan index"
    assert builder.memory.get_memory_context() in builder.build_system_prompt()


def test_m7_memory_holds_what_was_remembered_of_a_person(folder: Path) -> None:
    write_files(
        folder, **{".ship__memory__project": "a fact", ".ship__memory__users__web.ann": "likes lists"}
    )
    memory = ContextBuilder(folder).memory
    assert memory.get_memory_context().endswith("met Lee\n\n## Project Memory\na fact")
    assert memory.get_memory_context("ann", "web").endswith("## User Memory\nlikes lists")
    assert "likes lists" not in memory.get_memory_context("bob", "web")


def test_m7_prompts_from_python_name_the_tools_a_member_has(folder: Path) -> None:
    tools = default_toolset(captain_of(Layout(folder)))
    assert tuple(tools.names) == OFFERED
    listed = f"## Tools\n{', '.join(OFFERED)}\n"
    builder = ContextBuilder(folder)
    assert listed in builder.build_system_prompt()
    assert listed in builder.build_messages([], "hi")[0]["content"]
    few = ContextBuilder(folder, tools=tools.specs()[:2])
    assert "## Tools\nread, glob\n" in few.build_system_prompt()
    write_files(folder, Agent="---\ntools: [read_file, exec*]\n---\n# Ada")
    assert "## Tools\nread, exec\n" in ContextBuilder(folder).build_system_prompt()


def test_m7_reasoning_goes_along_where_there_is_any(folder: Path) -> None:
    builder = ContextBuilder(folder)
    calls = [{"id": "1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]
    messages = builder.add_assistant_message([], None, calls, reasoning_content="I should look.")
    messages = builder.add_tool_result(messages, "1", "read", "text")
    messages = builder.add_assistant_message(messages, "Done.")
    assert messages == [
        {"role": "assistant", "content": "", "tool_calls": calls, "reasoning_content": "I should look."},
        {"role": "tool", "tool_call_id": "1", "name": "read", "content": "text"},
        {"role": "assistant", "content": "Done."},
    ]


def test_m9_words_nobody_answered_are_joined_with_those_that_follow(folder: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    history = [
        {"role": "user", "content": "one"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": [image]},
    ]
    before = json.dumps(history)
    messages = ContextBuilder(folder).build_messages(history, "three")
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[1]["content"] == "one\n\ntwo"
    assert messages[3]["content"] == [image, {"type": "text", "text": "three"}]
    assert json.dumps(history) == before


def test_m3_every_profile_tells_what_was_remembered_inside_its_memory_and_only_then(tmp_path: Path) -> None:
    """The order around it is the documents': 001's parts, 003's fourth to sixth section."""
    write_files(tmp_path, Agent="# Ada", RELATIONS="| a |", memory__INDEX="index", memory__core__x="x")
    builder = ContextBuilder(tmp_path)
    plain = {name: builder.build(ContextRequest(profile=name)).system for name in ("nanobot", "zyhive")}
    assert "Memory" not in plain["nanobot"].split("## Guidelines")[1].replace("MEMORY.md", "")
    write_files(tmp_path, **{".ship__memory__project": "a fact", ".ship__memory__users__cli.ann": "a taste"})
    request = ContextRequest(user_id="ann", platform="cli", recalled=["a scene"], profile="nanobot")
    nanobot = builder.build(request).system.split(SEPARATOR)
    assert nanobot[2] == (
        "# Memory\n\n## Project Memory\na fact\n\n## User Memory\na taste\n\n## Recalled Memory\n- a scene"
    )
    zyhive = builder.build(msgspec.structs.replace(request, profile="zyhive")).system
    assert (
        "--- memory/INDEX.md ---\nindex\n\n"
        "--- .ship/memory/project.md ---\na fact\n\n"
        "--- .ship/memory/users/cli.ann.md ---\na taste\n\n"
        "--- 召回的记忆 ---\n- a scene\n\n"
        "[Memory tree available. Use read tool to access: "
        "memory/core/, memory/projects/, memory/daily/, memory/topics/]\n\n"
        "--- RELATIONS.md ---\n"
    ) in zyhive
    assert "--- .ship" not in plain["zyhive"]
