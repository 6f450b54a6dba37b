from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.workspace.config import Skills
from tests.support.skill import make_loader, own, put


def test_changes_are_seen_and_otherwise_the_same_list_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shipmate.workspace.file.YOUNG_NS", 0)
    put(tmp_path, "skills/a/SKILL.md", "first")
    loader = make_loader(tmp_path)
    before = loader.find()
    assert loader.find() is before
    put(tmp_path, "skills/a/SKILL.md", "second text")
    assert loader.find().by_name["a"].description == "second text"
    put(tmp_path, "skills/a/skill.json", '{"enabled": false}')
    assert own(loader.find()) == []
    put(tmp_path, "skills/b/SKILL.md", "another")
    assert own(loader.find()) == ["b"]
    (tmp_path / "skills/b/SKILL.md").unlink()
    assert own(loader.find()) == []


def test_loose_files_hidden_folders_and_links_outside_are_no_skills(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    put(root, "skills/README.md", "x")
    put(root, "skills/.hidden/SKILL.md", "x")
    put(root, "skills/empty/notes.md", "x")
    put(tmp_path, "elsewhere/SKILL.md", "secret")
    (root / "skills/away").symlink_to(tmp_path / "elsewhere")
    found = make_loader(root).find()
    assert own(found) == ["away"]
    assert "secret" not in found.by_name["away"].body
    assert not found.by_name["away"].is_available
    assert any("outside the workspace" in finding.message for finding in found.findings)


def test_m5_skills_of_others_come_after_the_workspaces_own(tmp_path: Path) -> None:
    places = ("skills", ".claude/skills", ".agents/skills", "more", "extra")
    for at, place in enumerate(places):
        put(tmp_path, f"{place}/only-{at}/SKILL.md", "---\ndescription: d\n---\nx")
        for later in range(at + 1):
            put(tmp_path, f"{place}/from-{later}/SKILL.md", f"---\ndescription: {place}\n---\nx")
    found = make_loader(tmp_path, Skills(paths=("more",)), folders=("extra", "skills")).find()
    assert [skill.name for skill in found.skills if skill.name.startswith("only")] == [
        f"only-{at}" for at in range(5)
    ]
    assert [found.by_name[f"from-{at}"].description for at in range(5)] == list(places)
    assert found.by_name["only-1"].location == ".claude/skills/only-1/SKILL.md"


def test_m5_folders_outside_or_missing_are_said_and_nothing_in_them_is_listed(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    put(tmp_path, "elsewhere/secret/SKILL.md", "---\ndescription: away\n---\nx")
    put(root, "skills/here/SKILL.md", "x")
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    paths = ("../elsewhere", str(tmp_path / "elsewhere"), "linked", "nowhere")
    found = make_loader(root, Skills(paths=paths), folders=("../elsewhere",)).find()
    assert own(found) == ["here"]
    said = {finding.subject: finding.message for finding in found.findings}
    for path in paths[:3]:
        assert "outside the workspace" in said[f"skills.paths: {path}"]
    assert "outside the workspace" in said["skills: ../elsewhere"]
    assert "no such folder" in said["skills.paths: nowhere"]


def test_m5_a_folder_without_a_skill_is_said_and_put_right(tmp_path: Path) -> None:
    put(tmp_path, "skills/notes/todo.md", "x")
    put(tmp_path, "skills/small/skill.md", "x")
    loader = make_loader(tmp_path)
    said = {finding.subject: finding for finding in loader.find().findings}
    assert "holds no SKILL.md" in said["skills: skills/notes"].message
    assert said["skills: skills/small"].fix == "rename skill.md to SKILL.md"
    put(tmp_path, "skills/notes/SKILL.md", "Now it is one.")
    found = loader.find()
    assert own(found) == ["notes"]
    assert "skills: skills/notes" not in {finding.subject for finding in found.findings}


def test_skills_may_lie_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipmate.workspace.file.YOUNG_NS", 0)
    put(tmp_path, "skills/office/letters/SKILL.md", "Write letters.")
    (tmp_path / "skills/loop").symlink_to(tmp_path / "skills")
    loader = make_loader(tmp_path)
    found = loader.find()
    assert own(found) == ["letters"]
    assert found.by_name["letters"].location == "skills/office/letters/SKILL.md"
    assert loader.find() is found
    put(tmp_path, "skills/office/faxes/SKILL.md", "Send faxes.")
    assert own(loader.find()) == ["faxes", "letters"]
    (tmp_path / "skills/office/letters/SKILL.md").unlink()
    assert own(loader.find()) == ["faxes"]
    put(tmp_path, "skills/office/SKILL.md", "The office itself.")
    assert own(loader.find()) == ["office"]
