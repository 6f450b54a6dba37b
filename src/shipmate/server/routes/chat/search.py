"""Find messages by their words, and lines of memory and scripts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from shipmate.priming.workspace_search import search_files
from shipmate.server.guard.viewer import viewer
from shipmate.server.shape import Answer, Json, Slot, tells
from shipmate.server.site import TheShip
from shipmate.values.reveal import reveal_prose

HITS_PER_SNIPPET = 200
router = APIRouter(tags=["threads"])


class HitView(Answer):
    """A found message."""

    thread_id: str
    title: str
    message_id: str
    role: str
    snippet: str
    at: str


class FileHitView(Answer):
    """A found line of memory or of a script; the path of a script is its ref."""

    kind: str
    path: str
    line: int
    snippet: str


class HitList(Answer):
    """Found messages, and lines of memory and scripts."""

    hits: list[HitView]
    files: list[FileHitView]


@router.get("/api/search", openapi_extra=tells(HitList))
async def search(ship: TheShip, query: Slot, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Response:
    """Find messages by their words; who may see all finds lines of memory and scripts too."""
    hits = await ship.store.search.find(query, limit, viewer().filter)
    titles = {hit.thread_id: "" for hit in hits}
    for thread_id in titles:
        info = await ship.store.threads.find(thread_id)
        titles[thread_id] = reveal_prose(info.title) if info else ""
    found = [
        HitView(
            thread_id=hit.thread_id,
            title=titles[hit.thread_id],
            message_id=hit.message_id,
            role=hit.role,
            snippet=_snippet(hit.text, query),
            at=hit.at,
        )
        for hit in hits
    ]
    may_all = viewer().has("admin")
    lines = (
        await run_in_threadpool(search_files, ship.layout, ship.crew.list(), query, limit) if may_all else []
    )
    files = [
        FileHitView(kind=each.kind, path=each.path, line=each.line, snippet=_snippet(each.text, query))
        for each in lines
    ]
    return Json(HitList(hits=found, files=files))


def _snippet(text: str, query: str) -> str:
    words = query.lower().split()
    place = text.lower().find(words[0]) if words else 0
    start = max(0, place - HITS_PER_SNIPPET // 4)
    cut = " ".join(text[start : start + HITS_PER_SNIPPET].split())
    return ("…" if start else "") + cut + ("…" if start + HITS_PER_SNIPPET < len(text) else "")
