from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.tool import Labels, ToolContext
from shipmate.tools.toolset import Toolset, default_toolset
from shipmate.values.tool_name import ALIASES
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of

# The whole request is held to 10 KB; this is the tools' share.
SIZE_LIMIT = 4_500
FILE_TOOLS = ["read", "glob", "grep", "write", "edit"]
NAMES = [*FILE_TOOLS, "exec", "job", "web_fetch", "show_image", "send_file", "memory_upsert", "propose_task"]
ACTING = {"write", "edit", "exec", "web_fetch", "send_file", "memory_upsert", "propose_task"}


@pytest.fixture
def toolset(root: Path) -> Toolset:
    return default_toolset(captain_of(Layout(root)))


def test_the_tools_of_the_design_are_there(toolset: Toolset) -> None:
    assert toolset.names == NAMES
    for alias, name in ALIASES.items():
        assert toolset.get(alias) is toolset.get(name)
        assert alias not in [spec.name for spec in toolset.specs()]
    assert toolset.get("nothing") is None
    assert "read" in toolset


@pytest.mark.parametrize(
    ("name", "arguments", "meant"),
    [
        ("read_file", {"path": "a"}, {"path": "a"}),
        ("read_file", {"file_path": "a"}, {"path": "a"}),
        ("write_file", {"file_path": "a", "content": "b"}, {"path": "a", "content": "b"}),
        ("edit_file", {"path": "a", "old_text": "b", "new_text": "c"}, {"old": "b", "new": "c"}),
        (
            "edit",
            {"file_path": "a", "old_string": "b", "new_string": "c", "replace_all": True},
            {"all": True},
        ),
        ("list_dir", {"path": "a"}, {"path": "a", "pattern": ""}),
        ("exec_shell", {"command": "ls"}, {"command": "ls"}),
    ],
)
def test_m5_arguments_go_by_the_names_others_have_for_them(
    toolset: Toolset, name: str, arguments: dict[str, Any], meant: dict[str, Any]
) -> None:
    tool = toolset.get(name)
    assert tool is not None
    parsed = msgspec.to_builtins(tool.parse(arguments))
    assert {key: parsed[key] for key in meant} == meant


def test_a_name_given_twice_is_a_mistake(toolset: Toolset) -> None:
    tool = toolset.get("edit_file")
    assert tool is not None
    with pytest.raises(ToolInputError, match="old_text"):
        tool.parse({"path": "a", "old": "b", "old_text": "c", "new": "d"})


async def test_m5_list_dir_lists_files_and_folders(
    toolset: Toolset, root: Path, context: ToolContext
) -> None:
    (root / "deep/inner").mkdir(parents=True)
    (root / "deep/file.md").write_text("x")
    tool = toolset.get("list_dir")
    assert tool is not None
    assert (await tool.run(tool.parse({"path": "deep"}), context)).output == "file.md\ninner/"
    with pytest.raises(ToolError, match="is a file"):
        await tool.run(tool.parse({"path": "deep/file.md"}), context)


def test_the_schemas_stay_small(toolset: Toolset) -> None:
    encoded = msgspec.json.encode([msgspec.structs.asdict(spec) for spec in toolset.specs()])
    assert len(encoded) <= SIZE_LIMIT


def test_each_schema_is_one_and_agrees_with_parsing(toolset: Toolset) -> None:
    samples: dict[str, dict[str, Any]] = {
        "read": {"path": "a"}, "glob": {"pattern": "*"}, "grep": {"pattern": "x"}, "job": {"action": "list"},
        "write": {"path": "a", "content": ""}, "edit": {"path": "a", "old": "b", "new": "c"},
        "exec": {"command": "ls"}, "web_fetch": {"url": "http://x"}, "show_image": {"path": "a"},
        "send_file": {"path": "a"}, "memory_upsert": {"scope": "user", "heading": "h", "content": "c"},
        "propose_task": {"title": "t", "when": "@daily", "prompt": "p"},
    }  # fmt: skip
    for tool in toolset:
        schema = tool.spec().schema
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(samples[tool.name], schema)
        tool.parse(samples[tool.name])
        assert set(schema["required"]) == set(samples[tool.name])


def test_labels_say_what_each_tool_touches(toolset: Toolset) -> None:
    assert {tool.name for tool in toolset if tool.labels.acts} == ACTING
    assert {tool.name for tool in toolset if tool.labels.reads_untrusted} == {"web_fetch"}
    assert Labels().is_read_only


async def test_without_servers_loading_changes_nothing(toolset: Toolset) -> None:
    await toolset.load()
    assert toolset.names == NAMES
    assert toolset.findings() == []
    await toolset.close()


def test_nothing_heavy_is_imported() -> None:
    script = "import sys, shipmate.tools.toolset; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"PIL", "httpx2", "trafilatura", "lxml", "regex", "mcp", "pydantic", "anyio"} & set(loaded)
