"""Go back to a message and say something else there, in a new thread."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.responses import Response

from shipmate.server.guard.error import missing
from shipmate.server.guard.viewer import viewer
from shipmate.server.port import Ship
from shipmate.server.routes.thread import BRANCH, ThreadMade, find_thread
from shipmate.server.shape import Json, Shape, Slot, Words, tells
from shipmate.server.site import TheShip, new_room
from shipmate.values.message import (
    JsonObject,
    UIMessage,
    is_settled,
    is_tool,
    metadata_of,
    text_of,
)
from shipmate.values.thread_id import ThreadId

LEFT_BEHIND = "this call was left behind when the thread was branched; it did not run here"
TITLE_LIMIT = 80
router = APIRouter(tags=["threads"])


class Branch(Shape):
    """The message to go back to."""

    message_id: Slot
    text: Words | None = None


@router.post("/api/threads/{thread_id}/branch", status_code=201, openapi_extra=tells(ThreadMade))
async def branch_thread(ship: TheShip, thread_id: str, body: Branch) -> Response:
    """Make a new thread with the history before a message, to say something else there."""
    return Json(await make_branch(ship, thread_id, body), 201)


async def make_branch(ship: Ship, thread_id: str, body: Branch) -> ThreadMade:
    """Make the thread, and return it with the words that were said at its end."""
    info = await find_thread(ship, thread_id)
    thread = await ship.threads.read(ThreadId.parse(info.thread_id))
    message = thread.find(body.message_id)
    if message is None:
        raise missing("such message")
    target = new_room()
    rows = copy_before(thread.messages, message["id"], str(target))
    text = body.text if body.text is not None else text_of(message)
    origin = {"threadId": info.thread_id, "messageId": message["id"]}
    await ship.store.threads.create(
        str(target),
        # Its first words are those of its parent, so that a list would show both alike.
        title=_first_line(text) if rows else "",
        member=info.member,
        settings=viewer().claim({**info.settings, BRANCH: origin}),
        is_new=not rows,
    )
    await ship.threads.create(target, rows)
    await ship.store.ledger.copy_sidecars(info.thread_id, str(target), {row["id"] for row in rows})
    await ship.store.threads.note(str(target), rows, member=info.member)
    return ThreadMade(thread_id=str(target), messages=len(rows), text=text)


def _first_line(text: str) -> str:
    return next((line.strip()[:TITLE_LIMIT] for line in text.splitlines() if line.strip()), "")


def copy_before(messages: Sequence[UIMessage], message_id: str, thread_id: str) -> list[UIMessage]:
    """Copy the messages before one, as rows of a new thread; nothing in the copy waits or runs."""
    rows: list[UIMessage] = []
    for message in messages:
        if message["id"] == message_id:
            break
        rows.append(_copy(message, thread_id))
    return rows


def _copy(message: UIMessage, thread_id: str) -> UIMessage:
    metadata = {**metadata_of(message), "threadId": thread_id}
    parts = [_settle(part) for part in message["parts"]]
    return {"id": message["id"], "role": message["role"], "metadata": metadata, "parts": parts}


def _settle(part: JsonObject) -> JsonObject:
    if not is_tool(part) or is_settled(part):
        return part
    # Approvals belong to the thread they were asked in; a copy must not be answerable.
    kept = {key: value for key, value in part.items() if key not in ("approval", "output", "preliminary")}
    return {**kept, "state": "output-error", "input": part.get("input", {}), "errorText": LEFT_BEHIND}
