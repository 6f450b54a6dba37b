"""The studio over HTTP: opened once, tried beside it."""

from __future__ import annotations

from pathlib import Path

from tests.support.server import Served


async def test_a_studio_is_opened_once_and_its_draft_tried_beside_it(served: Served, tmp_path: Path) -> None:
    await served.client.post("/api/members", json={"id": "nina"})
    assert (await served.client.post("/api/studio/tides/try", json={"text": "hi"})).status_code == 404
    for wish in ({"member": "nina"}, {}):
        opened = await served.client.post("/api/studio/tides", json=wish)
        assert opened.json() == {"threadId": "web:studio:tides"}
    info = (await served.client.get("/api/threads/web:studio:tides")).json()
    assert (info["title"], info["member"]) == ("tides", "nina")
    assert (tmp_path / ".ship/studio/nina/tides/SKILL.md").is_file()
    tried = await served.client.post("/api/studio/tides/try", json={"text": "when is it high?"})
    assert tried.status_code == 202
    await served.idle()
    beside = (await served.client.get(f"/api/threads/{tried.json()['threadId']}")).json()
    assert (beside["member"], beside["title"]) == ("nina", "when is it high?")
    for name in ("..", "a b"):
        assert (await served.client.post(f"/api/studio/{name}", json={})).status_code in (400, 404)
