"""People are let in and shut out over the API, and what is not there is said."""

from __future__ import annotations

import json
from pathlib import Path

from shipmate.models.scripted import ScriptedModel
from tests.support.server import make_site, make_workspace, opener_for, serving


async def test_people_are_let_in_refused_and_shut_out(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    config = {"adapters": {"memory": {}}, "people": {"ann": ["memory:1"]}}
    (tmp_path / "ship.json").write_text(json.dumps(config))
    async with serving(make_site(tmp_path, opener_for(ScriptedModel([])))) as served:
        people, client = (await served.ship()).people, served.client
        kept, gone = people.offer("memory", "a/b", "Bob"), people.offer("memory", "3", "Eve")
        known = (await client.get("/api/people")).json()
        assert known["people"] == [{"person": "ann", "ids": ["memory:1"]}]
        assert [(each["code"], each["name"]) for each in known["waiting"]] == [(kept, "Bob"), (gone, "Eve")]
        assert all(each["expiresAt"] > each["at"] for each in known["waiting"])
        assert (await client.delete(f"/api/people/codes/{gone}")).status_code == 204
        assert (await client.delete(f"/api/people/codes/{gone}")).status_code == 404
        assert (await client.post("/api/people", json={"code": gone})).status_code == 404
        assert (await client.post("/api/people", json={"code": kept, "person": "a b"})).status_code == 400
        let_in = await client.post("/api/people", json={"code": kept.lower(), "person": "ann"})
        assert (let_in.json()["id"], people.identify("memory", "a/b")) == ("memory:a/b", "person:ann")
        assert (await client.delete("/api/people/paired/memory%3Aa%2Fb")).status_code == 204
        assert not people.is_known("memory", "a/b")
        assert (await client.delete("/api/people/paired/memory%3A1")).status_code == 404
        for verb in ("POST", "DELETE"):
            path = "/api/outbox/7/retry" if verb == "POST" else "/api/outbox/7"
            assert (await client.request(verb, path)).status_code == 404
