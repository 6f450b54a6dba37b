"""Stand in for the tools of a member: calls are answered from a script, or run in a copy of the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec

from shipmate.errors import ToolError, ToolInputError
from shipmate.models.port import ToolSpec
from shipmate.rehearsal.recorded_call import RecordedCalls
from shipmate.rehearsal.workspace_copy import WorkspaceCopy
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.tools.toolset import AnyTool
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal

# Tools that reach nothing but the folder they are given; every other tool only stands on a stage.
IN_COPY = frozenset(
    {"read", "glob", "grep", "write", "edit", "exec", "job", "show_image", "memory_upsert"}
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
