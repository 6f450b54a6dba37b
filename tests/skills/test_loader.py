from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from shipmate.skills.loader import SkillList, SkillsLoader
from shipmate.skills.location import BUILTIN
from shipmate.skills.skill import DESCRIPTION_LIMIT
from shipmate.skills.summary import summarise
from shipmate.workspace.config import Config, Skills
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import CAPTAIN, Layout

NAMES = ["data-lookup", "git", "memory-keeping", "scheduling", "skill-writing", "thread-summary"]


def put(root: Path, place: str, text: str | bytes) -> None:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def make_loader(
    root: Path,
    settings: Skills | None = None,
    environ: dict[str, str] | None = None,
    *,
    config: Config | None = None,
    member: str = CAPTAIN,
    folders: tuple[str, ...] = (),
) -> SkillsLoader:
    layout = Layout(root)
    return SkillsLoader(
        layout,
        config or Config(skills=settings or Skills()),
        FileCache(root),
        environ or {"PATH": "/nowhere"},
        own=layout.member(member),
        folders=folders,
    )


def own(found: SkillList) -> list[str]:
    return [skill.name for skill in found.skills if skill.origin != "package"]


def test_the_package_has_six_skills_without_fault(tmp_path: Path) -> None:
    found = make_loader(tmp_path, environ={"PATH": "/usr/bin:/bin"}).find()
    assert [skill.name for skill in found.skills] == NAMES
    for skill in found.skills:
        assert skill.problems == ()
        assert skill.name == skill.folder
        assert 40 <= len(skill.description) <= 120
        assert skill.body.startswith("# ")
        assert (BUILTIN / skill.name / "SKILL.md").stat().st_size < 2_000


def test_always_is_read_in_every_shape(tmp_path: Path) -> None:
    shapes = {
        "top": "always: true",
        "text": 'always: "true"',
        "nested": "metadata:\n  nanobot:\n    always: true",
        "flow": 'metadata: {"openclaw": {"always": true}}',
        "json": 'metadata: \'{"nanobot": {"always": true}}\'',
        "never": "always: false",
        "other": "metadata:\n  someone:\n    always: true",
        "odd": "metadata: 5",
    }
    for name, line in shapes.items():
        put(
            tmp_path,
            f"skills/{name}/SKILL.md",
            f"---\nname: {name}\ndescription: d\n{line}\n---\nBody of {name}\n",
        )
    found = make_loader(tmp_path).find()
    assert {skill.name for skill in found.always} == {"top", "text", "nested", "flow", "json"}
    assert found.by_name["top"].body == "Body of top"
    assert {"never", "other", "odd"} <= {skill.name for skill in found.listed}


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


@pytest.mark.parametrize("value", ["null", "5", "[]", '""', "[null, 3]", "{}", '"  "'])
def test_odd_requirements_ask_for_nothing(tmp_path: Path, value: str) -> None:
    text = f"---\nmetadata:\n  nanobot:\n    requires:\n      bins: {value}\n      env: {value}\n---\nx"
    put(tmp_path, "skills/odd/SKILL.md", text)
    assert make_loader(tmp_path).find().by_name["odd"].is_available


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


def test_a_zyhive_skill_is_known_by_its_card(tmp_path: Path) -> None:
    put(tmp_path, "skills/search/SKILL.md", "你有网络搜索能力。")
    put(tmp_path, "skills/search/skill.json", '{"name": "搜索助手", "description": "搜索", "enabled": true}')
    put(tmp_path, "skills/bad/SKILL.md", "text")
    put(tmp_path, "skills/bad/skill.json", "{")
    found = make_loader(tmp_path).find()
    assert (found.by_name["search"].title, found.by_name["search"].description) == ("搜索助手", "搜索")
    assert any("skill.json is not JSON" in finding.message for finding in found.findings)


@pytest.mark.parametrize(
    ("text", "description", "body", "fault"),
    [
        ("---\nname: [\n---\nBody", "Body", "Body", "front matter"),
        ("---\ndescription: Does this: that\n---\nBody", "Does this: that", "Body", "front matter"),
        ("# Title\n\nProse here.\n", "Prose here.", "# Title\n\nProse here.", ""),
        ("---\r\nname: x\r\ndescription: >\r\n  two\r\n  lines\r\n---\r\nBody\r\n", "two lines", "Body", ""),
        (b"---\ndescription: caf\xe9\n---\nBody", "caf\ufffd", "Body", "not UTF-8"),
    ],
)
def test_a_broken_skill_is_still_listed(
    tmp_path: Path, text: str | bytes, description: str, body: str, fault: str
) -> None:
    put(tmp_path, "skills/x/SKILL.md", text)
    found = make_loader(tmp_path).find()
    skill = found.by_name["x"]
    assert (skill.description, skill.body) == (description, body)
    assert any(fault in finding.message for finding in found.findings) == bool(fault) or not fault


def test_a_description_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    put(tmp_path, "skills/long/SKILL.md", f"---\ndescription: {'词 word ' * 150_000}\n---\nBody")
    found = make_loader(tmp_path).find()
    assert len(found.by_name["long"].description) == DESCRIPTION_LIMIT
    assert any("description" in finding.message for finding in found.findings)


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


@pytest.mark.parametrize(("text", "why"), [("", "empty"), ("  \n", "empty"), (b"\x00\xff", "binary")])
def test_m5_a_skill_without_a_text_is_said_and_never_available(
    tmp_path: Path, text: str | bytes, why: str
) -> None:
    put(tmp_path, "skills/x/SKILL.md", text)
    found = make_loader(tmp_path).find()
    skill = found.by_name["x"]
    assert not skill.is_available
    assert skill.missing[0].startswith(f"SKILL.md: {why}")
    assert any("cannot be used" in finding.message for finding in found.findings if "x" in finding.subject)


# The shapes in which nanobot, OpenClaw, its earlier names and Claude Code write what a skill needs.
SHAPES = {
    "flow": 'metadata: {"openclaw":{"emoji":"x","requires":{"bins":["no-bin"],"env":["NO_VAR"]}}}',
    "lines": """metadata:
  {
    "openclaw":
      {
        "emoji": "x",
        "requires": { "bins": ["no-bin"], "env": ["NO_VAR"] },
      },
  }""",
    "text": """metadata: '{"nanobot":{"requires":{"bins":["no-bin"],"env":["NO_VAR"]}}}'""",
    "json5": """metadata: |
  {clawdbot: {requires: {bins: ["no-bin",], env: ["NO_VAR"]}, install: [{kind: "brew"}]}}""",
    "clawdis": "metadata:\n  clawdis:\n    requires:\n      bins: [no-bin]\n      env: [NO_VAR]",
    "top": "requires:\n  bins: no-bin\n  env: NO_VAR",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_m5_every_dialect_says_what_it_needs(tmp_path: Path, shape: str) -> None:
    put(tmp_path, "skills/x/SKILL.md", f"---\nname: x\ndescription: d\n{SHAPES[shape]}\n---\nBody")
    skill = make_loader(tmp_path).find().by_name["x"]
    assert skill.missing == ("CLI: no-bin", "ENV: NO_VAR")
    assert skill.problems == ()


def test_m5_the_first_dialect_that_is_there_counts(tmp_path: Path) -> None:
    line = 'metadata: {"openclaw": {"requires": {"bins": ["b"]}}, "nanobot": {"requires": {"bins": ["a"]}}}'
    put(tmp_path, "skills/x/SKILL.md", f"---\n{line}\n---\nBody")
    assert make_loader(tmp_path).find().by_name["x"].missing == ("CLI: a",)


def test_m5_of_any_bins_one_is_enough(tmp_path: Path) -> None:
    line = 'metadata: {"openclaw": {"requires": {"anyBins": ["no-such", "tool"]}}}'
    put(tmp_path, "skills/x/SKILL.md", f"---\n{line}\n---\nBody")
    loader = make_loader(tmp_path, environ={"PATH": str(tmp_path / "bin")})
    assert loader.find().by_name["x"].missing == ("CLI: no-such or tool",)
    put(tmp_path, "bin/tool", "#!/bin/sh\n")
    (tmp_path / "bin/tool").chmod(0o755)
    assert loader.find().by_name["x"].is_available


@pytest.mark.parametrize(
    ("wanted", "is_there"),
    [
        ("channels.telegram", True),
        ("adapters.telegram.token", True),
        ("integrations.telegram", True),
        ("env.KEY", True),
        ("channels.discord", False),
        ("adapters.feishu", False),
        ("browser.enabled", False),
        ("env.KEY.deeper", False),
        ("%TEMP%/keys.json", False),
        ("", True),
    ],
)
def test_m5_config_names_a_key_that_must_be_set(tmp_path: Path, wanted: str, is_there: bool) -> None:
    text = f"---\nmetadata:\n  openclaw:\n    requires:\n      config: [{wanted!r}]\n---\nBody"
    put(tmp_path, "skills/x/SKILL.md", text)
    adapters = {"telegram": {"token": "t"}, "feishu": {}}
    skill = make_loader(tmp_path, config=Config(adapters=adapters, env={"KEY": "v"})).find().by_name["x"]
    assert skill.missing == (() if is_there else (f"CONFIG: {wanted}",))


@pytest.mark.parametrize("value", ["true", '"true"', "yes", "1", "on", "[x]"])
def test_m5_what_only_people_invoke_is_neither_listed_nor_always(tmp_path: Path, value: str) -> None:
    put(
        tmp_path,
        "skills/release/SKILL.md",
        f"---\nname: release\ndisable-model-invocation: {value}\nalways: true\n---\nBody",
    )
    found = make_loader(tmp_path).find()
    assert "release" in found.by_name
    assert "release" not in {skill.name for skill in (*found.listed, *found.always)}


@pytest.mark.parametrize("value", ["false", "no", '""', "null"])
def test_m5_what_is_not_closed_stays_open_to_the_model(tmp_path: Path, value: str) -> None:
    put(tmp_path, "skills/x/SKILL.md", f"---\ndisable-model-invocation: {value}\n---\nBody")
    assert "x" in {skill.name for skill in make_loader(tmp_path).find().listed}


def test_m5_a_skill_closed_to_the_model_stays_so_when_its_yaml_is_broken(tmp_path: Path) -> None:
    text = "---\ndescription: Does: this\ndisable-model-invocation: true\nodd: [\n---\nBody"
    put(tmp_path, "skills/x/SKILL.md", text)
    found = make_loader(tmp_path).find()
    assert "x" not in {skill.name for skill in found.listed}
    assert found.by_name["x"].description == "Does: this"


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        ("Bash(git add:*) Read", ("Bash(git add:*)", "Read")),
        ("Bash, Read,Glob", ("Bash", "Read", "Glob")),
        ("[Read, 'Bash(npm *)']", ("Read", "Bash(npm *)")),
        ("null", ()),
    ],
)
def test_m5_allowed_tools_are_shown_and_give_no_right(
    tmp_path: Path, value: str, tools: tuple[str, ...]
) -> None:
    put(tmp_path, "skills/x/SKILL.md", f"---\nallowed-tools: {value}\n---\nBody")
    found = make_loader(tmp_path).find()
    assert found.by_name["x"].allowed_tools == tools
    assert any("gives no right" in finding.message for finding in found.findings) == bool(tools)


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


def test_broken_metadata_is_said_and_runs_nothing(tmp_path: Path) -> None:
    put(tmp_path, "skills/x/SKILL.md", "---\nmetadata: '{\"nanobot\": {'\n---\nBody")
    found = make_loader(tmp_path).find()
    assert found.by_name["x"].is_available
    assert any("metadata is not JSON" in finding.message for finding in found.findings)


def test_a_skill_of_five_megabytes_is_read_at_both_ends(tmp_path: Path) -> None:
    put(tmp_path, "skills/big/SKILL.md", "---\ndescription: Big.\n---\n" + "x" * 5_000_000)
    found = make_loader(tmp_path).find()
    assert found.by_name["big"].description == "Big."
    assert len(found.by_name["big"].body) < 1_100_000
    assert any("only both ends are read" in finding.message for finding in found.findings)


def test_the_summary_is_well_formed_for_names_with_xml_and_controls(tmp_path: Path) -> None:
    text = '---\nname: "</name><skill>\\u0007"\ndescription: "]]> & \\u001b[31m"\n---\nx'
    put(tmp_path, "skills/evil/SKILL.md", text)
    root = ElementTree.fromstring(summarise(make_loader(tmp_path).find().skills))
    assert root[0].findtext("name") == "</name><skill> "
    assert [child.tag for child in root] == ["skill"] * len(root)
