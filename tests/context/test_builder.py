from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shipmate.context.builder import ContextBuilder
from shipmate.context.request import Context, ContextRequest, Section
from shipmate.errors import ConfigError, MediaError
from shipmate.workspace.config import Config, ContextSettings, Skills
from shipmate.workspace.layout import Layout
from tests.support.prompt import MOMENT, TOOLS, StubTool, open_example, write_files

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def section_of(context: Context, name: str) -> Section:
    return next(section for section in context.sections if section.name == name)


def test_a_folder_with_an_agent_is_enough(tmp_path: Path) -> None:
    builder = ContextBuilder(write_files(tmp_path, Agent="# Ada\n\nYou count."))
    prompt = builder.build_system_prompt()
    assert prompt.startswith("You are Ada, a member of this crew.")
    assert "You count." in prompt
    assert "<name>memory-keeping</name>" in prompt


def test_a_path_a_string_and_a_layout_are_the_same_to_it(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="# Ada")
    request = ContextRequest(now=MOMENT)
    prompts = {
        ContextBuilder(place).build(request).system for place in (tmp_path, str(tmp_path), Layout(tmp_path))
    }
    assert len(prompts) == 1


def test_a_changed_file_shows_in_the_next_turn(tmp_path: Path) -> None:
    builder = ContextBuilder(write_files(tmp_path, Agent="# Ada", SOUL="calm"))
    assert "calm" in builder.build_system_prompt()
    write_files(tmp_path, SOUL="wild", memory__MEMORY="knows much", skills__new__SKILL="A new skill.")
    prompt = builder.build_system_prompt()
    assert "wild" in prompt
    assert "calm" not in prompt
    assert "knows much" in prompt
    assert "<description>A new skill.</description>" in prompt


def test_every_section_says_where_it_is_from_and_why(tmp_path: Path) -> None:
    context = open_example(tmp_path).build(ContextRequest(now=MOMENT, platform="telegram", user_id="42"))
    for section in context.sections:
        assert section.reason
        assert section.included == bool(section.text)
        assert section.bytes == len(section.text.encode())
        assert (section.tokens > 0) == section.included
    assert section_of(context, "soul").source == "SOUL.md"
    assert section_of(context, "today").source == "memory/2026-02-23.md"
    assert section_of(context, "user-memory").source == ".ship/memory/users/telegram.42.md"
    assert "there is no such file" in section_of(context, "agents").problem


def test_only_the_user_who_speaks_is_described(tmp_path: Path) -> None:
    builder = open_example(tmp_path)
    for platform, user in (("web", "42"), ("telegram", "43"), ("telegram", "../../project")):
        context = builder.build(ContextRequest(platform=platform, user_id=user))
        assert not section_of(context, "user-memory").included


def test_variables_are_named_and_never_told(tmp_path: Path) -> None:
    builder = open_example(tmp_path)
    prompt = builder.build_system_prompt()
    assert "GITHUB_TOKEN" in prompt
    assert "ghp_example" not in prompt
    assert builder.config.env["GITHUB_TOKEN"] == "ghp_example_value_1"


def test_own_profiles_come_from_the_configuration(tmp_path: Path) -> None:
    settings = ContextSettings(profile="short", profiles={"short": ("time", "agent", "agent")})
    builder = ContextBuilder(write_files(tmp_path, Agent="# Ada"), Config(context=settings, timezone="UTC"))
    moment = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    prompt = builder.build(ContextRequest(now=moment)).system
    assert prompt == "Now (UTC, UTC+00:00): Friday 2026-01-02 03:04\n\n## Agent.md\n\n# Ada"


@pytest.mark.parametrize(
    "settings",
    [ContextSettings(profile="nope"), ContextSettings(profile="mine", profiles={"mine": ("agent", "nope")})],
)
def test_an_unknown_profile_or_section_is_a_clear_error(tmp_path: Path, settings: ContextSettings) -> None:
    with pytest.raises(ConfigError, match="nope"):
        ContextBuilder(write_files(tmp_path, Agent="x"), Config(context=settings)).build_system_prompt()


def test_a_default_request_for_one_line_stays_small(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "src/shipmate/cli/workspace/examples/captain.md"
    builder = ContextBuilder(write_files(tmp_path, Agent=example.read_text(encoding="utf-8")))
    context = builder.build(
        ContextRequest(last_text="ping", tools=TOOLS, model="anthropic:claude-sonnet-4-6")
    )
    assert len(context.system.encode()) <= 4_000


def test_tools_are_named_and_weighed(tmp_path: Path) -> None:
    builder = ContextBuilder(write_files(tmp_path, Agent="x"))
    with_tools = builder.build(ContextRequest(tools=(StubTool("alpha"), StubTool("beta")), now=MOMENT))
    without = builder.build(ContextRequest(now=MOMENT))
    assert "Tools: alpha, beta." in with_tools.system
    assert (with_tools.tools_bytes > 100, without.tools_bytes) == (True, 0)
    assert with_tools.tokens > without.tokens
    assert with_tools.bytes == len(with_tools.system.encode()) + with_tools.tools_bytes


def test_messages_are_system_history_then_the_person(tmp_path: Path) -> None:
    builder = ContextBuilder(write_files(tmp_path, Agent="x"))
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    messages = builder.build_messages(history, "Hello!", skill_names=["git"])
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[-1] == {"role": "user", "content": "Hello!"}
    assert "### Skill: git" in messages[0]["content"]
    assert history == [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def test_images_come_before_the_text(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(PNG)
    (tmp_path / "two.png").write_bytes(PNG)
    builder = ContextBuilder(write_files(tmp_path, Agent="x"))
    paths = [str(tmp_path / "one.txt"), tmp_path / "two.png"]
    content = builder.build_messages([], "look", media=paths)[-1]["content"]
    assert [part["type"] for part in content] == ["image_url", "image_url", "text"]
    assert content[0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert content[2]["text"] == "look"
    with pytest.raises(MediaError, match=r"Agent\.md"):
        builder.build_messages([], "look", media=[tmp_path / "Agent.md"])


def test_results_and_answers_are_added_in_the_shape_of_document_001(tmp_path: Path) -> None:
    builder = ContextBuilder(tmp_path)
    messages = builder.build_messages([], "go")
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    assert builder.add_assistant_message(messages, None, [call]) is messages
    builder.add_tool_result(messages, "c1", "read", "text")
    builder.add_assistant_message(messages, "done")
    assert messages[2:] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "read", "content": "text"},
        {"role": "assistant", "content": "done"},
    ]


def test_skills_named_by_the_person_are_given_in_full_for_that_turn(tmp_path: Path) -> None:
    builder = ContextBuilder(
        write_files(tmp_path, Agent="x"), Config(skills=Skills(disabled=("scheduling",)))
    )
    asked = builder.build(ContextRequest(last_text="use $git and $nothing, $scheduling costs $5"))
    assert "### Skill: git" in asked.volatile
    assert section_of(asked, "asked-skills").reason == "1 in full"
    assert not section_of(builder.build(ContextRequest(last_text="use git")), "asked-skills").included


def test_findings_name_what_is_wrong(tmp_path: Path) -> None:
    root = write_files(tmp_path, Agent="x", USER=" ")
    (root / "SOUL.md").write_bytes(b"\x00\x01")
    (root / "skills/bad").mkdir(parents=True)
    (root / "skills/bad/SKILL.md").write_text("---\nname: [\n---\nbody")
    found = ContextBuilder(root, Config(timezone="Mars/Olympus")).findings()
    subjects = {finding.subject: finding.message for finding in found}
    assert "binary" in subjects["SOUL.md"]
    assert "empty" in subjects["USER.md"]
    assert "front matter" in subjects["skill bad"]
    assert "Mars/Olympus" in subjects["timezone"]


def test_in_a_group_the_prefix_does_not_depend_on_who_speaks(tmp_path: Path) -> None:
    builder = open_example(tmp_path)
    turns = [
        builder.build(ContextRequest(thread_id=thread, platform="telegram", user_id=user, now=MOMENT))
        for thread in ("telegram:group:7", "telegram:dm:42")
        for user in ("42", "43")
    ]
    assert turns[0].stable == turns[1].stable
    assert "Lin likes tables." in turns[0].volatile
    assert "Lin likes tables." in turns[2].stable


def test_an_index_that_cannot_be_read_is_reported_and_memory_used_instead(tmp_path: Path) -> None:
    root = write_files(tmp_path, Agent="x", memory__MEMORY="kept")
    (root / "memory/INDEX.md").write_bytes(b"\x00")
    section = section_of(ContextBuilder(root).build(ContextRequest()), "memory-index")
    assert section.text.endswith("kept")
    assert "binary" in section.problem


def test_m2_the_home_folder_of_another_agent_stands_for_the_workspace_inside(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/SOUL.md").write_text("Calm and brief.\n")
    (tmp_path / "config.json").write_text('{"agents": {"defaults": {"model": "x"}}}')
    outer, inner = ContextBuilder(tmp_path), ContextBuilder(tmp_path / "workspace")
    assert "Calm and brief." in outer.build_system_prompt()
    assert (outer.layout.root, outer.config.context.profile) == (
        inner.layout.root,
        inner.config.context.profile,
    )
