"""Let platforms call: each adapter answers at its own address, and checks itself who calls."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from shipmate.delivery.adapter import HookRequest
from shipmate.errors import ConfigError
from shipmate.server.guard.error import missing
from shipmate.server.site import TheShip

router = APIRouter(tags=["hooks"])


@router.api_route("/hooks/{name}", methods=["GET", "POST"], include_in_schema=False)
async def take_hook(ship: TheShip, name: str, request: Request) -> Response:
    """Hand a platform's request to its adapter."""
    if name not in ship.adapters.names:
        raise missing("such adapter")
    try:
        adapter = ship.adapters.find(name)
    except ConfigError as error:
        raise missing("such adapter") from error
    asked = HookRequest(
        method="GET" if request.method == "GET" else "POST",
        headers=dict(request.headers),
        query=dict(request.query_params),
        body=await request.body(),
    )
    answer = await adapter.answer_hook(asked, ship.hear)
    return Response(answer.body, answer.status, media_type=answer.media_type)
