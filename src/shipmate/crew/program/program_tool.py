"""The tools of a program, as far as it asks before it uses them: our approvals decide, the program acts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import msgspec

from shipmate.crew.crew_wording import say
from shipmate.errors import ToolError
from shipmate.models.port import ProgramResult
from shipmate.tools.output import keep
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.tools.toolset import AnyTool, Toolset
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal

# Lets the program of a run make the call of an id; None when it has ended meanwhile.
Allow = Callable[[str, str], Awaitable[ProgramResult | None]]


class ProgramArguments(msgspec.Struct, frozen=True):
    """Whatever a program's tool takes."""

    values: JsonObject


class ProgramTool(Tool[ProgramArguments]):
    """One tool of a program."""

    description = ""
    arguments = ProgramArguments
    labels = Labels(acts=True, reads_private=True, reads_untrusted=True)

    def __init__(self, name: str, allow: Allow) -> None:
        self.name = name
        self._allow = allow

    def parse(self, arguments: JsonObject) -> ProgramArguments:
        return ProgramArguments(arguments)

    async def picture(self, arguments: ProgramArguments, context: ToolContext) -> Picture:
        return Picture(reveal(msgspec.json.format(msgspec.json.encode(arguments.values), indent=2).decode()))

    async def run(self, arguments: ProgramArguments, context: ToolContext) -> ToolResult:
        result = await self._allow(context.run_id, context.call_id)
        if result is None:
            raise ToolError(say("gone"))
        words = (
            result.output if isinstance(result.output, str) else msgspec.json.encode(result.output).decode()
        )
        text = keep(words, context, self.budget)
        if result.is_error:
            raise ToolError(text)
        return ToolResult(output=text or "[no output]")


class ProgramToolset(Toolset):
    """The tools of a member whose program has tools of its own, found by how their names begin."""

    def __init__(self, tools: Iterable[AnyTool], prefix: str, allow: Allow) -> None:
        super().__init__(tools)
        self._prefix = prefix
        self._allow = allow

    def get(self, name: str) -> AnyTool | None:
        """Find a tool by its name: ours, or one of the program."""
        return ProgramTool(name, self._allow) if name.startswith(f"{self._prefix}_") else super().get(name)
