"""Tasks over HTTP: listed with what is wrong, written against a version, paused, begun and taken away."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.server import Served

TEXT = "---\ntitle: Paint\nwhen: 0 9 * * *\nzone: Europe/Berlin\n---\n\nPaint the hull.\n"


async def get(served: Served, path: str = "") -> dict[str, Any]:
    return (await served.client.get(f"/api/tasks{path}")).json()


async def test_a_task_is_written_paused_begun_and_taken_away(served: Served) -> None:
    assert await get(served) == {"tasks": []}
    checked = (await served.client.post("/api/tasks/check", json={"text": TEXT})).json()
    assert len(checked["upcoming"]) == 3
    assert checked["problem"] is None
    never = {"text": TEXT.replace("* * *", "31 2 *")}
    never = (await served.client.post("/api/tasks/check", json=never)).json()
    assert "never comes" in never["problem"]["en"]
    assert "永远不会" in never["problem"]["zh"]

    refused = await served.client.put("/api/tasks/paint", json={"text": "Paint."})
    assert (refused.status_code, "front matter" in refused.text) == (400, True)
    saved = await served.client.put("/api/tasks/paint", json={"text": TEXT})
    version = saved.json()["version"]
    assert saved.json()["task"]["state"] == "waiting"
    # Somebody else wrote it meanwhile.
    assert (await served.client.put("/api/tasks/paint", json={"text": TEXT})).status_code == 409
    assert (await served.client.post("/api/tasks/paint/pause")).json()["state"] == "paused"
    assert "enabled: false" in (await get(served, "/paint"))["text"]
    assert (await served.client.post("/api/tasks/paint/resume")).json()["state"] == "waiting"

    begun = (await served.client.post("/api/tasks/paint/run")).json()
    assert begun["threadId"] == "schedule:task:paint"
    await served.idle()
    async with asyncio.timeout(5):
        while (detail := await get(served, "/paint"))["task"]["last"]["status"] != "replied":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    (occurrence,) = detail["occurrences"]
    assert (occurrence["task"], occurrence["byHand"]) == ("paint", True)
    messages = (await served.client.get(f"/api/threads/{begun['threadId']}/messages")).json()["messages"]
    assert messages[0]["metadata"]["sourceTag"] == "task:paint"

    assert (await served.client.delete(f"/api/tasks/paint?version={version[::-1]}")).status_code == 409
    version = detail["version"]
    assert (await served.client.delete(f"/api/tasks/paint?version={version}")).status_code == 204
    assert await get(served) == {"tasks": []}


async def test_a_bad_file_is_named_and_no_id_leaves_the_folder(served: Served) -> None:
    folder = served.site.layout.tasks
    folder.mkdir(parents=True)
    (folder / "bad.md").write_bytes(b"\xff\xfe")
    (folder / "good.md").write_text(TEXT)
    found = {task["id"]: task for task in (await get(served))["tasks"]}
    assert found["good"]["title"] == "Paint"
    assert found["bad"]["state"] == "broken"
    assert "UTF-8" in found["bad"]["problem"]["en"]
    for task_id in ("..%2F..%2Fship", "a%2Fb", "%2e%2e", "x" * 80, "a b"):
        for method in ("GET", "PUT"):
            answer = await served.client.request(method, f"/api/tasks/{task_id}", json={"text": TEXT})
            assert answer.status_code in (400, 404, 405, 422), task_id
    assert (await served.client.get("/api/tasks/none")).status_code == 404
    assert sorted(path.name for path in folder.iterdir()) == ["bad.md", "good.md"]
