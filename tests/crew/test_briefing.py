"""What a member's program is told of a conversation, and when it knows it already."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from shipmate.crew.briefing import brief, find_session, split_turn
from shipmate.errors import ConfigError, PathError
from shipmate.models.port import RunOrigin
from shipmate.values.message import JsonObject, UIMessage, user_message
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.member import Member, MemberSettings
from tests.support.agent_program import write_member

HERE = RunOrigin(thread_id="cli:dm:ann", run_id="run_3", user_id="ann", owns_thread=False)


@pytest.fixture
def member(tmp_path: Path) -> Member:
    write_member(tmp_path, "openai-codex", "codex", {})
    layout = Layout(tmp_path)
    return Crew(layout, load_config(layout, {})).find("bo")


def answer(words: str, **metadata: object) -> UIMessage:
    parts: list[JsonObject] = [{"type": "text", "text": words}]
    return {"id": words, "role": "assistant", "parts": parts, "metadata": dict(metadata)}


def test_a_session_is_gone_on_with_only_where_the_program_knows_what_was_said(member: Member) -> None:
    session = {"id": "s1", "threadId": "cli:dm:ann"}
    own = answer("mine", member="bo", outcome="replied", session=session)
    said = [user_message("1", "one"), own, answer("captain's"), user_message("2", "two")]
    said.append({**answer(""), "metadata": {"runId": "run_3"}})
    before, now = split_turn(said, "run_3")
    assert [each["id"] for each in now] == ["2"]
    assert find_session(member, before, HERE) == "s1"
    assert find_session(member, before, replace(HERE, is_retry=True)) is None
    # A branch has the messages of its parent, and the program's session holds more than those.
    assert find_session(member, before, replace(HERE, thread_id="web:room:2")) is None
    failed = answer("mine", member="bo", outcome="failed", session=session)
    assert find_session(member, [*before[:1], failed], HERE) is None
    whole, known = brief(member, said, HERE), brief(member, said, HERE, session="s1")
    told = [(each.sender, each.content) for each in whole.context_messages]
    assert told == [("ann", "one"), ("Bo", "mine"), ("member", "captain's")]
    assert [each.content for each in known.context_messages] == ["captain's"]
    assert whole.message == "two"


def test_instructions_come_from_the_file_that_is_named_and_from_nowhere_outside(member: Member) -> None:
    def told(**settings: object) -> str | None:
        changed = replace(member, settings=MemberSettings(**settings))  # pyright: ignore[reportArgumentType]
        return brief(changed, [user_message("1", "go")], HERE).instruction_file_text

    assert told() == "# Bo\n\nYou review.\n"
    (member.own.root / "rules.md").write_text("Rules.")
    assert told(instruction_file="rules.md") == "Rules."
    with pytest.raises(ConfigError, match=r"members/bo/none\.md"):
        told(instruction_file="none.md")
    with pytest.raises(PathError, match="leads out of the workspace"):
        told(instruction_file="../../../etc/passwd")
