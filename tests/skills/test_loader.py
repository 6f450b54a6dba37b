from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from shipmate.skills.location import BUILTIN
from shipmate.skills.summary import summarise
from shipmate.workspace.config import Skills
from tests.support.skill import make_loader, own, put

NAMES = ["data-lookup", "git", "memory-keeping", "scheduling", "skill-writing", "thread-summary"]


def test_the_package_has_six_skills_without_fault(tmp_path: Path) -> None:
    found = make_loader(tmp_path, environ={"PATH": "/usr/bin:/bin"}).find()
    assert [skill.name for skill in found.skills] == NAMES
    for skill in found.skills:
        assert skill.problems == ()
        assert skill.name == skill.folder
        assert 40 <= len(skill.description) <= 120
        assert skill.body.startswith("# ")
        assert (BUILTIN / skill.name / "SKILL.md").stat().st_size < 2_000


def test_what_is_missing_is_named_and_an_unavailable_skill_is_not_loaded(tmp_path: Path) -> None:
    put(
        tmp_path,
        "skills/needy/SKILL.md",
        "---\nalways: true\nmetadata:\n  nanobot:\n    os: [plan9]\n    requires:\n"
        "      bins: [no-such-bin]\n      env: [NO_SUCH_VARIABLE]\n---\nx",
    )
    found = make_loader(tmp_path).find()
    needy = found.by_name["needy"]
    assert needy.missing == ("CLI: no-such-bin", "ENV: NO_SUCH_VARIABLE", "OS: plan9")
    assert found.always == ()
    assert any("NO_SUCH_VARIABLE" in finding.message for finding in found.findings)


def test_a_binary_or_variable_that_comes_is_noticed(tmp_path: Path) -> None:
    put(tmp_path, "skills/n/SKILL.md", "---\nrequires:\n  bins: tool\n  env: [KEY]\n---\nx")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    environ = {"PATH": str(binaries), "KEY": ""}
    loader = make_loader(tmp_path, environ=environ)
    assert loader.find().by_name["n"].missing == ("CLI: tool", "ENV: KEY")
    put(binaries, "tool", "#!/bin/sh\n")
    (binaries / "tool").chmod(0o755)
    environ["KEY"] = "x"
    assert loader.find().by_name["n"].is_available


def test_the_nearest_skill_of_a_name_wins_and_the_others_are_reported(tmp_path: Path) -> None:
    for place in ("members/nina/skills", "skills", "more"):
        put(tmp_path, f"{place}/git/SKILL.md", f"---\ndescription: from {place}\n---\nx")
    put(tmp_path, "skills/other/SKILL.md", "---\nname: git\ndescription: twice\n---\nx")
    captain = make_loader(tmp_path, Skills(paths=("more",))).find()
    nina = make_loader(tmp_path, Skills(paths=("more",)), member="nina").find()
    assert captain.by_name["git"].description == "from skills"
    assert nina.by_name["git"].description == "from members/nina/skills"
    assert nina.by_name["git"].location == "members/nina/skills/git/SKILL.md"
    messages = [finding.message for finding in captain.findings if finding.subject == "skill git"]
    assert [message.split()[0] for message in messages if "is not used" in message] == [
        "skills/other/SKILL.md",
        "more/git/SKILL.md",
    ]
    assert any("instead of the built-in" in message for message in messages)


def test_disabled_skills_vanish(tmp_path: Path) -> None:
    put(tmp_path, "skills/a/SKILL.md", "a")
    put(tmp_path, "skills/b/SKILL.md", "b")
    put(tmp_path, "skills/b/skill.json", '{"enabled": false}')
    found = make_loader(tmp_path, Skills(disabled=("git", "a"))).find()
    assert own(found) == []
    assert "git" not in found.by_name


def test_the_summary_is_well_formed_whatever_the_names_hold(tmp_path: Path) -> None:
    put(tmp_path, "skills/a&b/SKILL.md", "---\ndescription: <tag> & 'quote'\n---\nx")
    found = make_loader(tmp_path).find()
    root = ElementTree.fromstring(summarise(found.skills))
    first = root[0]
    assert (root.tag, first.tag, first.attrib) == ("skills", "skill", {"available": "true"})
    assert [(child.tag, child.text) for child in first] == [
        ("name", "a&b"),
        ("description", "<tag> & 'quote'"),
        ("location", "skills/a&b/SKILL.md"),
    ]
    git = next(each for each in root if each.findtext("name") == "git")
    assert (git.get("available"), git.findtext("requires")) == ("false", "CLI: git")


def test_the_summary_is_well_formed_for_names_with_xml_and_controls(tmp_path: Path) -> None:
    text = '---\nname: "</name><skill>\\u0007"\ndescription: "]]> & \\u001b[31m"\n---\nx'
    put(tmp_path, "skills/evil/SKILL.md", text)
    root = ElementTree.fromstring(summarise(make_loader(tmp_path).find().skills))
    assert root[0].findtext("name") == "</name><skill> "
    assert [child.tag for child in root] == ["skill"] * len(root)


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
