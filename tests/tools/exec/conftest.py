"""Share `exec` in each way this machine can confine commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.sandbox import Confinement, Sandbox, holds, list_confinements
from shipmate.tools.tool import ToolContext
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout

MODES = ["first", "second", "third"]
Run = Callable[..., Coroutine[Any, Any, str]]


@pytest.fixture(params=range(len(MODES)), ids=MODES)
def mode(request: pytest.FixtureRequest, root: Path) -> Confinement:
    """Return each confinement that works here: the system's bubblewrap, the packaged one, Landlock."""
    layout = Layout(root)
    make_private(layout.scratch)
    working = [each for each in list_confinements(layout) if holds(each, layout)]
    if request.param >= len(working):
        pytest.skip("no further confinement works here")
    return working[request.param]


@pytest.fixture
async def confined(mode: Confinement, root: Path) -> AsyncIterator[Exec]:
    """Return `exec` in one confinement."""
    tool = Exec(Sandbox(Layout(root), [mode]), Jobs(), {"PRIVATE": "mine", "OTHER": "also mine"})
    yield tool
    await tool.close()


@pytest.fixture
def run(confined: Exec, context: ToolContext) -> Run:
    """Return a function that runs one command and returns its output."""

    async def run(command: str, **more: object) -> str:
        return (await confined.run(confined.parse({"command": command, **more}), context)).output

    return run
