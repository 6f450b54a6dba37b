"""A member changes its name, soul and variables: each call asks, and no value is shown anywhere."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from shipmate.app import Shipmate
from shipmate.models.scripted import Script, ScriptedModel, call, call_raw
from shipmate.values.message import JsonObject, tool_parts
from tests.support.workspace import ROOM, chunks_until_end, messages_of, talk

SECRET = "tok-73b1c9e05d"


@asynccontextmanager
async def open_self(root: Path, script: Script, **permissions: Any) -> AsyncGenerator[Shipmate]:
    (root / "Agent.md").write_text("# Captain\n")
    (root / "ship.json").write_text(json.dumps({"permissions": permissions, "selfTools": True}))
    async with Shipmate.open(root, model=ScriptedModel(script), environ={"HOST_KEY": "host-key-1"}) as app:
        yield app


async def last_call(app: Shipmate) -> JsonObject:
    return [part for message in await messages_of(app) for part in tool_parts(message)][-1]


def holding(root: Path, text: str) -> list[str]:
    """Return the files of a workspace that hold a text."""
    files = (path for path in root.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(root)) for path in files if text.encode() in path.read_bytes())


async def test_self_tools_are_offered_where_a_switch_or_the_list_of_tools_says_so(tmp_path: Path) -> None:
    async with open_self(tmp_path, {}) as app:
        offered = app.captain.toolset.names
        assert [name for name in offered if name.startswith("self_")] == [
            "self_list_skills",
            "self_install_skill",
            "self_uninstall_skill",
            "self_set_env",
            "self_delete_env",
            "self_rename",
            "self_update_soul",
        ]
        for name, settings in (("nina", {"selfTools": False}), ("bob", {"tools": ["read", "self_rename"]})):
            (tmp_path / "members" / name).mkdir(parents=True)
            (tmp_path / "members" / name / "Agent.md").write_text(f"# {name}\n")
            (tmp_path / "members" / name / "member.json").write_text(json.dumps(settings))
        assert not [each for each in app.equip("nina").toolset.names if each.startswith("self_")]
        assert app.equip("bob").toolset.names == ["read", "self_rename"]
    (tmp_path / "ship.json").write_text("{}")
    async with Shipmate.open(tmp_path, model=ScriptedModel({}), environ={}) as app:
        assert not [each for each in app.captain.toolset.names if each.startswith("self_")]


async def test_no_rule_mode_or_longer_yes_lets_a_member_change_itself_unasked(tmp_path: Path) -> None:
    script: Script = {"rename": [call("self_rename", name="Ada"), "Done."]}
    async with open_self(tmp_path, script, mode="yolo", allow=["self_rename", "self_*"]) as app:
        outcome = await talk(app, "rename")
        (question,) = await app.approvals.pending(ROOM)
        assert outcome.status == "suspended"
        assert question.reason == "this changes what the member is: `self_rename`"
        assert question.preview == "captain: Captain → Ada"
        assert question.coverage is None
        assert (await talk(app, "yes")).text == "Done."
        assert app.crew.find("captain").name == "Ada"
        # The same call asks again.
        assert (await talk(app, "rename")).status == "suspended"
    assert json.loads((tmp_path / "ship.json").read_text())["name"] == "Ada"


async def test_a_soul_is_shown_as_a_diff_and_can_be_refused(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("calm\n")
    script: Script = {"soul": [call("self_update_soul", content="bold\n"), "So be it."]}
    async with open_self(tmp_path, script, mode="auto-edit") as app:
        await talk(app, "soul")
        (question,) = await app.approvals.pending(ROOM)
        assert "-calm" in str(question.preview)
        assert "+bold" in str(question.preview)
        await talk(app, "no")
        assert (tmp_path / "SOUL.md").read_text() == "calm\n"
        await talk(app, "soul")
        await talk(app, "yes")
    assert (tmp_path / "SOUL.md").read_text() == "bold\n"


async def test_a_value_reaches_the_settings_and_stands_nowhere_else(tmp_path: Path) -> None:
    script: Script = {
        "keep": [call("self_set_env", key="API_KEY", value=SECRET), "Kept."],
        "use": [call("exec", command='test -n "$API_KEY" && echo set', variables=["API_KEY"]), "It is set."],
        "drop": [call("self_delete_env", key="API_KEY"), "Gone."],
    }
    async with open_self(tmp_path, script) as app:
        async with app.keeper.watch(ROOM) as queue:
            await talk(app, "keep")
            told = await chunks_until_end(queue)
        assert "tool-input-available" in [chunk["type"] for chunk in told]
        assert SECRET not in json.dumps(told)
        (question,) = await app.approvals.pending(ROOM)
        assert question.preview == "captain: API_KEY gets a value (not shown)"
        assert SECRET not in msgspec.json.encode(question).decode()
        (sealed,) = holding(tmp_path, SECRET)
        assert sealed.startswith(".ship/sealed/")
        assert (tmp_path / sealed).stat().st_mode & 0o777 == 0o600
        await talk(app, "yes")
        assert (await last_call(app))["output"] == "ship.json holds API_KEY. Commands that name it get it."
        assert holding(tmp_path, SECRET) == ["ship.json"]
        await talk(app, "use")
        await talk(app, "yes")
        assert "set" in (await last_call(app))["output"]
        await talk(app, "drop")
        await talk(app, "yes")
    assert "env" not in json.loads((tmp_path / "ship.json").read_text())


async def test_a_value_is_not_kept_where_it_cannot_be_read_or_would_name_a_key_of_the_host(
    tmp_path: Path,
) -> None:
    script: Script = {
        "host": [call("self_set_env", key="X", value="${HOST_KEY}"), "No."],
        "broken": [call_raw("self_set_env", f'{{"key": "X", "value": "{SECRET}'), "No."],
        "other name": [call_raw("self_set_env", json.dumps({"key": "X", "val": SECRET, SECRET: 1})), "No."],
        "list": [call_raw("self_set_env", json.dumps({"key": "X", "value": [SECRET]})), "No."],
        "name": [call("self_set_env", key="A=B", value=SECRET), "No."],
    }
    async with open_self(tmp_path, script) as app:
        told: dict[str, str] = {}
        for words in script:
            assert (await talk(app, words)).text == "No."
            told[words] = (await last_call(app))["errorText"]
        assert await app.approvals.pending(ROOM) == []
    assert "must not hold ${" in told["host"]
    assert "not JSON" in told["broken"]
    assert "such as API_KEY" in told["name"]
    # What was sealed for the calls that were refused is all there is.
    assert [path for path in holding(tmp_path, SECRET) if not path.startswith(".ship/sealed/")] == []
    assert "env" not in json.loads((tmp_path / "ship.json").read_text())
