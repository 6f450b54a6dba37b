from __future__ import annotations

import json
from pathlib import Path

import pytest

from shipmate.tools.file.protection import ProjectRights
from shipmate.workspace.crew import Crew
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.member import captain_of
from shipmate.workspace.project import read_projects
from tests.support.foreign import copy_folder


def put(root: Path, name: str, meta: str | None) -> None:
    (root / "projects" / name).mkdir(parents=True)
    if meta is not None:
        (root / "projects" / name / "meta.json").write_text(meta)


def test_editors_decide_who_may_write(tmp_path: Path) -> None:
    put(tmp_path, "a", '{"name": "All", "editors": [], "tags": ["x"], "createdAt": 1}')
    put(tmp_path, "b", '{"name": "None", "editors": ["__none__"]}')
    put(tmp_path, "c", '{"name": "Nina\'s", "description": " two\\nlines ", "editors": ["nina"]}')
    all_, none, ninas = read_projects(Layout(tmp_path), FileCache(tmp_path))
    assert [project.may_write("nina") for project in (all_, none, ninas)] == [True, False, True]
    assert [project.may_write("captain") for project in (all_, none, ninas)] == [True, False, False]
    assert (ninas.id, ninas.name, ninas.description) == ("c", "Nina's", "two lines")


def test_a_folder_without_or_with_a_broken_card_is_listed(tmp_path: Path) -> None:
    put(tmp_path, "plain", None)
    put(tmp_path, "broken", "{")
    put(tmp_path, "odd", '{"name": 5, "editors": "x", "tags": null}')
    (tmp_path / "projects/file.txt").write_text("x")
    broken, odd, plain = read_projects(Layout(tmp_path), FileCache(tmp_path))
    assert (plain.name, plain.may_write("captain"), plain.problem) == ("plain", True, "")
    assert (broken.may_write("captain"), "JSON" in broken.problem) == (False, True)
    # Editors that are no list name nobody for certain, so nobody may write.
    assert (odd.name, odd.may_write("x"), "editors" in odd.problem) == ("odd", False, True)


def test_no_projects_is_no_trouble(tmp_path: Path) -> None:
    assert read_projects(Layout(tmp_path), FileCache(tmp_path)) == []


@pytest.mark.parametrize(
    ("editors", "writers"),
    [
        (["xiaoliu"], ["captain"]),
        (["yinyin"], ["yinyin"]),
        (["yinyin", "xiaoliu"], ["captain", "yinyin"]),
        (["__none__"], []),
        (["nobody"], []),
        ([], ["captain", "yinyin"]),
    ],
)
def test_m5_editors_of_zyhive_name_the_captain_by_its_agents_id(
    tmp_path: Path, editors: list[str], writers: list[str]
) -> None:
    folder = copy_folder("zyhive", tmp_path / "hive")
    (folder / "projects/site/meta.json").write_text(json.dumps({"editors": editors}))
    layout = Layout.find(folder)
    crew = Crew(layout, load_config(layout, {}))
    rights = ProjectRights(layout)
    assert [each.id for each in crew.list() if not rights.closed(each.id)] == writers
    assert crew.choose("xiaoliu").id == "captain"
    assert captain_of(layout).own.root == crew.find("captain").own.root == folder / "agents/xiaoliu/workspace"


def test_m5_an_agent_that_is_called_captain_is_the_captain(tmp_path: Path) -> None:
    folder = copy_folder("zyhive", tmp_path / "hive")
    (folder / "agents/yinyin").rename(folder / "agents/captain")
    config = folder / "agents/captain/config.json"
    config.write_text(config.read_text().replace("yinyin", "captain"))
    layout = Layout.find(folder)
    crew = Crew(layout, load_config(layout, {}))
    assert crew.ids() == ["captain", "xiaoliu"]
    assert crew.find("captain").own.root == folder / "agents/captain/workspace"
    # The project names xiaoliu alone.
    assert [name for name in crew.ids() if not ProjectRights(layout).closed(name)] == ["xiaoliu"]
