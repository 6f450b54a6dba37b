from __future__ import annotations

import asyncio
import json
from typing import Any

from shipmate.priming.script.writer import write_script
from tests.support.cassette import STEP, approved, called, make_script, words
from tests.support.raw_server import RawServer, Visit
from tests.support.server import Served

REF = "team_shared/log"


async def put(served: Served, answer: str = "Written.") -> None:
    call = approved(called("write", output="Created log.md: 1 line.", path="log.md", content="x\n"))
    script = make_script(("keep a log", [STEP, call, STEP, words(answer)]))
    folder = served.site.layout.shared_priming
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.md").write_text(write_script(script))


async def ask(served: Served, **body: Any) -> dict[str, Any]:
    answer = await served.client.post("/api/priming/rehearse", json={"ref": REF, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_script_is_rehearsed_and_its_report_kept(served: Served) -> None:
    await put(served)
    before = await served.client.get("/api/priming/rehearsal", params={"ref": REF})
    assert (before.status_code, before.json()) == (200, None)
    for tools in ("script", "sandbox"):
        report = await ask(served, tools=tools, model="script", forced=True)
        assert (report["verdict"], report["tools"], report["ref"]) == ("same", tools, REF), report
    assert [piece["kind"] for piece in report["turns"][0]["new"]] == ["call", "result", "words"]
    kept = await served.client.get("/api/priming/rehearsal", params={"ref": REF})
    assert kept.json() == report
    assert not (served.site.layout.root / "log.md").exists()
    threads = (await served.client.get("/api/threads")).json()["threads"]
    assert not any("rehearsal" in thread["id"] for thread in threads)


async def test_what_differs_is_told_beside_what_was_recorded(served: Served) -> None:
    await put(served)
    report = await ask(served, tools="live", model="script")
    assert report["verdict"] == "differs"
    (deviation,) = report["turns"][0]["deviations"]
    assert (deviation["recorded"]["kind"], deviation["new"]["kind"]) == ("result", "error")
    assert "a script file makes this call" in deviation["new"]["text"], deviation["new"]


async def test_broken_scripts_are_reported_and_missing_ones_refused(served: Served) -> None:
    await put(served)
    (served.site.layout.shared_priming / "log.md").write_text("### record nothing\n")
    report = await ask(served, model="script")
    assert report["verdict"] == "broken"
    assert str(served.site.layout.root) not in report["reason"]
    missing = await served.client.post("/api/priming/rehearse", json={"ref": "team_shared/none"})
    assert missing.status_code == 404
    wrong = await served.client.post("/api/priming/rehearse", json={"ref": REF, "tools": "real"})
    assert wrong.status_code == 400
    misspelt = await served.client.post("/api/priming/rehearse", json={"ref": REF, "tool": "sandbox"})
    assert misspelt.status_code == 400
    assert "tools" in misspelt.text
    nobody = await served.client.post("/api/priming/rehearse", json={"ref": REF, "member": "nobody"})
    assert nobody.status_code == 404


async def test_a_client_that_leaves_ends_the_rehearsal(served: Served) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def hang(visit: Visit) -> None:
        if not visit.head.startswith("POST"):
            await visit.answer("{}", status="404 Not Found", kind="application/json")
            return
        await visit.begin()
        asked.set()
        await visit.reader.read()
        left.set()

    await put(served)
    async with RawServer(hang) as provider:
        llm = {"provider": "vllm", "model": "m", "baseUrl": f"{provider.url}/v1"}
        (served.site.layout.root / "ship.json").write_text(json.dumps({"llm": llm}))
        waiting = asyncio.create_task(served.client.post("/api/priming/rehearse", json={"ref": REF}))
        await asyncio.wait_for(asked.wait(), 20)
        waiting.cancel()
        await asyncio.wait_for(left.wait(), 20)
    kept = await served.client.get("/api/priming/rehearsal", params={"ref": REF})
    assert kept.json() is None
