"""Answer programs that speak OpenAI's protocol."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from shipmate.server.guard.error import ApiError
from shipmate.server.json_response import Json
from shipmate.server.port import Ship
from shipmate.server.routes.v1.answer import ChunkEncoder, answer_id, completion, conclude, headers_of
from shipmate.server.routes.v1.application import Application
from shipmate.server.routes.v1.body import read_completion
from shipmate.server.routes.v1.call_thread import THREAD_HEADER, sweep
from shipmate.server.routes.v1.completion_stream import CompletionStream
from shipmate.server.routes.v1.refusal import unknown_model
from shipmate.server.site import TheShip, TheSite
from shipmate.server.stream.stream import Streamed
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import CAPTAIN

KEY_HEADER = "idempotency-key"
ABSENT = ("/v1/completions", "/v1/responses", "/v1/embeddings")
BODY: JsonObject = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["messages"],
                    "properties": {
                        "model": {"type": "string"},
                        "stream": {"type": "boolean"},
                        "user": {"type": "string"},
                        "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
                        "tools": {"type": "array", "items": {"type": "object"}},
                    },
                }
            }
        },
    }
}
router = APIRouter(tags=["openai"])


@router.get("/v1/models")
async def read_models(ship: TheShip) -> Response:
    """List the members as models."""
    return Json({"object": "list", "data": [_model(name) for name in ship.crew.ids()]})


@router.get("/v1/models/{model_id:path}")
async def read_model(ship: TheShip, model_id: str) -> Response:
    """Describe one member as a model."""
    return Json(_model(_find_member(ship, model_id)))


def _model(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": 0, "owned_by": "shipmate"}


def _find_member(ship: Ship, name: str | None) -> str:
    """Return the member a model name means; without a name the captain answers."""
    known = list(ship.crew.ids())
    if name and name not in known:
        raise unknown_model(name, known)
    return name or CAPTAIN


async def refuse_absent(request: Request) -> Response:
    """Say what there is instead of an address that other servers have."""
    raise ApiError(
        404,
        "not-found",
        f"There is no {request.url.path} here.",
        "There are POST /v1/chat/completions, GET /v1/models and GET /v1/models/{id}.",
    )


for absent in ABSENT:
    router.add_api_route(absent, refuse_absent, methods=["GET", "POST"], include_in_schema=False)


@router.post("/v1/chat/completions", openapi_extra=BODY)
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
