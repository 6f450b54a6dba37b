"""ship.json and .env are read whole, mistakes are named, and secrets stay out of sight."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from shipmate.errors import ConfigError, WorkspaceError
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config


def write(folder: Path, config: Any) -> Layout:
    (folder / "ship.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return Layout(folder)


def test_nothing_is_needed(tmp_path: Path) -> None:
    loaded = load_config(Layout(tmp_path), {})
    assert loaded.config.permissions.mode == "ask"
    assert loaded.findings == []


def test_variables_are_resolved_everywhere_from_environment_and_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# keys\nexport MY_KEY='from file'\nOTHER=plain # why\nBOTH=file\n")
    layout = write(
        tmp_path,
        {
            "llm": {"apiKey": "${MY_KEY}", "fallback": [{"apiKey": "pre-${OTHER}-post"}]},
            "env": {"A": "${BOTH}"},
            "adapters": {"telegram": {"token": ["${OTHER}"]}},
        },
    )
    config = load_config(layout, {"BOTH": "environment"}).config
    assert config.llm.api_key == "from file"
    assert config.llm.fallback[0].api_key == "pre-plain-post"
    assert config.env == {"A": "environment"}
    assert config.adapters == {"telegram": {"token": ["plain"]}}


def test_a_missing_variable_stops_only_what_needs_it(tmp_path: Path) -> None:
    layout = write(tmp_path, {"adapters": {"telegram": {"token": "${NOT_SET}"}}})
    loaded = load_config(layout, {})
    assert [(finding.level, finding.subject) for finding in loaded.findings] == [
        ("error", "ship.json adapters.telegram.token")
    ]


def test_u11_an_unset_variable_of_the_model_is_left_to_whoever_asks_it(tmp_path: Path) -> None:
    llm = {"provider": "openai", "apiKey": "${NOT_SET}", "fallback": [{"baseUrl": "${NOR_THIS}/v1"}]}
    loaded = load_config(write(tmp_path, {"llm": llm}), {})
    assert [(finding.level, finding.subject) for finding in loaded.findings] == [
        ("error", "ship.json llm.apiKey"),
        ("error", "ship.json llm.fallback[0].baseUrl"),
    ]
    # What is no secret is not hidden either.
    assert loaded.mask("set ${NOT_SET}") == "set ${NOT_SET}"


def test_unknown_keys_are_named_with_the_nearest_known_one(tmp_path: Path) -> None:
    layout = write(tmp_path, {"permisions": {}, "llm": {"modell": "x"}, "zzz": 1})
    findings = load_config(layout, {}).findings
    assert [(finding.message, finding.fix) for finding in findings] == [
        ("unknown key 'permisions', kept as it is", "did you mean 'permissions'?"),
        ("unknown key 'llm.modell', kept as it is", "did you mean 'llm.model'?"),
        ("unknown key 'zzz', kept as it is", ""),
    ]
    assert "permisions" in (tmp_path / "ship.json").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "llm": {,}\n}', r"ship\.json:2: not JSON"),
        ("[]", "must hold one JSON object"),
        ('{"llm": {"maxRetries": "three"}}', r"llm\.maxRetries"),
        ('{"permissions": {"mode": "wild"}}', r"permissions\.mode"),
        ("\xff", "not JSON"),
    ],
)
def test_a_broken_file_is_one_line_that_names_the_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(write(tmp_path, text), {})
    assert "\n" not in str(caught.value)


def test_secrets_are_masked_wherever_they_come_from(tmp_path: Path) -> None:
    layout = write(tmp_path, {"llm": {"apiKey": "sk-from-file"}, "env": {"ANY_NAME": "private-value"}})
    mask = load_config(layout, {"GITHUB_TOKEN": "ghp-environment", "EDITOR": "visible-editor"}).mask
    text = mask("sk-from-file ghp-environment private-value visible-editor")
    assert text == "••• ••• ••• visible-editor"


def test_u5_what_a_members_env_file_says_is_masked_and_no_pipe_is_waited_for(tmp_path: Path) -> None:
    for name in ("nina", "otto"):
        (tmp_path / "members" / name).mkdir(parents=True)
    (tmp_path / "members/nina/.env").write_text("DEPLOY_TOKEN=blue-whale\nCOLOUR=green-tea\n")
    os.mkfifo(tmp_path / "members/otto/.env")
    assert load_config(Layout(tmp_path), {}).mask("blue-whale, green-tea") == "•••, green-tea"


def test_a_secret_inside_another_is_masked_with_it(tmp_path: Path) -> None:
    mask = load_config(Layout(tmp_path), {"A_KEY": "abcdef", "B_KEY": "abcdefghi"}).mask
    assert mask("abcdefghi abcdef abc") == "••• ••• abc"


def test_the_workspace_is_found_upward_and_its_absence_says_how_to_make_one(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    with pytest.raises(WorkspaceError, match="shipmate init"):
        Layout.find(deep)
    (tmp_path / "Agent.md").write_text("# Captain\n")
    assert Layout.find(deep).root == tmp_path
