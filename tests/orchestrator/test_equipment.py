"""Members of one workspace differ in model, tools, rights and variables, and each run is its own member's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.approvals.audit_call import fold
from shipmate.models.scripted import ScriptedModel, call, say
from shipmate.tools.toolset import Toolset
from shipmate.values.event import Outcome
from shipmate.values.message import metadata_of, tool_parts
from shipmate.values.thread_id import ThreadId
from tests.support.workspace import ROOM, Probe, open_workspace, said


def write_member(root: Path, member_id: str, **settings: Any) -> None:
    folder = root / "members" / member_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "member.json").write_text(json.dumps(settings))


async def tell(app: Shipmate, text: str, member: str | None = None, thread_id: str = ROOM) -> Outcome:
    receipt = await app.receive(said(text, member=member, thread_id=thread_id))
    return await receipt.outcome()


async def test_m4_each_member_answers_with_its_own_model_and_a_thread_is_whose_it_began(
    tmp_path: Path,
) -> None:
    write_member(tmp_path, "nina", model="rehearsal")
    async with open_workspace(tmp_path, ScriptedModel([[say("I am the captain.")]])) as app:
        captain = await tell(app, "hello")
        nina = await tell(app, "hello", "nina", "cli:dm:nina")
        usage = [(each.member, each.model) for each in await app.store.ledger.usage("", "cli:dm:nina")]
        listed = {each.thread_id: each.member for each in await app.store.threads.list()}
    assert captain.text == "I am the captain."
    assert "rehearsal model" in nina.text
    assert usage == [("nina", "rehearsal")]
    assert listed == {ROOM: "captain", "cli:dm:nina": "nina"}


async def test_m4_a_member_is_offered_its_tools_alone(tmp_path: Path) -> None:
    look, act = Probe("look"), Probe("act", acts=True)
    write_member(tmp_path, "nina", tools=["look"])
    model = ScriptedModel([[call("act", mark="x")], "I cannot."])
    async with open_workspace(tmp_path, model, [look, act], allow=["act"]) as app:
        outcome = await tell(app, "act", "nina")
        names = app.equip("nina").toolset.names
        thread = await app.threads.read(_room())
    assert (names, outcome.text, act.marks) == (["look"], "I cannot.", [])
    assert "There are: look." in next(tool_parts(thread.messages[1]))["errorText"]


async def test_m4_what_either_forbids_a_member_does_not_happen(tmp_path: Path) -> None:
    first, second = Probe("first", acts=True), Probe("second", acts=True)
    write_member(tmp_path, "nina", permissions={"allow": ["first", "second"], "deny": ["second"]})
    script = [[call("first", mark="1"), call("second", mark="2")], "Done."]
    # The workspace allows the second alone, the member both but for the second.
    async with open_workspace(tmp_path, ScriptedModel(script * 2), [first, second], allow=["second"]) as app:
        outcome = await tell(app, "go", "nina")
        waiting = await app.approvals.pending(ROOM)
    assert outcome.status == "suspended"
    assert [(each.tool, each.member) for each in waiting] == [("first", "nina")]
    assert (first.marks, second.marks) == ([], [])


async def test_m4_an_approved_call_runs_as_the_member_that_asked(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    write_member(tmp_path, "nina", tools=["act"])
    model = ScriptedModel([[say("Hello.")], [call("act", mark="x")], "Done."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await tell(app, "hello")
        assert (await tell(app, "act", "nina")).status == "suspended"
    async with open_workspace(tmp_path, model, [act]) as app:
        # The answer names nobody: it belongs to whoever asked.
        outcome = await tell(app, "yes")
        calls = [each.member for each in app.approvals.audit.entries() if each.tool == "act"]
        thread = await app.threads.read(_room())
    assert (outcome.status, act.marks) == ("replied", ["x"])
    assert set(calls) == {"nina"}
    assert [metadata_of(each).get("member") for each in thread.messages if each["role"] == "assistant"] == [
        None,
        "nina",
    ]


async def test_a_member_that_is_gone_fails_its_run_in_plain_sight_and_nothing_else(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    write_member(tmp_path, "nina")
    model = ScriptedModel([[call("act", mark="x")], [say("Still here.")]])
    async with open_workspace(tmp_path, model, [act]) as app:
        assert (await tell(app, "act", "nina", "cli:dm:nina")).status == "suspended"
        shutil.rmtree(tmp_path / "members")
        gone = await tell(app, "yes", None, "cli:dm:nina")
        later = await tell(app, "hello")
        (audited,) = fold(app.approvals.audit.entries(), 5).calls
    assert (gone.status, act.marks) == ("failed", [])
    assert "there is no member 'nina'" in (gone.error or "")
    assert later.text == "Still here."
    # The log does not end at "approved": it says that nothing ran, and why.
    assert (audited.outcome, audited.member, audited.tool) == ("refused", "nina", "act")
    assert "there is no member 'nina'" in (audited.events[-1].reason or "")


async def test_a_late_yes_to_a_member_that_is_gone_is_in_the_audit_log_as_what_came_of_it(
    tmp_path: Path,
) -> None:
    act = Probe("act", acts=True)
    write_member(tmp_path, "nina")
    model = ScriptedModel([[say("Hello.")], [call("act", mark="x")], [say("Monday.")], [say("Gone.")]])
    async with open_workspace(tmp_path, model, [act]) as app:
        await tell(app, "hello")
        assert (await tell(app, "act", "nina")).status == "suspended"
        await tell(app, "what day is it today, by the way?", "captain")
        shutil.rmtree(tmp_path / "members")
        outcome = await tell(app, "yes")
        (audited,) = fold(app.approvals.audit.entries(), 5).calls
    assert (outcome.status, act.marks, audited.outcome) == ("replied", [], "refused")
    assert "there is no member 'nina'" in (audited.events[-1].reason or "")


async def test_m4_a_member_whose_model_is_missing_says_so(tmp_path: Path) -> None:
    write_member(tmp_path, "nina", model="anthropic:claude-sonnet-4-6")
    async with open_workspace(tmp_path, ScriptedModel([[say("Hello.")]])) as app:
        failed = await tell(app, "hello", "nina", "cli:dm:nina")
        other = await tell(app, "hello")
    assert failed.status == "failed"
    assert "ANTHROPIC_API_KEY" in (failed.error or "")
    assert other.text == "Hello."


async def test_new_settings_count_from_the_next_run_on(tmp_path: Path) -> None:
    look = Probe("look")
    write_member(tmp_path, "nina", tools=["look"])
    async with open_workspace(tmp_path, ScriptedModel([[say("Hello.")]]), [look]) as app:
        before = app.equip("nina")
        write_member(tmp_path, "nina", tools=[])
        after = app.equip("nina")
    assert (before.toolset.names, after.toolset.names) == (["look"], [])
    assert isinstance(after.toolset, Toolset)


async def test_m4_private_variables_reach_the_commands_of_their_member_alone(tmp_path: Path) -> None:
    write_member(tmp_path, "nina", env={"DESK": "oak"})
    (tmp_path / "Agent.md").write_text("# Captain\n")
    (tmp_path / "ship.json").write_text('{"env": {"BRIDGE": "steel"}}')
    async with Shipmate.open(tmp_path, environ={}) as app:
        prompts = {name: app.equip(name).context.build_system_prompt() for name in ("captain", "nina")}
    assert "BRIDGE" in prompts["captain"]
    assert "DESK" not in prompts["captain"]
    assert "DESK" in prompts["nina"]
    assert not any(word in prompts["nina"] for word in ("BRIDGE", "oak", "steel"))


def _room() -> ThreadId:
    return ThreadId.parse(ROOM)


async def test_m4_a_yes_that_names_another_member_lets_the_one_that_asked_act(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    for name in ("nina", "bo"):
        write_member(tmp_path, name)
    model = ScriptedModel([[call("act", mark="1")], "Done.", [call("act", mark="2")], "Hello.", "Done too."])
    async with open_workspace(tmp_path, model, [act]) as app:
        # Answered at once, and after another member has spoken.
        await tell(app, "act", "nina")
        await tell(app, "yes", "bo")
        await tell(app, "act again", "nina")
        await tell(app, "hello", "bo")
        await tell(app, "yes", "bo")
    lines = [
        line for file in (tmp_path / ".ship/audit").glob("*.jsonl") for line in file.read_text().splitlines()
    ]
    acted = [each for each in map(json.loads, lines) if each.get("event") == "allowed"]
    assert (act.marks, [each["member"] for each in acted]) == (["1", "2"], ["nina", "nina"])


async def test_m4_a_member_is_told_reasons_in_its_own_language(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    write_member(tmp_path, "nina", language="zh", tools=["ac*"])
    model = ScriptedModel([[call("act", mark="x")]] * 2)
    async with open_workspace(tmp_path, model, [act, Probe("look")]) as app:
        assert app.equip("nina").toolset.names == ["act"]
        await tell(app, "act", "nina", "cli:dm:nina")
        await tell(app, "act", None, "cli:dm:cap")
        reasons = {each.member: each.reason for each in await app.approvals.pending()}
    assert any("\u4e00" <= letter <= "\u9fff" for letter in reasons["nina"])
    assert reasons["captain"].isascii()
