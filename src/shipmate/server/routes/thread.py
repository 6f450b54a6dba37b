"""List, make, change and read threads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.priming.replay import Priming, create_dialog
from shipmate.server import shape
from shipmate.server.ask import new_room, thread_at
from shipmate.server.guard.error import ApiError, missing
from shipmate.server.json_response import Json, empty, tells
from shipmate.server.port import Ship
from shipmate.server.site import TheShip, TheSite
from shipmate.server.stream.view import list_threads, page_of, show_thread
from shipmate.store.port import ThreadInfo
from shipmate.values.message import (
    JsonObject,
    UIMessage,
    is_settled,
    is_tool,
    metadata_of,
    text_of,
    timestamp,
)
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

LEFT_BEHIND = "this call was left behind when the thread was branched; it did not run here"


def copy_before(messages: list[UIMessage], message_id: str, thread_id: str) -> list[UIMessage]:
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


HITS_PER_SNIPPET = 200
router = APIRouter(tags=["threads"])


@router.get("/api/threads", openapi_extra=tells("Threads"))
async def read_threads(
    ship: TheShip,
    query: shape.Slot = "",
    archived: bool = False,
    bin: bool = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: shape.Slot | None = None,
) -> Response:
    """List threads, the one that changed last first."""
    threads = ship.store.threads
    found = await threads.list(
        query=query, archived=None if bin else archived, binned=bin, before=before, limit=limit + 1
    )
    following = found[limit - 1].cursor if len(found) > limit else None
    return Json({"threads": await list_threads(ship, found[:limit]), "next": following})


@router.post("/api/threads", status_code=201, openapi_extra=tells("ThreadMade"))
async def create_thread(site: TheSite, ship: TheShip, body: shape.NewThread) -> Response:
    """Make a dialog, with priming scripts replayed as its beginning."""
    chosen = body.priming
    dialog = await create_dialog(
        site.library,
        ship.threads,
        ship.store,
        thread_id=new_room(),
        member=ship.crew.find(body.member or CAPTAIN).id,
        priming=chosen and Priming(script_refs=tuple(chosen.script_refs), show_in_ui=chosen.show_in_ui),
        title=body.title or "",
        language=ship.config.language,
    )
    return Json({"threadId": str(dialog.thread_id), "messages": dialog.messages, "text": ""}, 201)


@router.get("/api/threads/{thread_id}", openapi_extra=tells("Thread"))
async def read_thread(ship: TheShip, thread_id: str) -> Response:
    """Describe one thread."""
    return Json(await show_thread(ship, await find_thread(ship, thread_id)))


@router.patch("/api/threads/{thread_id}", openapi_extra=tells("Thread"))
async def change_thread(ship: TheShip, thread_id: str, body: shape.ThreadChange) -> Response:
    """Rename, archive or mark a thread as read."""
    info = await find_thread(ship, thread_id)
    threads = ship.store.threads
    if body.title is not None:
        await threads.rename(info.thread_id, body.title)
    read_at = None if body.read is None else timestamp() if body.read else ""
    if body.archived is not None or read_at is not None:
        await threads.set(info.thread_id, archived=body.archived, read_at=read_at)
    return Json(await show_thread(ship, await find_thread(ship, thread_id)))


@router.delete("/api/threads/{thread_id}", status_code=204)
async def bin_thread(ship: TheShip, thread_id: str) -> Response:
    """Stop what runs in a thread and move it to the bin."""
    info = await find_thread(ship, thread_id)
    if info.binned:
        raise missing("such thread outside the bin")
    if ship.keeper.running(info.thread_id):
        raise ApiError(409, "conflict", "The thread is being answered.", "Stop it first.")
    await ship.threads.bin(ThreadId.parse(info.thread_id))
    await ship.store.threads.refresh(info.thread_id)
    return empty()


@router.post("/api/threads/{thread_id}/restore", openapi_extra=tells("Thread"))
async def restore_thread(ship: TheShip, thread_id: str) -> Response:
    """Bring a thread back from the bin."""
    info = await find_thread(ship, thread_id)
    if not info.binned:
        raise missing("such thread in the bin")
    await ship.threads.restore(ThreadId.parse(info.thread_id))
    await ship.store.threads.refresh(info.thread_id)
    return Json(await show_thread(ship, await find_thread(ship, thread_id)))


@router.get("/api/threads/{thread_id}/messages", openapi_extra=tells("Messages"))
async def read_messages(
    ship: TheShip,
    thread_id: str,
    before: shape.Slot | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """Return the messages before one, or the last ones; what a running stream repeats is left out."""
    return Json(await page_of(ship, thread_at(thread_id), before, limit))


@router.post("/api/threads/{thread_id}/branch", status_code=201, openapi_extra=tells("ThreadMade"))
async def branch_thread(ship: TheShip, thread_id: str, body: shape.Branch) -> Response:
    """Make a new thread with the history before a message, to say something else there."""
    info = await find_thread(ship, thread_id)
    thread = await ship.threads.read(ThreadId.parse(info.thread_id))
    message = thread.find(body.message_id)
    if message is None:
        raise missing("such message")
    target = new_room()
    rows = copy_before(thread.messages, message["id"], str(target))
    title = info.title if rows else ""
    await ship.store.threads.create(
        str(target), title=title, member=info.member, settings=info.settings, is_new=not rows
    )
    await ship.threads.create(target, rows)
    await ship.store.threads.note(str(target), rows, member=info.member)
    text = body.text if body.text is not None else text_of(message)
    return Json({"threadId": str(target), "messages": len(rows), "text": text}, 201)


@router.get("/api/search", openapi_extra=tells("Hits"))
async def search(
    ship: TheShip, query: shape.Slot, limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> Response:
    """Find messages by their words."""
    hits = await ship.store.search.find(query, limit)
    titles = {hit.thread_id: "" for hit in hits}
    for thread_id in titles:
        info = await ship.store.threads.find(thread_id)
        titles[thread_id] = info.title if info else ""
    found = [
        {
            "threadId": hit.thread_id,
            "title": titles[hit.thread_id],
            "messageId": hit.message_id,
            "role": hit.role,
            "snippet": _snippet(hit.text, query),
            "at": hit.at,
        }
        for hit in hits
    ]
    return Json({"hits": found})


async def find_thread(ship: Ship, thread_id: str) -> ThreadInfo:
    """Return a thread's entry, or say that there is none."""
    info = await ship.store.threads.find(str(thread_at(thread_id)))
    if info is None:
        raise missing("such thread")
    return info


def _snippet(text: str, query: str) -> str:
    words = query.lower().split()
    place = text.lower().find(words[0]) if words else 0
    start = max(0, place - HITS_PER_SNIPPET // 4)
    cut = " ".join(text[start : start + HITS_PER_SNIPPET].split())
    return ("…" if start else "") + cut + ("…" if start + HITS_PER_SNIPPET < len(text) else "")
