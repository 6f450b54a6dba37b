"""Make workspaces for tests of the context: the example one, and ones written file by file."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from shipmate.context.builder import ContextBuilder
from shipmate.values.message import JsonObject
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import load_config

EXAMPLE = Path(__file__).parent.parent / "context" / "example"
# The moment document 003 gives as its example.
MOMENT = datetime(2026, 2, 23, 23, 45, tzinfo=ZoneInfo("Asia/Shanghai"))


@dataclass(frozen=True)
class StubTool:
    """Describe a tool without having one."""

    name: str
    description: str = "Do something."
    schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})


TOOLS = (StubTool("read"), StubTool("write"), StubTool("exec"))


def copy_example(folder: Path) -> Path:
    """Copy the example workspace, so that tests may change it."""
    root = folder / "workspace"
    shutil.copytree(EXAMPLE, root)
    return root


def make_environ(folder: Path) -> dict[str, str]:
    """Make a machine that has git, and nothing else."""
    binaries = folder / "bin"
    binaries.mkdir()
    git = binaries / "git"
    git.write_text("#!/bin/sh\n")
    git.chmod(0o755)
    return {
        "PATH": str(binaries),
        "EXAMPLE_GITHUB_TOKEN": "ghp_example_value_1",
        "EXAMPLE_API_KEY": "sk-example-value-2",
    }


def open_example(folder: Path, member: str = CAPTAIN) -> ContextBuilder:
    """Open a copy of the example workspace on a known machine."""
    layout = Layout(copy_example(folder))
    loaded = load_config(layout, make_environ(folder))
    return ContextBuilder(Crew(layout, loaded).find(member), environ=loaded.environ)


def write_files(root: Path, **files: str) -> Path:
    """Write files; `__` in a name stands for `/`, and `.md` is added."""
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
