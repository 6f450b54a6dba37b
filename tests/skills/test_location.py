from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.skills.loader import SkillsLoader
from shipmate.skills.location import resolve
from shipmate.tools.file.read import Read
from shipmate.tools.tool import ToolContext
from shipmate.workspace.config import Config
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of


@pytest.mark.parametrize(
    "location", ["skill:", "skill:nope", "skill:../git", "skill:git/../../loader.py", "git", "x"]
)
def test_what_is_no_skill_of_the_package_stands_for_nothing(location: str) -> None:
    assert resolve(location) is None


async def test_read_loads_every_skill_from_its_listed_location(tmp_path: Path) -> None:
    (tmp_path / "skills/mine").mkdir(parents=True)
    (tmp_path / "skills/mine/SKILL.md").write_text("# Mine\n")
    layout = Layout(tmp_path)
    tool = Read()
    context = ToolContext(member=captain_of(layout), thread_id="web:room:1", run_id="r", call_id="c")
    skills = SkillsLoader(layout, Config(), FileCache(tmp_path)).find().skills
    assert len(skills) == 7
    for skill in skills:
        result = await tool.run(tool.parse({"path": skill.location}), context)
        assert skill.body.splitlines()[-1] in result.output
