"""Make the tools of a member as a rehearsal offers them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from shipmate.errors import ToolError, ToolInputError
from shipmate.models.port import ToolSpec
from shipmate.rehearsal.recorded_call import RecordedCalls, plain_key
from shipmate.rehearsal.workspace_copy import WorkspaceCopy
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.tools.toolset import AnyTool, Toolset, default_toolset
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.values.tool_name import names_of
from shipmate.workspace.config import Mcp
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member

# Models are told of a tool that nobody describes any more by its name alone.
SCHEMA: JsonObject = {"type": "object", "properties": {}}

# Tools that reach nothing but the folder they are given; every other tool only stands on a stage.
IN_COPY = frozenset(
    {"read", "glob", "grep", "write", "edit", "exec", "job", "show_image", "memory_upsert", "propose_task"}
)  # fmt: skip


class StandIn(Tool[Any]):
    """A tool as the member knows it, whose calls are answered from a script; nothing runs."""

    def __init__(self, real: AnyTool, recorded: RecordedCalls) -> None:
        self.name = real.name
        self.description = real.description
        self.arguments = real.arguments
        self.aliases = real.aliases
        self.labels = real.labels
        self._real = real
        self._recorded = recorded

    def spec(self) -> ToolSpec:
        return self._real.spec()

    def translate(self, arguments: JsonObject) -> JsonObject:
        return self._real.translate(arguments)

    def parse(self, arguments: JsonObject) -> Any:
        return self._real.parse(arguments)

    def labels_for(self, arguments: Any) -> Labels:
        return self._real.labels_for(arguments)

    async def picture(self, arguments: Any, context: ToolContext) -> Picture:
        # Never the real one: it may look at servers, or try a command.
        return Picture(reveal(msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()))

    async def run(self, arguments: Any, context: ToolContext) -> ToolResult:
        return self._recorded.answer(context.call_id, self.name, msgspec.to_builtins(arguments))


class CopyTool(StandIn):
    """A tool that runs in a copy of the workspace; what may not run even there is answered from a script."""

    def __init__(self, real: AnyTool, recorded: RecordedCalls, copy: WorkspaceCopy) -> None:
        super().__init__(real, recorded)
        self._copy = copy

    def translate(self, arguments: JsonObject) -> JsonObject:
        """Return arguments in which the workspace's own path is that of the copy."""
        with self._telling():
            return self._real.translate(self._copy.enter(arguments))

    def parse(self, arguments: JsonObject) -> Any:
        with self._telling():
            return self._real.parse(self._copy.enter(arguments))

    def is_tried(self, arguments: Any) -> bool:
        return self._real.is_tried(arguments)

    async def picture(self, arguments: Any, context: ToolContext) -> Picture:
        if not await self._may_run(arguments):
            return await super().picture(arguments, context)
        with self._telling():
            return await self._real.picture(arguments, context)

    async def run(self, arguments: Any, context: ToolContext) -> ToolResult:
        if not await self._may_run(arguments):
            return await super().run(arguments, context)
        with self._telling():
            result = await self._real.run(arguments, context)
        return msgspec.structs.replace(result, output=self._copy.leave(result.output))

    @contextmanager
    def _telling(self) -> Generator[None]:
        """Have errors name the workspace's own paths, not those of the copy."""
        try:
            yield
        except ToolError as error:
            # Kept as the error it is: a target that changed is asked about anew.
            raise type(error)(self._copy.leave(str(error))) from error

    async def close(self) -> None:
        await self._real.close()

    async def _may_run(self, arguments: Any) -> bool:
        """Return whether a call stays in the copy: no network, no private variable, no unconfined command."""
        if self.name != "exec":
            return self.name in IN_COPY
        is_plain = not getattr(arguments, "network", True) and not getattr(arguments, "variables", True)
        return is_plain and await asyncio.to_thread(self._copy.confines)


class ForeignArguments(msgspec.Struct, frozen=True):
    """The arguments of a tool that is not ours, as they were given."""

    values: JsonObject


class ForeignStandIn(Tool[ForeignArguments]):
    """A tool that only a script or an MCP server knows; its calls are answered from the script."""

    arguments = ForeignArguments

    def __init__(self, spec: ToolSpec, recorded: RecordedCalls, labels: Labels | None = None) -> None:
        self.name = spec.name
        self.description = spec.description
        # What is not known of a tool is taken for the worst.
        self.labels = labels or Labels(reads_untrusted=True, reads_private=True, acts=True)
        self._spec = spec
        self._recorded = recorded

    def spec(self) -> ToolSpec:
        return self._spec

    def parse(self, arguments: JsonObject) -> ForeignArguments:
        required = self._spec.schema.get("required")
        for name in required if isinstance(required, list) else ():
            if isinstance(name, str) and name not in arguments:
                raise ToolInputError(f"{self.name}: Object missing required field `{name}`. Nothing ran.")
        return ForeignArguments(arguments)

    async def run(self, arguments: ForeignArguments, context: ToolContext) -> ToolResult:
        return self._recorded.answer(context.call_id, self.name, arguments.values)


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
