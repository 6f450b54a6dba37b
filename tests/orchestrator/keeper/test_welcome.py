"""The keeper serves those who are attached until they are gone, or until it leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from shipmate.models.scripted import ScriptedModel, call
from shipmate.values.thread_id import ThreadId
from tests.support.visitor import Visitor
from tests.support.wait import LONG
from tests.support.workspace import ROOM, Probe, open_workspace, said, talk


async def test_who_watches_no_more_is_told_no_more(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel({"": ["Aye."]})) as app:
        visitor = await Visitor.connect(app.layout)
        visitor.say({"is": "hello", "number": 1})
        visitor.say({"is": "watch", "number": 2, "threadId": ROOM})
        assert [(await visitor.hear())["is"] for _ in range(2)] == ["welcome", "done"]
        visitor.say({"is": "unwatch", "number": 2})
        visitor.say({"is": "queue", "number": 3, "threadId": ROOM})
        assert (await visitor.hear())["is"] == "rows"
        await talk(app, "ready?")
        visitor.say({"is": "queue", "number": 4, "threadId": ROOM})
        heard = [(await visitor.hear())["is"] for _ in range(3)]
        visitor.close()
    assert heard == ["began", "began", "rows"]


async def test_a_keeper_that_leaves_takes_nothing_more(tmp_path: Path) -> None:
    work = Probe("work", acts=True)
    work.hold = asyncio.Event()
    model = ScriptedModel({"act": [[call("work")], "never"], "more": ["never"]})
    async with open_workspace(tmp_path, model, [work], mode="yolo") as app:
        visitor = await Visitor.connect(app.layout)
        visitor.say({"is": "hello", "number": 1})
        await app.receive(said("act"))
        await asyncio.wait_for(work.begun.wait(), LONG)
        closing = asyncio.create_task(app.close())
        while (await visitor.hear())["is"] != "leaving":
            pass
        late = msgspec.to_builtins(said("more", thread_id="cli:dm:other"))
        visitor.say({"is": "receive", "number": 2, "event": late})
        heard = await visitor.hear()
        work.hold.set()
        await asyncio.wait_for(closing, LONG)
        visitor.close()
    assert (heard["is"], heard["kind"]) == ("refused", "KeeperError")
    assert not app.layout.thread(ThreadId.parse("cli:dm:other")).exists()
