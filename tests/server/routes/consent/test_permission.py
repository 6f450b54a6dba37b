"""Rules: shown, tried out before they are saved, saved, and in force at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import Served
from tests.support.wire import chat, kinds, user

ASKING: dict[str, Any] = {"mode": "ask", "allow": [], "ask": [], "deny": []}


async def judge(served: Served, what: str, tool: str = "exec", **rules: object) -> dict[str, Any]:
    body = {"tool": tool, "what": what, **({"rules": {**ASKING, **rules}} if rules else {})}
    answer = await served.client.post("/api/permissions/try", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_u8_a_command_is_judged_by_rules_nobody_saved(served: Served, tmp_path: Path) -> None:
    denied = await judge(served, "rm -rf build", deny=["exec(rm *)"], allow=["exec"])
    assert (denied["action"], denied["rule"]) == ("deny", "exec(rm *)")
    assert denied["why"]["en"] != denied["why"]["zh"]
    assert (await judge(served, "touch made.txt", mode="yolo"))["action"] == "allow"
    assert (await judge(served, "touch made.txt", mode="read-only"))["action"] == "deny"
    assert (await judge(served, "docs/a.md", "write", allow=["write(docs/**)"]))["action"] == "allow"
    assert (await judge(served, "other.md", "write", allow=["write(docs/**)"]))["action"] == "ask"
    assert (await judge(served, "a.md", "read"))["action"] == "allow"
    broken = await judge(served, "touch made.txt", deny=["exec("])
    assert broken["action"] == "deny"
    assert broken["broken"][0]["rule"] == "exec("
    # Nothing ran, nobody was asked, nothing was written.
    assert not (tmp_path / "made.txt").exists()
    assert not (tmp_path / "ship.json").exists()
    assert (await served.client.get("/api/approvals")).json() == {"approvals": []}


async def test_u8_saved_rules_hold_from_the_next_call_on(served: Served, tmp_path: Path) -> None:
    (tmp_path / "ship.json").write_text('{\n  "name": "Ship",\n  "permissions": {"expiresMinutes": 5}\n}\n')
    assert "tool-approval-request" in kinds(await chat(served.client, "a", user("u1", "write one file")))
    saved = await served.client.put("/api/permissions", json={**ASKING, "allow": ["write"]})
    assert saved.status_code == 200, saved.text
    assert saved.json()["allow"] == ["write"]
    written = json.loads((tmp_path / "ship.json").read_text())
    assert written["name"] == "Ship"
    assert written["permissions"] == {"expiresMinutes": 5, **ASKING, "allow": ["write"]}
    assert "tool-output-available" in kinds(await chat(served.client, "b", user("u2", "write one file")))
    # An editor may write them as well, and what cannot be read changes nothing.
    (tmp_path / "ship.json").write_text('{"permissions": {"deny": ["write"]}}')
    assert (await served.client.get("/api/permissions")).json()["deny"] == ["write"]
    told = await chat(served.client, "c", user("u3", "write one file"))
    assert "tool-output-error" in kinds(told)
    (tmp_path / "ship.json").write_text('{"permissions": ')
    assert (await served.client.get("/api/permissions")).json()["deny"] == ["write"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({**ASKING, "allow": ["exec("]}, 400),
        ({**ASKING, "mode": "yolo"}, 409),
        ({**ASKING, "mode": "reckless"}, 400),
        ({**ASKING, "denny": ["exec"]}, 400),
    ],
)
async def test_u8_what_would_open_the_workspace_by_mistake_is_not_saved(
    served: Served, tmp_path: Path, body: dict[str, Any], status: int
) -> None:
    assert (await served.client.put("/api/permissions", json=body)).status_code == status
    assert not (tmp_path / "ship.json").exists()
    if status == 409:
        assert (await served.client.put("/api/permissions", json={**body, "sure": True})).status_code == 200
        assert (await served.client.get("/api/session")).json()["mode"] == "yolo"


async def test_u8_a_rule_that_somebody_added_meanwhile_is_not_overwritten(
    served: Served, tmp_path: Path
) -> None:
    seen = {**ASKING, "allow": ["read"]}
    # A rule as people write them by hand, with a blank behind it, is the same rule.
    (tmp_path / "ship.json").write_text('{"permissions": {"allow": ["read "]}}')
    wanted = {**seen, "ask": ["exec(ls)"], "was": seen}
    assert (await served.client.put("/api/permissions", json=wanted)).status_code == 200
    (tmp_path / "ship.json").write_text('{"permissions": {"allow": ["read"], "deny": ["exec(curl *)"]}}')
    refused = await served.client.put("/api/permissions", json=wanted)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert (await served.client.get("/api/permissions")).json()["deny"] == ["exec(curl *)"]
