from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.skills.skill import DESCRIPTION_LIMIT
from shipmate.workspace.config import Config
from tests.support.skill import make_loader, put


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


@pytest.mark.parametrize("value", ["null", "5", "[]", '""', "[null, 3]", "{}", '"  "'])
def test_odd_requirements_ask_for_nothing(tmp_path: Path, value: str) -> None:
    text = f"---\nmetadata:\n  nanobot:\n    requires:\n      bins: {value}\n      env: {value}\n---\nx"
    put(tmp_path, "skills/odd/SKILL.md", text)
    assert make_loader(tmp_path).find().by_name["odd"].is_available


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
