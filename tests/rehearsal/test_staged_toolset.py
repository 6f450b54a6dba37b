from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shipmate.rehearsal.recorded_call import RecordedCalls
from shipmate.rehearsal.staged_toolset import CopyTool, StandIn, stage_tools, withhold
from shipmate.rehearsal.workspace_copy import WorkspaceCopy
from shipmate.tools.mcp.offer import ForeignTool, Offer, OfferFile
from shipmate.tools.tool import Tool
from shipmate.tools.toolset import default_toolset
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.member import Member
from tests.support.cassette import called, make_workspace

NOTHING = RecordedCalls([])


def find_member(layout: Layout, name: str = "captain") -> Member:
    return Crew(layout, load_config(layout)).find(name)


def test_only_tools_that_are_known_to_stay_run_in_the_copy(tmp_path: Path) -> None:
    """A tool that is added to the product stands on the stage until somebody looked at what it reaches."""
    layout = make_workspace(tmp_path)
    member = find_member(layout)
    copy = WorkspaceCopy(layout)
    staged = stage_tools(member, layout, NOTHING, copy)
    run = {tool.name for tool in staged if isinstance(tool, CopyTool)}
    files = {"read", "glob", "grep", "write", "edit", "show_image", "memory_upsert", "propose_task"}
    assert run == files | {"exec", "job"}
    assert {tool.name for tool in staged} - run == {"web_fetch", "send_file", "steps"}
    assert all(type(tool) is StandIn for tool in stage_tools(member, layout, NOTHING, None))


def test_models_are_offered_the_same_tools_as_ever(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    member = find_member(layout)
    staged = stage_tools(member, layout, NOTHING, None)
    assert staged.specs() == default_toolset(member).specs()
    assert staged.get("bash") is (staged.get("exec") if "bash" in default_toolset(member) else None)


def test_what_servers_offered_is_offered_without_them(tmp_path: Path) -> None:
    server = {"command": "no-such-program", "readOnly": ["depth"]}
    layout = make_workspace(tmp_path, mcp={"servers": {"sea": server}})
    member = find_member(layout)
    schema = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
    tools = tuple(
        ForeignTool(name=name, description="Sound.", input_schema=schema) for name in ("depth", "dump")
    )
    OfferFile(layout.mcp_offer("sea"), member.config.mcp.servers["sea"]).write(Offer(tools=tools))
    staged = stage_tools(member, layout, NOTHING, None)
    depth, dump = (_find(staged.get(f"mcp__sea__{name}")) for name in ("depth", "dump"))
    assert (depth.spec().schema, depth.spec().description) == (schema, "Sound.")
    assert (depth.labels.acts, dump.labels.acts) == (False, True)
    assert depth.labels.reads_untrusted


def _find(tool: Tool[Any] | None) -> Tool[Any]:
    assert tool is not None
    return tool


def test_a_member_s_limits_hold_for_what_a_script_calls(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    folder = tmp_path / "members" / "ux"
    folder.mkdir(parents=True)
    (folder / "Agent.md").write_text("# UX\n")
    (folder / "member.json").write_text(json.dumps({"tools": ["read", "mcp__sea__*"]}))
    parts = [called(name, name) for name in ("write", "mcp__sea__depth", "mcp__land__height")]
    recorded = RecordedCalls([[{"id": "a", "role": "assistant", "parts": parts}]])
    assert stage_tools(find_member(layout, "ux"), layout, recorded, None).names == ["read", "mcp__sea__depth"]


def test_what_leads_out_is_withheld(tmp_path: Path) -> None:
    layout = make_workspace(
        tmp_path,
        permissions={"network": True, "mode": "preview"},
        env={"TOKEN": "s3cret-value"},
        mcp={"servers": {"sea": {"command": "x"}}},
    )
    member = find_member(layout)
    for is_live in (True, False):
        held = withhold(member, is_live=is_live).config
        assert (held.env, held.mcp.servers) == ({"TOKEN": ""}, {})
        assert (held.permissions.network, held.permissions.mode) == (
            (False, "preview") if is_live else (True, "ask")
        )
