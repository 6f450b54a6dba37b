from __future__ import annotations

from pathlib import Path

from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import Layout
from shipmate.workspace.project import read_projects


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
