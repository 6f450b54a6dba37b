"""Members are found by any of their files, and own what those state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shipmate.errors import ConfigError, NotFoundError, UserError
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import Loaded, load_config


def open_crew(root: Path, environ: dict[str, str] | None = None, **config: Any) -> tuple[Crew, Loaded]:
    (root / "Agent.md").write_text("# Ada\n\nKeeps the books.\n")
    (root / "ship.json").write_text(json.dumps(config))
    loaded = load_config(Layout(root), environ or {})
    return Crew(Layout(root), loaded), loaded


def write_member(root: Path, member_id: str, settings: object = None, **files: str) -> Path:
    folder = root / "members" / member_id
    folder.mkdir(parents=True, exist_ok=True)
    if settings is not None:
        (folder / "member.json").write_text(json.dumps(settings))
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def test_m4_any_of_its_files_makes_a_member_and_the_captain_is_first(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "by-json", {"name": "Jay"})
    write_member(tmp_path, "by-agent", Agent="# Abe\n\nHelps.\n")
    write_member(tmp_path, "by-identity", IDENTITY="# IDENTITY.md\n- 名称：小流\n- 定位：助手\n")
    write_member(tmp_path, "by-soul", SOUL="Calm.\n")
    write_member(tmp_path, "nobody", NOTES="x\n")
    (tmp_path / "members/a file").write_text("x")
    assert [(each.id, each.name) for each in crew.list()] == [
        ("captain", "Ada"),
        ("by-agent", "Abe"),
        ("by-identity", "小流"),
        ("by-json", "Jay"),
        ("by-soul", "by-soul"),
    ]
    assert crew.find("captain").description == "Keeps the books."


def test_m4_member_json_wins_over_front_matter_key_by_key(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path)
    front = "---\nname: Front\ndescription: from the front\ntools: read, grep\nowner: me\n---\n# Heading\n"
    write_member(tmp_path, "nina", {"name": "Nina", "language": "zh"}, Agent=front)
    nina = crew.find("nina")
    assert (nina.name, nina.description, nina.tools) == ("Nina", "from the front", ("read", "grep"))
    assert nina.config.language == "zh"
    assert crew.find("captain").config.language == "en"


def test_m4_a_member_has_its_own_model_skills_and_variables(tmp_path: Path) -> None:
    environ = {"NINA_KEY": "sesame-sesame", "CAPTAIN_KEY": "abracadabra"}
    crew, loaded = open_crew(
        tmp_path,
        environ,
        llm={"provider": "openai", "model": "gpt-5", "apiKey": "${CAPTAIN_KEY}"},
        env={"SHIP_TOKEN": "${CAPTAIN_KEY}"},
        skills={"disabled": ["git"]},
    )
    settings = {
        "model": "anthropic:claude-sonnet-4-6",
        "env": {"DESK_TOKEN": "${NINA_KEY}"},
        "skills": ["data-lookup"],
    }
    write_member(tmp_path, "nina", settings)
    nina, captain = crew.find("nina"), crew.find("captain")
    assert (nina.config.llm.provider, nina.config.llm.model) == ("anthropic", "claude-sonnet-4-6")
    # A key of one provider goes to no other.
    assert nina.config.llm.api_key is None
    assert captain.config.llm.model == "gpt-5"
    assert nina.config.env == {"DESK_TOKEN": "sesame-sesame"}
    assert captain.config.env == {"SHIP_TOKEN": "abracadabra"}
    assert (nina.config.skills.only, nina.config.skills.disabled) == (("data-lookup",), ("git",))
    assert "sesame" not in loaded.mask("the word is sesame-sesame")


@pytest.mark.parametrize(
    ("shared", "own", "mode"),
    [("ask", "yolo", "ask"), ("yolo", "read-only", "read-only"), ("auto-edit", "ask", "ask")],
)
def test_m4_a_member_only_tightens_the_mode(tmp_path: Path, shared: str, own: str, mode: str) -> None:
    crew, _ = open_crew(tmp_path, permissions={"mode": shared, "network": False})
    write_member(tmp_path, "nina", {"permissions": {"mode": own, "network": True}})
    found = crew.find("nina").config.permissions
    assert (found.mode, found.network) == (mode, False)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('{"tools": "read"}', r"members/nina/member.json: Expected .*array.* at `\$.tools`"),
        ('{"tools": ["read", 1]}', "Expected `str`"),
        ('{"permissions": {"denny": ["exec"]}}', "permissions.denny is unknown"),
        ('{"permissions": {"mode": "free"}}', "permissions"),
        ('{"permissions": ["exec"]}', "Expected"),
        ('{"kind": "robot"}', "kind"),
        ('{"name": ', "member.json: not JSON"),
        ("[]", "must hold one JSON object"),
    ],
)
def test_a_member_whose_limits_cannot_be_read_does_not_open(
    tmp_path: Path, settings: str, words: str
) -> None:
    crew, _ = open_crew(tmp_path)
    folder = write_member(tmp_path, "nina")
    (folder / "member.json").write_text(settings)
    with pytest.raises(ConfigError, match=words):
        crew.find("nina")
    # The others are there all the same, and doctor says what is wrong.
    assert [each.id for each in crew.list()] == ["captain"]
    assert [(each.level, each.subject) for each in crew.findings()] == [("error", "member nina")]


def test_unknown_keys_are_said_with_the_nearest_known_one(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "nina", {"descripton": "x", "env": {"A": "${NOWHERE}"}})
    assert [(each.level, each.fix) for each in crew.findings()] == [
        ("error", "set it in the environment or .env"),
        ("warn", "did you mean 'description'?"),
    ]


def test_a_change_of_the_settings_makes_another_member(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "nina", {"name": "Nina"})
    assert crew.find("nina") is crew.find("nina")
    write_member(tmp_path, "nina", {"name": "Nora"})
    assert crew.find("nina").name == "Nora"


def test_two_members_of_one_name_are_said_and_told_apart_by_id(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "one", {"name": "Sam"})
    write_member(tmp_path, "two", {"name": "sam"})
    assert sum("is called" in each.message for each in crew.findings()) == 2
    with pytest.raises(UserError, match="2 members are called 'SAM': one, two"):
        crew.choose("SAM")
    assert crew.choose("two").id == "two"
    assert crew.choose("ada").id == "captain"


@pytest.mark.parametrize("name", ["ghost", "../up", "", "a/b", ".ship"])
def test_who_is_not_there_is_not_found(tmp_path: Path, name: str) -> None:
    crew, _ = open_crew(tmp_path)
    with pytest.raises(NotFoundError, match="There are: captain"):
        crew.find(name)


def test_a_members_file_that_leads_out_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    crew, _ = open_crew(root)
    (tmp_path / "outside.json").write_text('{"name": "Eve"}')
    folder = write_member(root, "eve", Agent="# Eve\n")
    (folder / "member.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(ConfigError, match="outside the workspace"):
        crew.find("eve")


def test_u11_an_unset_variable_of_a_members_model_is_not_replaced_by_another_key(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path, {"OPENAI_API_KEY": "sk-of-everyone"})
    write_member(tmp_path, "ann", {"model": {"provider": "openai", "apiKey": "${KEY_OF_ANN}"}})
    member = crew.find("ann")
    # Whoever asks this model is told; nobody else is stopped.
    assert member.config.llm.api_key == "${KEY_OF_ANN}"
    assert [finding.subject for finding in member.findings] == ["member.json model.apiKey"]


def test_m4_names_of_tools_and_skills_are_not_masked_but_private_values_are(tmp_path: Path) -> None:
    crew, loaded = open_crew(tmp_path)
    settings = {
        "tools": ["read", "exec"],
        "skills": ["weather"],
        "roleSummary": "accounts",
        "env": {"TOKEN": "a-private-value"},
        "model": {"provider": "openai", "model": "gpt-5", "apiKey": "another-private-value"},
    }
    write_member(tmp_path, "nina", settings)
    crew.find("nina")
    words = "12 threads can be read; exec(env) about weather and accounts by gpt-5"
    assert loaded.mask(words) == words
    assert "private-value" not in loaded.mask("a-private-value another-private-value")


@pytest.mark.parametrize("front", ["tools: [read", 'permissions: {"deny": [exec]', "tools: read\n\t- x: ["])
def test_m4_front_matter_that_cannot_be_read_keeps_the_member_from_answering(
    tmp_path: Path, front: str
) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "nina", Agent=f"---\n{front}\n---\n# Nina\n")
    with pytest.raises(ConfigError, match=r"members/nina/Agent\.md: .*Mend the front matter"):
        crew.find("nina")
    assert [each.id for each in crew.list()] == ["captain"]
    assert [each.subject for each in crew.findings() if each.level == "error"] == ["member nina"]


@pytest.mark.parametrize("key", ["tool", "Tools", "permission", "PERMISSIONS", "skill"])
def test_m4_a_limit_that_is_misspelt_keeps_the_member_from_answering(tmp_path: Path, key: str) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "nina", {key: {}})
    with pytest.raises(ConfigError, match=f"'{key}' is unknown; did you mean"):
        crew.find("nina")


def test_m4_a_model_nobody_can_make_out_keeps_that_member_alone_from_answering(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "bo", {"name": "Bo"})
    write_member(tmp_path, "nina", {"model": "sonnet"})
    with pytest.raises(ConfigError, match="write provider:model"):
        crew.find("nina")
    assert crew.choose("Bo").id == "bo"
    assert [each.id for each in crew.list()] == ["captain", "bo"]
    assert [each.subject for each in crew.findings()] == ["member nina"]


@pytest.mark.parametrize("name", ["", "../x", "a/b"])
def test_m4_a_name_that_can_be_no_id_is_said_not_to_be_there(tmp_path: Path, name: str) -> None:
    crew, _ = open_crew(tmp_path)
    with pytest.raises(NotFoundError, match="A folder members/<id>/ with an"):
        crew.choose(name)


@pytest.mark.parametrize("key", ["tool", "Tools", "permission", "skill"])
def test_a_limit_misspelt_in_front_matter_is_not_passed_over(tmp_path: Path, key: str) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "nina", Agent=f"---\n{key}: read\ntitle: Watch\ntags: [a]\n---\n# Nina\n")
    with pytest.raises(ConfigError, match=f"'{key}' of the front matter is unknown; did you mean"):
        crew.find("nina")
    write_member(tmp_path, "nina", Agent="---\ntitle: Watch\ntags: [a]\ntopic: x\n---\n# Nina\n")
    assert crew.find("nina").tools is None


@pytest.mark.parametrize("target", ["../outside.md", "nowhere.md", "members"])
@pytest.mark.parametrize("name", ["Agent.md", "IDENTITY.md", "SOUL.md"])
def test_m4_a_member_whose_words_lie_elsewhere_does_not_answer_as_someone_else(
    tmp_path: Path, name: str, target: str
) -> None:
    root = tmp_path / "workspace"
    folder = write_member(root, "eve", {"name": "Eve"})
    (tmp_path / "outside.md").write_text("# Mallory\n")
    (folder / name).symlink_to(root / target)
    crew, _ = open_crew(root)
    with pytest.raises(ConfigError, match=rf"members/eve/{name}: .*nobody can tell who member eve is"):
        crew.find("eve")
    assert [each.id for each in crew.list()] == ["captain"]
    assert [(each.level, each.subject) for each in crew.findings()] == [("error", "member eve")]
    (folder / name).unlink()
    (folder / name).write_text("# Eve\n")
    assert crew.find("eve").name == "Eve"


def test_m4_a_link_that_stays_inside_is_read(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path)
    write_member(tmp_path, "nina", Agent="# Nina\n")
    folder = write_member(tmp_path, "eve")
    (folder / "Agent.md").symlink_to("../nina/Agent.md")
    assert crew.find("eve").name == "Nina"


def test_m4_a_member_that_is_nothing_but_a_link_to_nowhere_is_said_to_be_one(tmp_path: Path) -> None:
    crew, _ = open_crew(tmp_path)
    (tmp_path / "members/eve").mkdir(parents=True)
    (tmp_path / "members/eve/Agent.md").symlink_to("gone.md")
    assert crew.ids() == ["captain", "eve"]
    with pytest.raises(ConfigError, match="a link that leads nowhere"):
        crew.choose("eve")
