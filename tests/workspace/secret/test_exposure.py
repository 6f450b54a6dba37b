"""Keys written out and files others can read are named, each with its fix (C19)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.exposure import findings


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"llm": {"apiKey": "abcdefgh"}}, "llm.apiKey"),
        ({"llm": {"fallback": [{"apiKey": "abcdefgh"}]}}, "llm.fallback.0.apiKey"),
        ({"llm": {"baseUrl": "https://ann:hunter2@gate.example"}}, "llm.baseUrl"),
        ({"env": {"GITHUB_TOKEN": "abcdefgh"}}, "env.GITHUB_TOKEN"),
        ({"mcp": {"servers": {"x": {"args": ["--api-key", "abcdefgh"]}}}}, "mcp.servers.x.args.1"),
        ({"mcp": {"servers": {"x": {"args": ["--token=abcdefgh"]}}}}, "mcp.servers.x.args.0"),
        ({"mcp": {"servers": {"x": {"url": "https://a.b/sse?token=abcdefgh"}}}}, "mcp.servers.x.url"),
        ({"mcp": {"servers": {"x": {"headers": {"X": "abcdefgh"}}}}}, "mcp.servers.x.headers.X"),
        ({"adapters": {"telegram": {"botToken": "123:abc"}}}, "adapters.telegram.botToken"),
    ],
)
def test_c19_a_key_written_out_is_named_with_a_variable_to_use(
    tmp_path: Path, config: dict[str, object], place: str
) -> None:
    (tmp_path / "ship.json").write_text(json.dumps(config))
    (tmp_path / "ship.json").chmod(0o600)
    (found,) = findings(Layout(tmp_path))
    assert (found.level, found.subject) == ("warn", f"ship.json {place}")
    assert '"${' in found.fix
    assert "abcdefgh" not in f"{found.message}{found.fix}"


def test_c19_variables_and_harmless_values_are_no_finding(tmp_path: Path) -> None:
    config = {
        "llm": {"apiKey": "${KEY}", "baseUrl": "https://gate.example/v1"},
        "env": {"TZ": "Europe/Berlin"},
        "mcp": {
            "servers": {"x": {"command": "npx", "args": ["-y", "some-server"], "headers": {"A": "${KEY}"}}}
        },
    }
    (tmp_path / "ship.json").write_text(json.dumps(config))
    (tmp_path / "ship.json").chmod(0o600)
    assert findings(Layout(tmp_path)) == []


def test_c19_files_that_others_can_read_are_named(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.ship.mkdir(mode=0o700)
    for path in (layout.config, layout.env):
        path.write_text("{}")
        path.chmod(0o600)
    assert findings(layout) == []
    layout.config.chmod(0o644)
    layout.env.chmod(0o640)
    layout.ship.chmod(0o777)
    assert [(found.subject, found.fix) for found in findings(layout)] == [
        ("ship.json mode", "chmod 600 ship.json"),
        (".env mode", "chmod 600 .env"),
        (".ship mode", "chmod 700 .ship"),
    ]


def test_c19_members_have_their_own_files(tmp_path: Path) -> None:
    folder = tmp_path / "members" / "nina"
    folder.mkdir(parents=True)
    (folder / "ship.json").write_text('{"llm": {"apiKey": "abcdefgh"}}')
    (folder / "ship.json").chmod(0o644)
    assert [found.subject for found in findings(Layout(tmp_path))] == [
        "members/nina/ship.json llm.apiKey",
        "members/nina/ship.json mode",
    ]
