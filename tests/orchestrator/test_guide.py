"""AGENTS.md in a sub-folder is told with the first call that works there, once in a course."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.models.scripted import ScriptedModel, call
from shipmate.orchestrator.guide import TEXT_LIMIT
from shipmate.tools.file.read import Read
from shipmate.tools.file.search.glob import Glob
from shipmate.values.message import UIMessage
from tests.support.workspace import messages_of, open_workspace, talk, tools_of


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


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
