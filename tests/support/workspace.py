"""Open small workspaces with a scripted model, and talk to them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from shipmate.app import Shipmate
from shipmate.fleet.role import ALL_IN_ONE
from shipmate.models.port import Model
from shipmate.orchestrator.feed import FeedEvent
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.tools.toolset import Toolset
from shipmate.values.chunk import Chunk
from shipmate.values.event import ApprovalReplyEvent, CourseEvent, Outcome, PinEvent, TextEvent
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId

ROOM = "cli:dm:ann"
_numbers = itertools.count(1)


class Mark(msgspec.Struct):
    mark: str = ""


class Probe(Tool[Mark]):
    """Be a tool whose runs a test can watch, hold and break."""

    arguments = Mark
    description = "A probe."

    def __init__(self, name: str, *, acts: bool = False, untrusted: bool = False) -> None:
        self.name = name  # pyright: ignore[reportAttributeAccessIssue]  (each probe has its own name)
        self.labels = Labels(acts=acts, reads_untrusted=untrusted)  # pyright: ignore[reportAttributeAccessIssue]
        self.marks: list[str] = []
        self.begun = asyncio.Event()
        self.hold: asyncio.Event | None = None
        self.error: Exception | None = None

    async def run(self, arguments: Mark, context: ToolContext) -> ToolResult:
        self.marks.append(arguments.mark)
        self.begun.set()
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        return ToolResult(output=f"{self.name} {arguments.mark}")


@asynccontextmanager
async def open_workspace(
    folder: Path, model: Model, tools: Sequence[Tool[Any]] = (), **permissions: Any
) -> AsyncGenerator[Shipmate]:
    """Open a workspace in a folder; the same folder can be opened again, as after a restart.

    It writes ship.json anew, and who has the folder open already goes by that from the next call on.
    """
    (folder / "Agent.md").write_text("# Captain\n")
    (folder / "ship.json").write_text(json.dumps({"permissions": permissions}))
    # Where all is in PostgreSQL, nobody else is there to work threads.
    app = await Shipmate.open(folder, model=model, environ={}, toolset=Toolset(tools), role=ALL_IN_ONE)
    try:
        yield app
    finally:
        await app.close()


def said(text: str, *, message_id: str | None = None, thread_id: str = ROOM, **more: Any) -> TextEvent:
    """Make the event of a person saying something."""
    return TextEvent(
        platform=more.pop("platform", "cli"),
        thread_id=thread_id,
        user_id=more.pop("user_id", "ann"),
        message_id=message_id or f"e{next(_numbers)}",
        timestamp="2026-01-01T00:00:00.000Z",
        text=text,
        **more,
    )


def pressed(
    approval_id: str, *, approved: bool, user_id: str = "ann", scope: str = "once"
) -> ApprovalReplyEvent:
    """Make the event of a pressed button."""
    return ApprovalReplyEvent(
        platform="cli",
        thread_id=ROOM,
        user_id=user_id,
        message_id=f"e{next(_numbers)}",
        timestamp="2026-01-01T00:00:00.000Z",
        text="",
        approval_id=approval_id,
        approved=approved,
        scope=scope,
    )


def course(message_id: str | None = None, *, thread_id: str = ROOM) -> CourseEvent:
    """Make the event of a person opening a course."""
    return CourseEvent(
        platform="cli",
        thread_id=thread_id,
        user_id="ann",
        message_id=message_id or f"e{next(_numbers)}",
        timestamp="2026-01-01T00:00:00.000Z",
    )


def pin(text: str = "", number: int | None = None, *, message_id: str | None = None) -> PinEvent:
    """Make the event of a person pinning a text, or taking a pin off."""
    return PinEvent(
        platform="cli",
        thread_id=ROOM,
        user_id="ann",
        message_id=message_id or f"e{next(_numbers)}",
        timestamp="2026-01-01T00:00:00.000Z",
        text=text,
        number=number,
    )


async def note(app: Shipmate, event: CourseEvent | PinEvent) -> Outcome:
    """Open a course or change the pins, and wait for what is said back."""
    return await (await app.receive(event)).outcome()


async def talk(app: Shipmate, text: str, **more: Any) -> Outcome:
    """Say something and wait for how it ends."""
    return await (await app.receive(said(text, **more))).outcome()


async def messages_of(app: Shipmate, thread_id: str = ROOM) -> list[UIMessage]:
    """Give the stored messages of a thread."""
    return list((await app.threads.read(ThreadId.parse(thread_id))).messages)


async def chunks_until_end(queue: asyncio.Queue[FeedEvent]) -> list[Chunk]:
    """Collect the chunks of a run."""
    found: list[Chunk] = []
    while True:
        event = await queue.get()
        if event.outcome is not None:
            return found
        if event.chunk is not None:
            found.append(event.chunk)


def tools_of(message: UIMessage) -> list[tuple[str, str, Any]]:
    """Give the calls of a message: name, state, and output or error."""
    return [
        (part["type"].removeprefix("tool-"), part["state"], part.get("output", part.get("errorText")))
        for part in message["parts"]
        if "toolCallId" in part
    ]


def forget_ends(app: Shipmate) -> None:
    """Make the inbox as if the process had ended between the last row of the thread and the inbox's end."""
    lines = app.layout.inbox.read_bytes().splitlines(keepends=True)
    app.layout.inbox.write_bytes(b"".join(line for line in lines if json.loads(line)["do"] != "finish"))
