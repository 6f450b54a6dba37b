"""A model that stamps marks and the tools it does so with, for processes that crash tests kill.

A stamp is an acting call whose effect is one line of `effects.log`; crash tests count them. A seal is a stamp
that a person must be asked about. Call ids are by chance: a call that is made again has another one.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import secrets
from collections.abc import AsyncIterator, Sequence

import msgspec

from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta, ToolCall
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.tools.toolset import Toolset
from shipmate.values.message import UIMessage, text_of, tool_parts
from shipmate.values.thread_id import ThreadId

EFFECTS = "effects.log"
# One part of a run may take this long: kills should find it in every state.
PAUSE_SECONDS = 0.04


class Mark(msgspec.Struct, frozen=True):
    """What a call is about."""

    mark: str


class Effect(msgspec.Struct, frozen=True):
    """One act: what was done, by which call, and whether the thread's file claimed it by then."""

    mark: str
    tool: str
    call_id: str
    thread_id: str
    process: int
    is_claimed: bool


class Stamp(Tool[Mark]):
    """Write a mark where everyone can count it; there is no way to take it back."""

    name = "stamp"
    description = "Stamp a mark."
    arguments = Mark
    labels = Labels(acts=True)

    async def run(self, arguments: Mark, context: ToolContext) -> ToolResult:
        await pause()
        effect = Effect(
            arguments.mark,
            self.name,
            context.call_id,
            context.thread_id,
            os.getpid(),
            is_claimed(context),
        )
        handle = os.open(context.folder / EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, msgspec.json.encode(effect) + b"\n")
        os.close(handle)
        await pause()
        return ToolResult(output=f"stamped {arguments.mark}")


class Seal(Stamp):
    """Stamp what a person must be asked about; no rule of the crash tests allows it."""

    name = "seal"


class Look(Tool[Mark]):
    """Look at a mark; looking twice does no harm."""

    name = "look"
    description = "Look at a mark."
    arguments = Mark

    async def run(self, arguments: Mark, context: ToolContext) -> ToolResult:
        await pause()
        return ToolResult(output=f"saw {arguments.mark}")


class Stamper:
    """Answer every mark a person names with a look and a stamp, each third one with a seal; then a word."""

    name = "stamper"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        asked, answered = last_turn(request.messages)
        marks = re.findall(r"mark-\d+", " ".join(map(text_of, asked)))
        done = {part["input"].get("mark") for message in answered for part in tool_parts(message)}
        todo = [mark for mark in marks if mark not in done]
        await pause()
        for word in ("working.",) if todo else ("done", *marks):
            yield TextDelta(f"{word} ")
            await pause()
        for mark in todo:
            for name in ("look", acting_tool(mark)):
                arguments = msgspec.json.encode({"mark": mark}).decode()
                yield ToolCall(f"call_{secrets.token_hex(8)}", name, arguments)
        yield Finish("tool-calls" if todo else "stop")


def acting_tool(mark: str) -> str:
    """Name the tool that a mark is made with."""
    return "seal" if int(mark.removeprefix("mark-")) % 3 == 0 else "stamp"


def make_toolset() -> Toolset:
    """Return the tools of a process."""
    return Toolset([Stamp(), Seal(), Look()])


def is_claimed(context: ToolContext) -> bool:
    """Tell whether the thread's file holds a call, and that it begins, while the call is being made."""
    lines = context.layout.thread(ThreadId.parse(context.thread_id)).read_bytes().splitlines()
    named = [line for line in lines if context.call_id.encode() in line]
    return any(b'"begun"' in line for line in named) and any(b'"input"' in line for line in named)


async def pause() -> None:
    await asyncio.sleep(random.choice((0, 0, PAUSE_SECONDS / 10, PAUSE_SECONDS)))


def last_turn(messages: Sequence[UIMessage]) -> tuple[list[UIMessage], list[UIMessage]]:
    """Return the last user messages that stand together, and what the assistant has done about them."""
    history = list(messages)
    end = len(history)
    while end and history[end - 1]["role"] == "assistant":
        end -= 1
    start = end
    while start and history[start - 1]["role"] == "user":
        start -= 1
    return history[start:end], history[end:]
