"""Make the tools of a member as a rehearsal offers them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import msgspec

from shipmate.errors import ToolError
from shipmate.models.port import ToolSpec
from shipmate.rehearsal.recorded_call import RecordedCalls, plain_key
from shipmate.rehearsal.stand_in import IN_COPY, CopyTool, ForeignStandIn, StandIn
from shipmate.rehearsal.workspace_copy import WorkspaceCopy
from shipmate.tools.tool import Labels
from shipmate.tools.toolset import AnyTool, Toolset, default_toolset
from shipmate.values.message import JsonObject
from shipmate.values.tool_name import names_of
from shipmate.workspace.config import Mcp
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member

# Models are told of a tool that nobody describes any more by its name alone.
SCHEMA: JsonObject = {"type": "object", "properties": {}}


def stage_tools(
    member: Member, offers: Layout, recorded: RecordedCalls, copy: WorkspaceCopy | None
) -> Toolset:
    """Return the tools of a member: in a copy those that stay there, all others answered from a script.

    What MCP servers offered is remembered where `offers` says.
    """
    own = default_toolset(withhold(member, is_live=copy is not None), copy and copy.sandbox)
    staged: list[AnyTool] = [_stage(tool, recorded, copy) for tool in own]
    known = {name for tool in staged for name in (*names_of(tool.name), *tool.aliases)}
    for tool in (*_served(member, offers, recorded), *_called(recorded)):
        if tool.name not in known:
            known.add(tool.name)
            staged.append(tool)
    # The member's own limits hold for these as well.
    toolset = Toolset(staged, only=member.tools)
    recorded.key = partial(_key, toolset)
    return toolset


def withhold(member: Member, *, is_live: bool) -> Member:
    """Return a member without what leads out: MCP servers, the values of private variables, network.

    Where nothing of it is live nothing is tried either.
    """
    config = member.config
    permissions = config.permissions
    if is_live:
        permissions = msgspec.structs.replace(permissions, network=False)
    elif permissions.mode == "preview":
        permissions = msgspec.structs.replace(permissions, mode="ask")
    # Prompts name the variables; a command that asks for one is answered from the script.
    names = dict.fromkeys(config.env, "")
    kept = msgspec.structs.replace(config, mcp=Mcp(), env=names, permissions=permissions)
    return msgspec.structs.replace(member, config=kept)


def _stage(tool: AnyTool, recorded: RecordedCalls, copy: WorkspaceCopy | None) -> AnyTool:
    if copy is not None and tool.name in IN_COPY:
        return CopyTool(tool, recorded, copy)
    return StandIn(tool, recorded)


def _served(member: Member, offers: Layout, recorded: RecordedCalls) -> Iterator[AnyTool]:
    """Yield the tools of MCP servers as they were last offered; no server is asked."""
    servers = member.config.mcp.servers
    if not servers:
        return
    from shipmate.tools.mcp.mcp_tool import name_tool
    from shipmate.tools.mcp.offer import OfferFile

    for name, server in servers.items():
        remembered = OfferFile(offers.mcp_offer(name), server).read()
        for tool in remembered[0].tools if remembered else ():
            labels = Labels(reads_untrusted=True, reads_private=True, acts=tool.name not in server.read_only)
            schema = {"type": "object", **tool.input_schema}
            spec = ToolSpec(name_tool(name, tool.name), tool.description or tool.name, schema)
            yield ForeignStandIn(spec, recorded, labels)


def _called(recorded: RecordedCalls) -> Iterator[AnyTool]:
    for name in recorded.names:
        yield ForeignStandIn(ToolSpec(name, name, SCHEMA), recorded)


def _key(toolset: Toolset, name: str, arguments: JsonObject) -> tuple[str, str]:
    """Return what equal calls have in common: aliases and defaults make no difference."""
    tool = toolset.get(name)
    if tool is None:
        return plain_key(name, arguments)
    if isinstance(tool, ForeignStandIn):
        return plain_key(tool.name, arguments)
    try:
        parsed = msgspec.to_builtins(tool.parse(arguments))
    except ToolError:
        return plain_key(tool.name, arguments)
    return tool.name, json.dumps(parsed, sort_keys=True)
