"""Answer programs that speak OpenAI's protocol."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from shipmate.server.port import Ship
from shipmate.server.routes.v1.answer import ChunkEncoder, answer_id, completion, conclude, headers_of
from shipmate.server.routes.v1.application import Application
from shipmate.server.routes.v1.body import CompletionBody, read_completion
from shipmate.server.routes.v1.call_thread import THREAD_HEADER, sweep
from shipmate.server.routes.v1.completion_stream import CompletionStream
from shipmate.server.routes.v1.refusal import unknown_model
from shipmate.server.shape import Json, takes, tells
from shipmate.server.site import TheShip, TheSite
from shipmate.server.stream.stream import Streamed
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
async def complete(request: Request, site: TheSite, ship: TheShip) -> Response:
    """Answer the last message, at once or as a stream."""
    body, given = read_completion(await request.body())
    member = _find_member(ship, body.model)
    headers = request.headers
    await sweep(ship)
    application = Application(ship, body, given, headers.get(THREAD_HEADER), headers.get(KEY_HEADER))
    admitted = await application.admit(member)
    if body.stream:
        encoder = ChunkEncoder(admitted, member, ship.config.language, tells_usage=body.wants_usage)
        return Streamed(CompletionStream(ship, site.streams, admitted, encoder).play)
    end = await conclude(ship, admitted, await ship.keeper.receive(admitted.event))
    if end.problem is not None:
        raise end.problem
    return Json(completion(answer_id(admitted), member, end), headers=headers_of(admitted))
