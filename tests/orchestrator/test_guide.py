"""AGENTS.md in a sub-folder is told with the first call that works there, once in a course."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.app import Opening, Shipmate
from shipmate.models.scripted import ScriptedModel, call
from shipmate.orchestrator.guide import TEXT_LIMIT
from shipmate.tools.file.read import Read
from shipmate.tools.file.search.glob import Glob
from shipmate.tools.toolset import Toolset
from shipmate.values.message import UIMessage
from tests.support.workspace import messages_of, open_workspace, talk, tools_of


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def open_folder(root: Path, model: ScriptedModel) -> Opening[Shipmate]:
    """Open a folder of another program as it is."""
    return Shipmate.open(root, model=model, environ={}, toolset=Toolset([Read()]))


def outputs(message: UIMessage) -> list[str]:
    return [str(output) for _, _, output in tools_of(message)]


async def test_m1_the_nearest_guide_is_told_once(tmp_path: Path) -> None:
    put(
        tmp_path,
        **{
            "AGENTS.md": "TOP",
            "api/AGENTS.md": "API RULES",
            "api/v2/x.py": "x",
            "api/y.py": "y",
            "z.py": "z",
        },
    )
    model = ScriptedModel(
        [
            [call("read", path="z.py"), call("read", path="api/v2/x.py"), call("read", path="api/y.py")],
            [call("glob", pattern="*", path="api")],
            "Done.",
        ]
    )
    async with open_workspace(tmp_path, model, [Read(), Glob()]) as app:
        await talk(app, "go")
        told = outputs((await messages_of(app))[1])
    assert [("API RULES" in each) for each in told] == [False, True, False, False]
    assert "[Content of the workspace: api/AGENTS.md." in told[1]
    assert all("TOP" not in each for each in told)


async def test_a_guide_is_remembered_from_message_to_message(tmp_path: Path) -> None:
    put(tmp_path, **{"api/AGENTS.md": "API RULES", "api/x.py": "x"})
    model = ScriptedModel([[call("read", path="api/x.py")], "One.", [call("read", path="api/x.py")], "Two."])
    async with open_workspace(tmp_path, model, [Read(), Glob()]) as app:
        await talk(app, "first")
        await talk(app, "second")
        messages = await messages_of(app)
    assert ["API RULES" in outputs(messages[at])[0] for at in (1, 3)] == [True, False]


@pytest.mark.parametrize(
    "path",
    ["api/AGENTS.md", "members/ux/SOUL.md", "skills/x/SKILL.md", "../out/x.md", "link/x.md", "empty/x.py"],
)
async def test_no_guide_from_elsewhere(tmp_path: Path, path: str) -> None:
    root = tmp_path / "ship"
    put(tmp_path, **{"out/AGENTS.md": "RULES", "out/x.md": "x"})
    put(
        root,
        **{
            "Agent.md": "# A",
            "api/AGENTS.md": "itself",
            "members/ux/AGENTS.md": "RULES",
            "members/ux/SOUL.md": "s",
        },
    )
    put(
        root,
        **{
            "skills/x/SKILL.md": "s",
            "skills/AGENTS.md": "RULES",
            "empty/AGENTS.md": " \n",
            "empty/x.py": "x",
        },
    )
    (root / "link").symlink_to(tmp_path / "out")
    async with open_workspace(root, ScriptedModel([[call("read", path=path)], "Done."]), [Read()]) as app:
        await talk(app, "go")
        assert "Content of the workspace" not in outputs((await messages_of(app))[1])[0]


async def test_a_long_guide_is_cut_and_the_next_name_is_taken(tmp_path: Path) -> None:
    put(tmp_path, **{"a/CLAUDE.md": "w" * 3 * TEXT_LIMIT, "a/x.py": "x"})
    async with open_workspace(
        tmp_path, ScriptedModel([[call("read", path="a/x.py")], "Done."]), [Read()]
    ) as app:
        await talk(app, "go")
        told = outputs((await messages_of(app))[1])[0]
    assert len(told) < TEXT_LIMIT + 400
    assert told.endswith("[It goes on: read a/CLAUDE.md.]")


GLOBS = {
    "plain": "globs: db/**/*.sql",
    "no-yaml": "globs: *.sql, *.ddl",
    "braces": "globs: db/**/*.{sql,ddl}",
    "list": 'globs:\n  - "*.py"\n  - "*.sql"',
    "inline": 'globs: ["*.py", "db/"]',
}


@pytest.mark.parametrize("globs", GLOBS.values(), ids=GLOBS.keys())
async def test_m1_a_rule_of_cursor_is_told_with_the_first_file_it_holds_for(
    tmp_path: Path, globs: str
) -> None:
    rule = f"---\ndescription: For migrations\n{globs}\nalwaysApply: false\n---\n\nNEVER EDIT ONE.\n"
    put(
        tmp_path,
        **{
            ".cursor/rules/a.mdc": rule,
            "db/2026/a.sql": "x",
            "db/b.sql": "y",
            "top.md": "z",
            "db/AGENTS.md": "DB",
        },
    )
    calls = [call("read", path=path) for path in ("top.md", "db/2026/a.sql", "db/b.sql")]
    model = ScriptedModel([calls, "Done.", [call("read", path="db/b.sql")], "Done."])
    async with open_folder(tmp_path, model) as app:
        await talk(app, "go")
        await talk(app, "again")
        messages = await messages_of(app)
        prompt = app.captain.context.build_system_prompt()
    told = [*outputs(messages[1]), *outputs(messages[3])]
    assert ["NEVER EDIT ONE." in each for each in told] == [False, True, False, False]
    assert "[Content of the workspace: .cursor/rules/a.mdc. It says what holds for files such as" in told[1]
    # The guide of the folder is told beside it, the settings above the rule are not.
    assert ("DB" in told[1], "alwaysApply" in told[1], "NEVER EDIT" in prompt) == (True, False, False)


@pytest.mark.parametrize("globs", ["src/*.ts", "../**", "*.md", "[", "x" * 2000, "{a,b}" * 12])
async def test_a_rule_of_cursor_for_other_files_is_not_told(tmp_path: Path, globs: str) -> None:
    put(tmp_path, **{".cursor/rules/a.mdc": f"---\nglobs: {globs}\n---\nRULE\n", "src/in/x.ts": "x"})
    async with open_folder(tmp_path, ScriptedModel([[call("read", path="src/in/x.ts")], "Done."])) as app:
        await talk(app, "go")
        assert outputs((await messages_of(app))[1]) == ["x"]


async def test_a_rule_that_every_prompt_has_is_not_told_again(tmp_path: Path) -> None:
    put(
        tmp_path,
        **{
            ".cursor/rules/a.mdc": "---\nglobs: *.ts\n---\nRULE\n",
            ".cursor/rules/always.mdc": "---\nglobs: *.ts\nalwaysApply: true\n---\nALWAYS\n",
            "x.ts": "x",
            "ship.json": '{"context": {"instructions": [".cursor/rules/a.mdc", ".cursor/rules/always.mdc"]}}',
        },
    )
    async with open_folder(tmp_path, ScriptedModel([[call("read", path="x.ts")], "Done."])) as app:
        await talk(app, "go")
        assert outputs((await messages_of(app))[1]) == ["x"]
        prompt = app.captain.context.build_system_prompt()
    assert ("RULE" in prompt, "ALWAYS" in prompt) == (True, True)
