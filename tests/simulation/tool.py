"""Tools that act on the world outside, with any wait before and after."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.tools.toolset import Toolset
from tests.simulation.outside import Act

if TYPE_CHECKING:
    from tests.simulation.process import Process


class Arguments(msgspec.Struct, frozen=True):
    """What a call is about."""

    mark: str


class SimTool(Tool[Arguments]):
    """One tool of one process: `look` only reads, `deed` may act unasked, `act` needs a person's leave."""

    description = "Leaves a mark."
    arguments = Arguments

    def __init__(self, name: str, process: Process, *, acts: bool) -> None:
        self.name = name
        self.labels = Labels(acts=acts)
        self._process = process

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Leave the mark outside."""
        chance, world = self._process.world.chance, self._process.world
        world.outside.begin(context.run_id, context.call_id)
        await self._wait()
        act = Act(
            self.name, context.thread_id, context.run_id, context.call_id, arguments.mark, world.loop.time()
        )
        world.outside.act(act)
        if world.is_rough and chance.random() < 0.08:
            # The worst moment: done, and nobody was told.
            chance.choice((self._process.kill, self._process.kill, world.cut_power))()
        await self._wait()
        if chance.random() < 0.05:
            raise ToolError("it did not work out")
        if chance.random() < 0.02:
            raise RuntimeError("a bug in the tool")
        return ToolResult(output={"done": arguments.mark})

    async def _wait(self) -> None:
        self._process.check()
        await asyncio.sleep(self._process.world.chance.choice((0.0, 0.02, 0.2, 1.0)))
        self._process.check()


def make_toolset(process: Process) -> Toolset:
    """Return the tools of a process."""
    return Toolset(
        [
            SimTool("look", process, acts=False),
            SimTool("deed", process, acts=True),
            SimTool("act", process, acts=True),
        ]
    )
