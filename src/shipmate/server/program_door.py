"""Let programs in that speak MCP over HTTP; whoever composes the site says what they are answered."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from shipmate.server.guard.error import ApiError, missing
from shipmate.server.site import TheSite
from shipmate.tools.mcp.rpc import VERSION as MCP_VERSION
from shipmate.tools.mcp.rpc import VERSIONS

router = APIRouter(tags=["programs"])
SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"


@router.post("/mcp", include_in_schema=False)
async def take_message(site: TheSite, request: Request) -> Response:
    """Answer one message of a program."""
    await site.ship()
    if site.door is None:
        raise missing("such address")
    version = request.headers.get(VERSION)
    if version is not None and version not in VERSIONS:
        raise ApiError(400, "invalid", "This version of MCP is not spoken.", f"Speak {MCP_VERSION}.")
    answer, session = await site.door.take(await request.body(), request.headers.get(SESSION, "")[:100])
    headers = {SESSION: session} if session else None
    if answer is None:
        return Response(status_code=202, headers=headers)
    return Response(answer, headers=headers, media_type="application/json")


@router.api_route("/mcp", methods=["GET", "DELETE"], include_in_schema=False)
async def refuse_stream() -> Response:
    """Say that there is no stream and nothing to end: each message is answered by itself."""
    return Response(status_code=405, headers={"allow": "POST"})
