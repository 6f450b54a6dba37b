"""Members come, change, are related and go over HTTP; their variables go in and never come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.server import Served

SECRET = "tide-table-7731"


async def crew(served: Served) -> dict[str, Any]:
    return (await served.client.get("/api/members")).json()


async def test_a_member_comes_is_changed_and_goes(served: Served, tmp_path: Path) -> None:
    made = await served.client.post(
        "/api/members", json={"id": "nina", "name": "Nina", "example": "researcher", "colour": "#36c"}
    )
    assert made.status_code == 201
    nina = made.json()
    assert (nina["name"], nina["colour"], nina["model"], nina["mode"], nina["tools"]) == (
        "Nina",
        "#36c",
        None,
        "ask",
        None,
    )
    assert "Nina" in (tmp_path / "members/nina/Agent.md").read_text()
    # Whoever was alone on board may ask somebody now.
    ship = await served.ship()
    assert "ask_member" in ship.equip("captain").toolset
    changed = await served.client.patch("/api/members/nina", json={"name": "Nina II", "colour": "#3366cc"})
    assert (changed.json()["name"], changed.json()["colour"]) == ("Nina II", "#3366cc")
    # Its own model and mode stand beside what its files say; nothing lifts the workspace's.
    (tmp_path / "members/nina/Agent.md").write_text("---\npermissions: {deny: [exec]}\n---\n# Nina\n")
    wish = {"model": "anthropic:m", "mode": "yolo"}
    other = (await served.client.patch("/api/members/nina", json=wish)).json()
    assert (other["model"], other["ownMode"], other["mode"]) == ("anthropic:m", "yolo", "ask")
    other = (await served.client.patch("/api/members/nina", json={"mode": "read-only"})).json()
    assert (other["ownMode"], other["mode"]) == ("read-only", "read-only")
    stated = json.loads((tmp_path / "members/nina/member.json").read_text())
    assert stated["permissions"] == {"deny": ["exec"], "mode": "read-only"}
    other = (await served.client.patch("/api/members/nina", json={"model": "", "mode": ""})).json()
    assert (other["model"], other["ownMode"], other["mode"]) == (None, None, "ask")
    assert (await served.client.patch("/api/members/nina", json={"mode": "any"})).status_code == 400
    for body in ({"model": "anthropic:m"}, {"mode": "ask"}):
        refused = await served.client.patch("/api/members/captain", json=body)
        assert (refused.status_code, "ship.json" in refused.text) == (400, True)
    # The captain's name holds at once, though it stands in ship.json.
    assert (await served.client.patch("/api/members/captain", json={"name": "Ann"})).json()["name"] == "Ann"
    members = (await served.client.get("/api/session")).json()["members"]
    assert [each["name"] for each in members] == ["Ann", "Nina II"]
    gone = await served.client.delete("/api/members/nina")
    place = gone.json()["place"]
    assert place.startswith(".ship/removed/nina-")
    assert (tmp_path / place / "Agent.md").is_file()
    assert [each["id"] for each in (await crew(served))["members"]] == ["captain"]
    assert "ask_member" not in ship.equip("captain").toolset


async def test_variables_are_told_by_name_alone(served: Served, tmp_path: Path) -> None:
    await served.client.post("/api/members", json={"id": "nina"})
    for member in ("nina", "captain"):
        where = f"/api/members/{member}/env"
        told = await served.client.post(where, json={"name": "TIDE_KEY", "value": SECRET})
        assert told.json()["variables"] == ["TIDE_KEY"]
        seen = (await served.client.get("/api/members")).text + (await served.client.get("/api/session")).text
        # Not in what is refused either.
        wrong = await served.client.post(where, json={"name": "A=B", "value": SECRET})
        long = await served.client.post(where, json={"name": "B", "value": SECRET * 4_000})
        assert (wrong.status_code, long.status_code) == (400, 400)
        assert SECRET not in told.text + seen + wrong.text + long.text
    assert (tmp_path / "members/nina/member.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "ship.json").stat().st_mode & 0o777 == 0o600
    assert (await served.ship()).crew.find("captain").config.env == {"TIDE_KEY": SECRET}
    forgotten = await served.client.delete("/api/members/nina/env/TIDE_KEY")
    assert forgotten.json()["variables"] == []
    assert (await served.client.delete("/api/members/nina/env/TIDE_KEY")).status_code == 404


async def test_relations_are_kept_in_step_and_mended(served: Served, tmp_path: Path) -> None:
    for name in ("nina", "bob"):
        await served.client.post("/api/members", json={"id": name, "name": name.title()})
    said = await served.client.post(
        "/api/relations", json={"member": "captain", "relation": "superior", "other": "Nina", "note": "a | b"}
    )
    assert said.status_code == 204
    found = (await crew(served))["relations"]
    assert [(each["member"], each["other"], each["relation"], each["isMutual"]) for each in found] == [
        ("captain", "nina", "subordinate", True),
        ("nina", "captain", "superior", True),
    ]
    assert found[0]["note"] == "a | b"
    bob = tmp_path / "members/bob/RELATIONS.md"
    rows = "| nina | Nina | agent | peer | | |\n| gone | | agent | peer | | |\n"
    bob.write_text(f"| a | b | c | d | e | f |\n|-|-|-|-|-|-|\n{rows}")
    seen = await crew(served)
    assert [(each["other"], each["kind"], each["isMutual"]) for each in seen["relations"]] == [
        ("nina", "member", True),
        ("nina", "member", False),
        ("gone", "nobody", False),
        ("captain", "member", True),
    ]
    assert len(seen["findings"]) == 2
    assert (await served.client.post("/api/relations/mend")).json() == {"written": ["nina → bob: peer"]}
    for other, status in (("gone", 204), ("nina", 204), ("nina", 404)):
        answer = await served.client.delete("/api/relations", params={"member": "bob", "other": other})
        assert answer.status_code == status
    assert (await crew(served))["findings"] == []


async def test_what_cannot_be_is_refused_as_the_terminal_says_it(served: Served, tmp_path: Path) -> None:
    await served.client.post("/api/members", json={"id": "nina", "name": "Nina"})
    for body, words in (
        ({"id": "../x"}, "is no id for a new member"),
        ({"id": "captain"}, "is no id for a new member"),
        ({"id": "nina"}, "there is a member 'nina' already"),
        ({"id": "bob", "name": "NINA"}, "choose another name"),
        ({"id": "bob", "colour": "red;}"}, "is no colour"),
        ({"id": "bob", "model": "nonsense"}, "write provider:model"),
    ):
        refused = await served.client.post("/api/members", json=body)
        assert (refused.status_code, words in refused.json()["error"]["message"]) == (400, True), refused.text
    assert (
        await served.client.post("/api/members", json={"id": "bob", "example": "../x"})
    ).status_code == 404
    assert sorted(path.name for path in (tmp_path / "members").iterdir()) == ["nina"]
    assert (await served.client.delete("/api/members/captain")).status_code == 400
    assert (await served.client.delete("/api/members/nobody")).status_code == 404
    itself = {"member": "nina", "relation": "peer", "other": "nina"}
    assert (await served.client.post("/api/relations", json=itself)).status_code == 400
    async with served.stranger() as stranger:
        assert (await stranger.post("/api/members", json={"id": "eve"})).status_code == 401
