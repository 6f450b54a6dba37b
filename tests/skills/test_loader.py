from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

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
