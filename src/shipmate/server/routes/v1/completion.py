"""Answer programs that speak OpenAI's protocol."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.orchestrator.feed import FeedEvent
from shipmate.server.guard.error import respond
from shipmate.server.port import Receipt, Ship
from shipmate.server.routes.v1.answer import (
    ChunkEncoder,
    Conclusion,
    answer_id,
    completion,
    conclude,
    headers_of,
    lost,
)
from shipmate.server.routes.v1.application import Admitted, Application
from shipmate.server.routes.v1.body import CompletionBody, read_completion
from shipmate.server.routes.v1.call_thread import THREAD_HEADER, sweep
from shipmate.server.routes.v1.refusal import unknown_model
from shipmate.server.shape import Json, takes, tells
from shipmate.server.site import TheShip, get_site
from shipmate.server.stream.stream import KEEP_ALIVE_SECONDS, Events, OpenResponse, Streamed, Streams, drain
from shipmate.server.stream.watch import REJOIN, OwnRuns
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.workspace.layout import CAPTAIN

KEY_HEADER = "idempotency-key"
router = APIRouter(tags=["openai"])


class ModelEntry(msgspec.Struct, frozen=True):
    """A member as OpenAI describes a model."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "shipmate"


class ModelList(msgspec.Struct, frozen=True):
    """The members as OpenAI lists models."""

    data: list[ModelEntry]
    object: str = "list"


@router.get("/v1/models", openapi_extra=tells(ModelList))
async def read_models(ship: TheShip) -> Response:
    """List the members as models."""
    return Json(ModelList([ModelEntry(name) for name in ship.crew.ids()]))


@router.get("/v1/models/{model_id}", openapi_extra=tells(ModelEntry))
async def read_model(ship: TheShip, model_id: str) -> Response:
    """Describe one member as a model."""
    return Json(ModelEntry(_find_member(ship, model_id)))


def _find_member(ship: Ship, name: str | None) -> str:
    """Return the member a model name means; without a name the captain answers."""
    known = list(ship.crew.ids())
    if name and name not in known:
        raise unknown_model(name, known)
    return name or CAPTAIN


@router.post("/v1/chat/completions", openapi_extra=takes(CompletionBody))
async def complete(request: Request) -> Response:
    """Answer the last message, at once or as a stream."""
    # Asked by itself: what FastAPI takes to hand both over is a good part of what the front costs a turn.
    site = get_site(request)
    ship = await site.ship()
    body, given = read_completion(await request.body())
    member = _find_member(ship, body.model)
    headers = request.headers
    await site.quota.check(ship, None)
    await sweep(ship)
    application = Application(ship, body, given, headers.get(THREAD_HEADER), headers.get(KEY_HEADER))
    admitted = await application.admit(member)
    if body.stream:
        encoder = ChunkEncoder(admitted, member, tells_usage=body.wants_usage)
        return Streamed(CompletionStream(ship, site.streams, admitted, encoder).play)
    end = await conclude(ship, admitted, await ship.keeper.receive(admitted.event))
    if end.problem is not None:
        raise end.problem
    return Json(completion(answer_id(admitted), member, end), headers=headers_of(admitted))


class CompletionStream:
    """The answer to one request while it is written."""

    def __init__(self, ship: Ship, streams: Streams, admitted: Admitted, encoder: ChunkEncoder) -> None:
        self._ship = ship
        self._streams = streams
        self._admitted = admitted
        self._encoder = encoder
        self._end: Conclusion | None = None

    async def play(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; what fails before its first word has the status of its failure instead."""
        thread_id = self._admitted.thread_id
        async with self._ship.keeper.watch(str(thread_id)) as queue:
            receipt = await self._ship.keeper.receive(self._admitted.event)
            runs = OwnRuns(self._ship, thread_id, [receipt], queue)

            async def choose(events: Sequence[FeedEvent]) -> tuple[list[Chunk], bool]:
                return await self._choose(runs, receipt, events)

            try:
                first, is_over = await self._begin(queue, runs, receipt)
                if self._end is not None and self._end.problem is not None and not self._encoder.has_begun:
                    await respond(self._end.problem, scope["path"])(scope, receive, send)
                    return
                self._encoder.is_sent = True
                wire = OpenResponse(receive, send, self._streams, self._encoder.encode, b"")
                await wire.open(headers_of(self._admitted))
                if is_over:
                    await wire.finish(first)
                    return
                await wire.write(first)
                await wire.follow(queue, choose)
            finally:
                runs.cancel()

    async def _begin(self, queue: Events, runs: OwnRuns, receipt: Receipt) -> tuple[list[Chunk], bool]:
        """Wait for the first word or the end, or so long that a connection may be taken for dead."""
        told = b""
        is_over = False
        latest = asyncio.get_running_loop().time() + KEEP_ALIVE_SECONDS
        with contextlib.suppress(TimeoutError):
            while not told and not is_over:
                async with asyncio.timeout_at(latest):
                    event = await queue.get()
                chosen, is_over = await self._choose(runs, receipt, [event, *drain(queue)])
                told = b"".join(map(self._encoder.encode, chosen))
        return [{"type": "encoded", "data": told}], is_over

    async def _choose(
        self, runs: OwnRuns, receipt: Receipt, events: Sequence[FeedEvent]
    ) -> tuple[list[Chunk], bool]:
        chosen, is_over = await runs.choose(events)
        if is_over:
            is_torn = chunks.error(REJOIN) in chosen
            self._end = lost() if is_torn else await conclude(self._ship, self._admitted, receipt)
            chosen = [*chosen, {"type": "conclusion", "data": self._end}]
        return chosen, is_over
