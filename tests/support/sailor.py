"""Be the process that crash tests kill: a workspace with a model that stamps, fed over stdin.

Each line of stdin is an ingress event. `ack ID` says that it is stored, `done ID STATUS` that its run ended.
A stamp is an acting call whose effect is one line of `effects.log`; crash tests count them. A seal is
a stamp that a person must be asked about.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from shipmate.app import Shipmate
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta, ToolCall
from shipmate.orchestrator.receipt import Receipt
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.tools.toolset import Toolset
from shipmate.values.event import decode_event
from shipmate.values.message import UIMessage, text_of, tool_parts


class StampArguments(msgspec.Struct):
    mark: str


class Stamp(Tool[StampArguments]):
    """Write a mark where everyone can count it; there is no way to take it back."""

    name = "stamp"
    description = "Stamp a mark."
    arguments = StampArguments
    labels = Labels(acts=True)

    async def run(self, arguments: StampArguments, context: ToolContext) -> ToolResult:
        with (context.folder / "effects.log").open("a") as file:
            file.write(arguments.mark + "\n")
            file.flush()
            os.fsync(file.fileno())
        await asyncio.sleep(0.002)
        return ToolResult(output=f"stamped {arguments.mark}")


class Seal(Stamp):
    """Stamp what a person must be asked about; no rule of the crash tests allows it."""

    name = "seal"


class Look(Tool[StampArguments]):
    """Look at a mark; looking twice does no harm."""

    name = "look"
    description = "Look at a mark."
    arguments = StampArguments

    async def run(self, arguments: StampArguments, context: ToolContext) -> ToolResult:
        await asyncio.sleep(0.001)
        return ToolResult(output=f"saw {arguments.mark}")


class Stamper:
    """Answer every mark a person names with a look and a stamp, each third one with a seal; then a word."""

    name = "stamper"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        asked, answered = last_turn(request.messages)
        marks = re.findall(r"mark-\d+", " ".join(map(text_of, asked)))
        done = {part["input"].get("mark") for message in answered for part in tool_parts(message)}
        await asyncio.sleep(0.001)
        todo = [mark for mark in marks if mark not in done]
        yield TextDelta("working. " if todo else f"done {' '.join(marks)}")
        for mark in todo:
            acting = "seal" if int(mark.removeprefix("mark-")) % 3 == 0 else "stamp"
            for name in ("look", acting):
                yield ToolCall(f"{name}-{mark}", name, msgspec.json.encode({"mark": mark}).decode())
        yield Finish("tool-calls" if todo else "stop")


def last_turn(messages: Sequence[UIMessage]) -> tuple[list[UIMessage], list[UIMessage]]:
    """Give the last run of user messages, and what the assistant has done about it."""
    history = list(messages)
    end = len(history)
    while end and history[end - 1]["role"] == "assistant":
        end -= 1
    start = end
    while start and history[start - 1]["role"] == "user":
        start -= 1
    return history[start:end], history[end:]


async def main(folder: Path) -> None:
    """Serve events until stdin ends."""
    app = await Shipmate.open(folder, model=Stamper(), environ={}, toolset=Toolset([Stamp(), Seal(), Look()]))
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    print("ready", flush=True)
    followers: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        receipt = await app.receive(decode_event(line))
        print(f"ack {receipt.row.event.message_id}", flush=True)
        task = asyncio.create_task(follow(receipt))
        followers.add(task)
        task.add_done_callback(followers.discard)
    await app.keeper.idle()
    await asyncio.gather(*followers)
    await app.close()


async def follow(receipt: Receipt) -> None:
    """Say how the run of an event ended."""
    outcome = await receipt.outcome()
    print(f"done {receipt.row.event.message_id} {outcome.status}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
