"""Script what the model of the server tests says; its words hold no state, so they survive a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from shipmate.errors import ModelDownError
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta
from shipmate.models.rehearsal.offline import last_said
from shipmate.models.scripted import ScriptedModel, call, call_raw, fail, say, think

COUNT = 40
COUNTED = "".join(f"{number} " for number in range(1, COUNT + 1))
STEP_SECONDS = 0.02


class TalkingModel:
    """Answer from a script, and count slowly when asked to: as slowly as a test needs it."""

    name = "scripted"

    def __init__(self) -> None:
        self._going = asyncio.Event()
        self._going.set()
        self._script = ScriptedModel(
            {
                "": ["I only know a few words."],
                "hello": ["Hello there."],
                "again": ["Hello once more."],
                "think": [[think("Let me see."), "I thought about it."]],
                "read two files": [
                    [say("Reading. "), call("read", path="a.md"), call("read", path="b.md")],
                    "Read both.",
                ],
                "call badly": [
                    [call_raw("read", '{"path": '), call("no_such_tool", a=1)],
                    "That went wrong.",
                ],
                "write one file": [[call("write", path="c.md", content="gamma\n")], "Done with it."],
                "write and count": [[call("write", path="c.md", content="gamma\n")], COUNTED],
                "write both files": [
                    [
                        call("write", path="c.md", content="gamma\n"),
                        call("write", path="d.md", content="delta\n"),
                    ],
                    "Done with both.",
                ],
                "log it three times": [
                    [call("exec", command="echo one; echo two") for _ in range(3)],
                    "Done three times.",
                ],
                "fail": [[say("I begin "), fail(ModelDownError("the provider cannot be reached"))]],
            }
        )

    def pause(self) -> None:
        """Say no more than the first number until it is told to go on."""
        self._going.clear()

    def go_on(self) -> None:
        self._going.set()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        if "count slowly" in last_said(request):
            for number in range(1, COUNT + 1):
                yield TextDelta(f"{number} ")
                await self._going.wait()
                await asyncio.sleep(STEP_SECONDS)
            yield Finish("stop")
            return
        is_slow = "and count" in last_said(request)
        async for event in self._script.stream(request):
            if isinstance(event, TextDelta) and is_slow:
                for number in event.text.split():
                    yield TextDelta(f"{number} ")
                    await self._going.wait()
                    await asyncio.sleep(STEP_SECONDS)
            else:
                yield event
