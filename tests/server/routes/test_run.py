"""A run's file changes over HTTP: seen, put back, and refused when somebody changed them."""

from __future__ import annotations

from typing import Any

from tests.support.server import Served
from tests.support.wire import chat, messages, user


async def write(served: Served) -> str:
    """Have the member write a file, allow it, and return the run that did."""
    await chat(served.client, "room", user("u1", "write one file"))
    (approval,) = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
    ship = await served.ship()
    async with ship.keeper.watch("web:room:room") as queue:
        await served.client.post(f"/api/approvals/{approval['id']}", json={"approved": True})
        while (await queue.get()).outcome is None:
            pass
    return (await messages(served.client, "room"))[-1]["metadata"]["runId"]


async def test_a_run_is_rewound_and_taken_back(served: Served) -> None:
    run = await write(served)
    made = served.site.layout.root / "c.md"
    assert made.read_text() == "gamma\n"
    changes: dict[str, Any] = (await served.client.get(f"/api/runs/{run}/changes")).json()
    assert (changes["runId"], changes["threadId"], changes["canRewind"]) == (run, "web:room:room", True)
    assert changes["files"] == [{"path": "c.md", "change": "added", "obstacle": ""}]
    assert (await served.client.post(f"/api/runs/{run}/rewind")).status_code == 200
    assert not made.exists()
    assert (await served.client.get(f"/api/runs/{run}/changes")).json()["isRewound"] is True
    again = await served.client.post(f"/api/runs/{run}/rewind")
    assert (again.status_code, again.json()["isRewound"]) == (200, False)
    assert made.read_text() == "gamma\n"


async def test_what_somebody_changed_since_is_not_touched(served: Served) -> None:
    run = await write(served)
    made = served.site.layout.root / "c.md"
    made.write_text("mine\n")
    changes = (await served.client.get(f"/api/runs/{run}/changes")).json()
    assert changes["files"] == [{"path": "c.md", "change": "added", "obstacle": "changed-since"}]
    refused = await served.client.post(f"/api/runs/{run}/rewind")
    assert refused.status_code == 409
    assert "c.md" in refused.json()["error"]["message"]
    assert made.read_text() == "mine\n"


async def test_a_run_without_changes_is_not_found(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    run = (await messages(served.client, "room"))[-1]["metadata"]["runId"]
    assert (await served.client.get(f"/api/runs/{run}/changes")).status_code == 404
    assert (await served.client.post(f"/api/runs/{run}/rewind")).status_code == 404
    assert (await served.client.get("/api/runs/..%2F..%2Fthreads/changes")).status_code == 404
    async with served.stranger() as stranger:
        assert (await stranger.post(f"/api/runs/{run}/rewind")).status_code == 401
