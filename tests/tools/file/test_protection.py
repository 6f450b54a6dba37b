from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import ToolError
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.preview.trial import Trials
from shipmate.tools.exec.sandbox import jail
from shipmate.tools.exec.sandbox.landlock import FIRST_VERSION, Landlock
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.file.edit import Edit
from shipmate.tools.file.protection import (
    FORMING_FILES,
    FORMING_FOLDERS,
    HOOK_FILES,
    HOOK_FOLDERS,
    SECRET_NAMES,
    ProjectRights,
    fold,
    forms_member,
    is_locked,
    is_placed,
    refuse_reading,
)
from shipmate.tools.file.read import Read
from shipmate.tools.file.write import Write
from shipmate.tools.tool import Tool, ToolContext
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member

SPECIAL = {*FORMING_FILES, *FORMING_FOLDERS, *HOOK_FILES, *HOOK_FOLDERS, *SECRET_NAMES, ".ship", "meta.json"}
ORDINARY = ("docs", "src", "a", "Großes", "agent.md.d", "project")


def test_in_a_folder_like_any_other_a_name_alone_decides() -> None:
    for depth in (1, 2):
        for parts in product(ORDINARY, repeat=depth):
            assert not is_placed(parts)
            for name in (*SPECIAL, *ORDINARY):
                elsewhere = ("_", "_", "_", name)
                assert is_locked((*parts, name)) == is_locked(elsewhere)
                assert (refuse_reading((*parts, name)) is None) == (refuse_reading(elsewhere) is None)


def test_where_the_folder_matters_it_is_said() -> None:
    for top in (*FORMING_FOLDERS, "projects", "Members", "SKILLS"):
        assert is_placed((top, "x"))
    assert is_placed(())


@given(st.text(max_size=12))
def test_plain_letters_fold_like_all_others(name: str) -> None:
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    assert fold(name) == unicodedata.normalize("NFKC", visible).casefold()


@pytest.mark.parametrize(
    "path",
    [
        *(".mcp.json", "sub/.mcp.json", ".claude/settings.json", "a/.Claude/Settings.local.json"),
        *(".codex/config.toml", ".gemini/settings.json", ".cursor/mcp.json", "openclaw.json", "aipanel.json"),
        "agents/x/config.json",
    ],
)
def test_m1_settings_in_which_other_agents_keep_keys_are_read_by_no_tool(path: str) -> None:
    assert "may hold keys" in str(refuse_reading(path.split("/")))


@pytest.mark.parametrize(
    "path", ["config.json", "src/settings.json", "agents/x/notes.md", ".claude/skills/x/SKILL.md"]
)
def test_what_only_resembles_them_can_be_read(path: str) -> None:
    assert refuse_reading(path.split("/")) is None


@pytest.mark.parametrize(
    ("path", "forms"),
    [
        ("agents/x/workspace/SOUL.md", True),
        ("agents/x/workspace/memory/INDEX.md", True),
        ("agents/x/config.json", True),
        ("agents/x/workspace/notes/a.md", False),
        ("agents/x.py", False),
        ("agents/SOUL.md", False),
    ],
)
def test_m1_the_files_of_a_member_of_zyhive_form_it(path: str, forms: bool) -> None:
    assert forms_member(path.split("/")) is forms


@pytest.fixture(autouse=True)
def projects(root: Path) -> None:
    for name, editors in (("closed", ["nina"]), ("open", [])):
        folder = root / "projects" / name
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(json.dumps({"editors": editors}))
        (folder / "plan.md").write_text("as it was")
    (root / "docs").mkdir()


def plan(root: Path, project: str = "closed") -> str:
    return (root / "projects" / project / "plan.md").read_text()


def named(context: ToolContext, member_id: str) -> Member:
    return msgspec.structs.replace(context.member, id=member_id)


WAYS = ("projects/closed/plan.md", "projects/closed/new/x.md", "docs/link/plan.md", "docs/file.md")


@pytest.mark.parametrize("path", WAYS)
async def test_m5_file_tools_do_not_write_where_a_member_may_only_read(
    root: Path, context: ToolContext, path: str
) -> None:
    """Nor behind a link that came after policy had judged the path: the tools look for themselves."""
    (root / "docs/link").symlink_to("../projects/closed")
    (root / "docs/file.md").symlink_to("../projects/closed/plan.md")
    calls: list[tuple[Tool[Any], dict[str, str]]] = [
        (Write(), {"path": path, "content": "changed"}),
        (Edit(), {"path": path, "old": "as it was", "new": "changed"}),
    ]
    for tool, arguments in calls:
        with pytest.raises(ToolError, match=r"may only read in project closed|no such file"):
            await tool.run(tool.parse(arguments), context)
    assert plan(root) == "as it was"
    assert not (root / "projects/closed/new").exists()


async def test_m5_editors_write_and_everybody_reads(root: Path, context: ToolContext) -> None:
    nina = msgspec.structs.replace(context, member=named(context, "nina"))
    await Write().run(Write().parse({"path": "projects/closed/plan.md", "content": "by nina"}), nina)
    shown = await Read().run(Read().parse({"path": "projects/closed/plan.md"}), context)
    assert shown.output == "by nina"
    await Write().run(Write().parse({"path": "projects/open/plan.md", "content": "by all"}), context)
    assert plan(root, "open") == "by all"


def confinements(root: Path) -> dict[str, Sandbox]:
    layout = Layout(root)
    found = {"best": Sandbox(layout)}
    if jail.landlock_version() >= FIRST_VERSION:
        found["landlock"] = Sandbox(layout, [Landlock(layout)])
    return found


@pytest.fixture(params=["best", "landlock"])
async def run(request: pytest.FixtureRequest, root: Path) -> AsyncIterator[Exec]:
    sandbox = confinements(root).get(request.param)
    if sandbox is None or not sandbox.works:
        pytest.skip("this machine has no such sandbox")
    tool = Exec(sandbox, Jobs(), {})
    yield tool
    await tool.close()


COMMANDS = (
    "echo changed > projects/closed/plan.md",
    "echo changed > projects/closed/new.md",
    "cd projects/closed; rm -f plan.md",
    "ln -s ../projects/closed docs/way; echo changed > docs/way/plan.md",
    "ln projects/closed/plan.md docs/hard.md && echo changed > docs/hard.md",
    "mv projects/closed projects/elsewhere; echo changed > projects/elsewhere/plan.md",
    "mv projects others; echo changed > others/closed/plan.md",
    "echo '{}' > projects/closed/meta.json; echo changed > projects/closed/plan.md",
    "python3 -c \"open('projects/closed/plan.md', 'w').write('changed')\"",
)


@pytest.mark.parametrize("command", COMMANDS)
async def test_m5_no_command_writes_where_its_member_may_only_read(
    run: Exec, root: Path, context: ToolContext, command: str
) -> None:
    await run.run(run.parse({"command": command}), context)
    assert plan(root) == "as it was"
    assert sorted(os.listdir(root / "projects/closed")) == ["meta.json", "plan.md"]  # noqa: PTH208
    assert json.loads((root / "projects/closed/meta.json").read_text()) == {"editors": ["nina"]}


async def test_m5_commands_of_an_editor_write(run: Exec, root: Path, context: ToolContext) -> None:
    nina = msgspec.structs.replace(context, member=named(context, "nina"))
    # Landlock lets nobody make files beside a protected one; what is there can be written.
    result = await run.run(run.parse({"command": "echo changed > projects/closed/plan.md"}), nina)
    assert (result.output, plan(root)) == ("[exit 0]", "changed\n")
    result = await run.run(run.parse({"command": "echo too > projects/open/plan.md"}), context)
    assert (result.output, plan(root, "open")) == ("[exit 0]", "too\n")


async def test_m5_a_project_behind_a_link_is_closed_where_it_really_lies(
    run: Exec, root: Path, context: ToolContext
) -> None:
    (root / "projects/closed").rename(root / "docs/real")
    (root / "projects/closed").symlink_to("../docs/real")
    for path in ("docs/real/plan.md", "projects/closed/plan.md"):
        with pytest.raises(ToolError, match="may only read"):
            await Write().run(Write().parse({"path": path, "content": "changed"}), context)
        await run.run(run.parse({"command": f"echo changed > {path}"}), context)
    assert plan(root) == "as it was"


async def test_m5_without_a_sandbox_only_what_is_known_runs(root: Path, context: ToolContext) -> None:
    tool = Exec(Sandbox(Layout(root), ()), Jobs(), {})
    with pytest.raises(ToolError, match="no sandbox works here"):
        await tool.run(tool.parse({"command": "echo changed > projects/closed/plan.md"}), context)
    result = await tool.run(tool.parse({"command": "cat projects/closed/plan.md"}), context)
    assert result.output == "as it was\n[exit 0]"
    await tool.close()


async def test_m5_a_tried_command_changes_nothing_there_and_a_late_right_binds_its_yes(
    root: Path, context: ToolContext
) -> None:
    layout = Layout(root)
    sandbox = Sandbox(layout)
    tool = Exec(sandbox, Jobs(), {}, trials=Trials(layout))
    command = "echo changed > projects/closed/plan.md; echo changed > projects/open/plan.md"
    picture = await tool.picture(tool.parse({"command": command}), context)
    assert "projects/open/plan.md" in (picture.text or "")
    (root / "projects/open/meta.json").write_text('{"editors": ["nina"]}')
    approved = msgspec.structs.replace(context, expected=picture.target)
    with pytest.raises(ToolError, match="may only read in project open"):
        await tool.run(tool.parse({"command": command}), approved)
    assert (plan(root), plan(root, "open")) == ("as it was", "as it was")
    await tool.close()


@pytest.mark.parametrize(
    ("meta", "may"),
    [
        ('{"editors": []}', True),
        ('{"editors": null}', True),
        ("{}", True),
        ('{"editors": "nina"}', False),
        ('{"editors": [""]}', False),
        ('{"editors": [7]}', False),
        ('{"editors": {"nina": true}}', False),
        ('{"editors": ["__none__"]}', False),
        ('{"Editors": ["nina"]}', False),
        ('{"editors": [], "Editors": ["nina"]}', False),
        ("[]", False),
        ("{", False),
    ],
)
def test_m5_rights_that_cannot_be_read_let_nobody_write(root: Path, meta: str, may: bool) -> None:
    (root / "projects/open/meta.json").write_text(meta)
    closed = ProjectRights(Layout(root)).closed("captain").values()
    assert ("open" not in closed) is may


def test_a_folder_around_a_closed_project_is_closed_with_it(root: Path) -> None:
    rights = ProjectRights(Layout(root))
    assert rights.find_closed("captain", [("projects",)]) == "closed"
    assert rights.find_closed("captain", [("PROJECTS", "Closed", "x")]) == "closed"
    for way in ((), ("docs", "x"), ("projects", "closed2", "x"), ("projects", "open")):
        assert rights.find_closed("captain", [way]) is None
