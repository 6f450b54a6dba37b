"""Share a workspace to run tools in."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.tools.tool import ToolContext
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "Agent.md").write_text("# Captain\n")
    return folder.resolve()


@pytest.fixture
def context(root: Path) -> ToolContext:
    return ToolContext(
        member=captain_of(Layout(root)), thread_id="cli:local:test", run_id="run_1", call_id="call_1"
    )
