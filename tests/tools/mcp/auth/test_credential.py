"""A server that lets nobody in: what a person has to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.tools.mcp.auth.credential import credential_for
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout


@pytest.mark.parametrize(
    ("challenge", "advice"),
    [
        ("", "run `shipmate mcp login wiki`"),
        ('Bearer resource_metadata="http://h/x"', "run `shipmate mcp login wiki`"),
        ('bearer realm="x", Basic realm="y"', "run `shipmate mcp login wiki`"),
        ('Basic realm="x"', 'mcp.servers.wiki.headers of ship.json to "${NAME}", and NAME in .env'),
        ("ApiKey", 'mcp.servers.wiki.headers of ship.json to "${NAME}", and NAME in .env'),
    ],
)
def test_a_refusal_says_what_lets_us_in(tmp_path: Path, challenge: str, advice: str) -> None:
    server = McpServer(url="http://127.0.0.1:1/mcp")
    assert credential_for("wiki", server, Layout(tmp_path)).refusal(401, challenge).endswith(advice)


def test_a_key_of_ship_json_that_is_refused_is_named_and_not_shown(tmp_path: Path) -> None:
    server = McpServer(url="http://127.0.0.1:1/mcp", headers={"authorization": "Bearer secret-token"})
    told = credential_for("wiki", server, Layout(tmp_path)).refusal(401, "Bearer")
    assert "mcp.servers.wiki.headers of ship.json" in told
    assert "secret-token" not in told
    assert "mcp login" not in told
