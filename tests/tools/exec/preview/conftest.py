"""Try commands in a workspace, over an overlay and in a copy."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.tools.exec.preview.attempt import Attempt
from shipmate.tools.exec.preview.trial import Trials
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.tool import Picture, ToolContext, ToolResult
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of


class Bench:
    """Tries commands in one workspace."""

    def __init__(self, root: Path, *, overlay: bool, context: ToolContext) -> None:
        self.root = root
        self.context = context
        self.sandbox = Sandbox(Layout(root))
        self.trials = Trials(Layout(root))
        self.overlay = overlay

    async def try_out(self, command: str, seconds: int = 20) -> Picture:
        attempt = Attempt(self.sandbox, self.context, command, seconds, 16_000)
        return await self.trials.run(command, self.context, attempt, can_overlay=self.overlay)

    async def approve(self, picture: Picture) -> ToolResult:
        bound = ToolContext(
            member=captain_of(self.context.layout),
            thread_id=self.context.thread_id,
            run_id=self.context.run_id,
            call_id=self.context.call_id,
            expected=picture.target,
        )
        return await asyncio.to_thread(self.trials.apply, bound)


@pytest.fixture(params=["overlay", "copy"])
def bench(request: pytest.FixtureRequest, root: Path, context: ToolContext) -> Bench:
    made = Bench(root, overlay=request.param == "overlay", context=context)
    if made.overlay and not made.sandbox.can_overlay:
        pytest.skip("no bubblewrap here has --overlay")
    return made
