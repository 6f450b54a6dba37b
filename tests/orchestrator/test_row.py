"""Whatever happens in a thread, the real AI SDK accepts every row alone and reads every stream."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.approvals import service as approval_service
from shipmate.errors import ModelDownError
from shipmate.models.port import Finish, ReasoningDelta, ReasoningEnd, ToolCallDelta
from shipmate.models.scripted import ScriptedModel, call, call_raw, cut, fail, hold, say, think
from shipmate.orchestrator.feed import LocalFeed
from shipmate.tools.tool import ToolContext, ToolResult
from shipmate.values.chunk import Chunk
from shipmate.values.event import Attachment, RetryEvent, VoiceEvent
from shipmate.values.message import UIMessage
from tests.support.node import node_command
from tests.support.workspace import ROOM, Mark, Probe, course, note, open_workspace, pin, pressed, said, talk

pytestmark = pytest.mark.node
ASIDE = "what day is it today, by the way?"
Scene = Callable[[Path], Awaitable[None]]


class Showing(Probe):
    """Be a tool that shows a file and gives nothing."""

    async def run(self, arguments: Mark, context: ToolContext) -> ToolResult:
        await super().run(arguments, context)
        return ToolResult(output=None, files=({"url": "/uploads/a.png", "mediaType": "image/png"},))


async def say_all_that_can_be_said(folder: Path) -> None:
    signed = ReasoningEnd({"signature": "s"})
    calls = [call("look"), call("show"), call_raw("look", "{"), call_raw("look", "[1]"), call("gone", a=1)]
    odd = [call_raw("", "{}"), call_raw("a b/c", "{}"), call_raw("look", '{"mark": {}}', call_id="")]
    model = ScriptedModel([[think("hm"), say("a"), *calls, *odd], [signed, ReasoningDelta("x"), say("b")]])
    async with open_workspace(folder, model, [Probe("look"), Showing("show")]) as app:
        files = (Attachment(url="data:text/plain,x", media_type="text/plain", filename="x.txt"),)
        await talk(app, "", attachments=files)


async def fail_in_every_way(folder: Path) -> None:
    broken = [say("half "), ToolCallDelta("c", "look", '{"mar'), cut()]
    down = [think("hm"), call("look"), fail(ModelDownError("down"))]
    endless = [[call("look")]] * 40
    empty = [Finish("stop")]
    model = ScriptedModel([broken, down, empty, *endless])
    async with open_workspace(folder, model, [Probe("look")]) as app:
        for text in ("break", "fall", "", "go on"):
            await talk(app, text)


async def ask_and_answer(folder: Path) -> None:
    act, other = Probe("act", acts=True), Probe("other", acts=True)
    asked = [call("act", mark="1"), call("other", mark="2")]
    model = ScriptedModel([asked, "One done.", asked, "Aside.", "Late.", asked, "Fine.", "Gone.", asked])
    async with open_workspace(folder, model, [act, other]) as app:
        await talk(app, "go")
        await talk(app, "approve 9")
        await talk(app, "approve 1 and deny 2 because of the weather")
        await talk(app, "go")
        await talk(app, ASIDE)
        await talk(app, "approve all")
        await talk(app, "go")
    async with open_workspace(folder, model) as app:
        await talk(app, "deny all")
        event = VoiceEvent(
            platform="cli",
            thread_id=ROOM,
            user_id="ann",
            message_id="v1",
            timestamp="t",
            audio=Attachment(url="data:audio/ogg,x", media_type="audio/ogg"),
        )
        await (await app.receive(event)).outcome()


async def ask_and_forget(folder: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act")], [call("act")], [call("act")], "Replaced.", "Well.", "Bye."])
    async with open_workspace(folder, model, [act]) as app:
        await talk(app, "go")
        await talk(app, "go on, try the very same thing")
        await retry(app, "r1")
        await retry(app, "r2")
        await talk(app, "yes")
        now = approval_service.utc_now()
        app.approvals._clock = lambda: now + timedelta(days=365)  # pyright: ignore[reportPrivateUsage]
        await talk(app, "anything else?")
        await (await app.receive(pressed("apr_unknown", approved=True))).outcome()


async def stop_in_every_place(folder: Path) -> None:
    gate, slow, act = asyncio.Event(), Probe("slow"), Probe("act", acts=True)
    slow.hold = act.hold = asyncio.Event()
    talking = [think("hm"), say("Once"), ToolCallDelta("c", "look", "{"), hold(gate)]
    model = ScriptedModel(
        [talking, [call("act", mark="1"), call("slow")], [call("act"), call("act", mark="2")]]
    )
    async with open_workspace(folder, model, [slow, act]) as app:
        async with app.keeper.watch(ROOM) as queue:
            receipt = await app.receive(said("tell"))
            while (event := await queue.get()).chunk is None or event.chunk["type"] != "tool-input-delta":
                pass
            await app.keeper.stop(ROOM)
            await receipt.outcome()
        receipt = await app.receive(said("go"))
        await slow.begun.wait()
        await app.keeper.stop(ROOM)
        await receipt.outcome()
        await talk(app, "no")
        await talk(app, "go")
        receipt = await app.receive(said("approve all"))
        await act.begun.wait()
        await app.keeper.stop(ROOM)
        await receipt.outcome()


async def die_and_give_up(folder: Path) -> None:
    look, act = Probe("look"), Probe("act", acts=True)
    look.hold = act.hold = asyncio.Event()
    model = ScriptedModel({"": [[call("act"), call("look")], "never"]})
    for _ in range(8):
        look.begun.clear()
        act.begun.clear()
        async with open_workspace(folder, model, [look, act], allow=["act"]) as app:
            if not app.keeper.taken_up:
                await app.receive(said("go", message_id="m1"))
            ends = [act.begun.wait(), look.begun.wait(), app.keeper.idle()]
            waits = [asyncio.ensure_future(end) for end in ends]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()


async def steer(folder: Path) -> None:
    look = Probe("look")
    look.hold = asyncio.Event()
    async with open_workspace(folder, ScriptedModel([[call("look")], "turned"]), [look]) as app:
        await app.receive(said("go"))
        await look.begun.wait()
        second = await app.receive(said("left", steer=True))
        look.hold.set()
        await second.outcome()


async def note_in_every_way(folder: Path) -> None:
    act = Probe("act", acts=True)
    async with open_workspace(folder, ScriptedModel([[call("act")], "Done."]), [act]) as app:
        await note(app, pin("The port is 8022."))
        await talk(app, "go")
        await note(app, course())
        await talk(app, "yes")
        await note(app, pin(number=1))
        await note(app, course())


async def retry(app: Shipmate, message_id: str) -> None:
    event = RetryEvent(platform="cli", thread_id=ROOM, user_id="ann", message_id=message_id, timestamp="t")
    await (await app.receive(event)).outcome()


SCENES: list[Scene] = [
    say_all_that_can_be_said,
    fail_in_every_way,
    ask_and_answer,
    ask_and_forget,
    stop_in_every_place,
    die_and_give_up,
    steer,
    note_in_every_way,
]


@pytest.mark.parametrize("version", ["ai6", "ai7"])
async def test_every_row_is_valid_alone_and_every_stream_can_be_read(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = record(monkeypatch)
    rows: list[str] = []
    for scene in SCENES:
        folder = tmp_path / scene.__name__
        folder.mkdir()
        await asyncio.wait_for(scene(folder), 60)
        for path in sorted((folder / ".ship" / "threads").glob("*.jsonl")):
            rows += path.read_text().splitlines()
    states = {part.get("state") for row in rows for part in json.loads(row)["parts"]}
    assert {"approval-requested", "approval-responded", "output-denied", "output-error"} <= states
    assert ask_node("validate.mjs", version, rows) == []
    read = ask_node("reduce.mjs", version, [json.dumps(stream) for stream in streams])
    assert len(read) == len(streams) > 20
    troubles = [(one["error"], told) for one, told in zip(read, streams, strict=True) if one["error"]]
    assert troubles == []


def record(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Keep what is told of each message that a run opens, and how it stood."""
    streams: list[dict[str, Any]] = []
    opening, publish = LocalFeed.open, LocalFeed.publish
    current: dict[str, dict[str, Any]] = {}

    def open_kept(self: LocalFeed, thread_id: str, message: UIMessage) -> None:
        stood = json.loads(json.dumps(message))
        current[message["id"]] = {"message": stood, "chunks": []}
        streams.append(current[message["id"]])
        opening(self, thread_id, message)

    def publish_kept(self: LocalFeed, thread_id: str, message_id: str, chunk: Chunk) -> None:
        # An error chunk is how a client is told of trouble; it is no trouble of the stream.
        if self.running(thread_id) is not None and chunk["type"] != "error" and message_id in current:
            current[message_id]["chunks"].append(chunk)
        publish(self, thread_id, message_id, chunk)

    monkeypatch.setattr(LocalFeed, "open", open_kept)
    monkeypatch.setattr(LocalFeed, "publish", publish_kept)
    return streams


def ask_node(script: str, version: str, lines: list[str]) -> list[Any]:
    node, folder = node_command()
    result = subprocess.run(
        [node, script, version],
        cwd=folder,
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in result.stdout.splitlines()]
