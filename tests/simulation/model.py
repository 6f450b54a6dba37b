"""A model that answers by chance: words, calls, trouble; slowly or at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

import msgspec

from shipmate.errors import ModelAuthError, ModelBusyError, ModelStreamError
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from shipmate.values.message import metadata_of, text_of, tool_parts

if TYPE_CHECKING:
    from tests.simulation.process import Process

TOOLS = ("look", "look", "deed", "deed", "act", "act")
TROUBLES = (ModelStreamError, ModelBusyError, ModelAuthError)
USED = Usage(input_tokens=10, output_tokens=5)


class SimModel:
    """The model of one process."""

    name = "sim:model"

    def __init__(self, process: Process) -> None:
        self._process = process
        self._chance = process.world.chance
        self._outside = process.world.outside

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        return self._answer(request)

    async def _answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self._process.check()
        chance = self._chance
        thread_id = str(next(metadata_of(each)["threadId"] for each in reversed(request.messages)))
        self._outside.broken[thread_id] += 1
        seen = [text_of(each) for each in request.messages if each["role"] == "user"]
        await self._wait()
        world = self._process.world
        if world.is_deadly and world.deaths and chance.random() < 0.8:
            world.deaths -= 1
            self._outside.deaths[thread_id] += 1
            self._process.kill()
            self._process.check()
        if chance.random() < 0.04:
            raise chance.choice(TROUBLES)
        if chance.random() < 0.2:
            yield ReasoningDelta("hm")
            yield ReasoningEnd({"signature": "s"} if chance.random() < 0.5 else None)
        calls = self._calls(request)
        if not calls or chance.random() < 0.3:
            for word in ("seen", *(words.split(" ")[0] for words in seen)):
                yield TextDelta(f"{word} ")
                if chance.random() < 0.3:
                    await self._wait()
        if chance.random() < 0.03:
            # It breaks off in the middle.
            return
        for call in calls:
            if chance.random() < 0.5:
                yield ToolCallDelta(call.call_id, call.name, call.arguments[:5])
            yield call
        await self._wait()
        self._outside.broken[thread_id] -= 1
        yield Finish("tool-calls" if calls else "stop", USED)

    def _calls(self, request: ModelRequest) -> list[ToolCall]:
        """Choose the calls of a step; the longer the answer, the fewer."""
        chance = self._chance
        last = request.messages[-1]
        made = len(list(tool_parts(last))) if last["role"] == "assistant" else 0
        if made >= 4 or chance.random() > (0.6, 0.4, 0.3, 0.2)[made]:
            return []
        name, mark = chance.choice(TOOLS), self._outside.new_mark()
        calls = [self._call(name, mark)]
        while chance.random() < 0.3 and len(calls) < 3:
            if chance.random() < 0.5:
                # The same once more: another question of its own.
                calls.append(self._call(name, mark))
            else:
                calls.append(self._call(chance.choice(TOOLS), self._outside.new_mark()))
        return calls

    def _call(self, name: str, mark: str) -> ToolCall:
        number = self._chance.choice((1, 2, self._chance.randrange(1_000_000)))
        arguments = "{" if self._chance.random() < 0.02 else msgspec.json.encode({"mark": mark}).decode()
        return ToolCall(f"call_{number}", name, arguments)

    async def _wait(self) -> None:
        await asyncio.sleep(self._chance.choice((0.0, 0.0, 0.05, 0.5)))
        self._process.check()
