"""Answer for the server itself: its life, its figures, its description, its page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from shipmate import __version__
from shipmate.errors import ShipmateError
from shipmate.orchestrator.keeper.health import EngineHealth
from shipmate.orchestrator.keeper.port import ALONE
from shipmate.server.describe import describe, render
from shipmate.server.guard.error import ApiError
from shipmate.server.shape import Answer, Json, tells
from shipmate.server.site import Site, TheShip, TheSite

STYLE = Path(__file__).parent.parent / "docs.css"
router = APIRouter(tags=["system"])
page_router = APIRouter(include_in_schema=False)


class Health(Answer):
    """The server's sign of life."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", openapi_extra=tells(Health, is_open=True))
async def check_health() -> Response:
    """Say that the server lives; asks nobody who they are."""
    return Json(Health())


@router.get("/readyz", openapi_extra=tells(Health, is_open=True))
async def check_readiness(site: TheSite) -> Response:
    """Say that people can be served: the workspace's store answers. Asks nobody who they are."""
    try:
        if site.has_agent():
            await (await site.ship()).keeper.health()
    except ShipmateError as error:
        raise ApiError(503, "not-ready", "The store does not answer.", "Try again soon.") from error
    return Json(Health())


@router.get("/api/fleet", openapi_extra=tells(EngineHealth))
async def read_fleet(ship: TheShip) -> Response:
    """Return who takes part in working this workspace, what waits, and what nobody serves."""
    return Json(await ship.keeper.health())


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def read_metrics(site: TheSite) -> Response:
    """Return the server's figures in the Prometheus text format."""
    lines = [
        *site.metrics.lines(),
        "# TYPE shipmate_live_streams gauge",
        f"shipmate_live_streams {len(site.streams.open)}",
        "# TYPE shipmate_stream_chunks_total counter",
        f"shipmate_stream_chunks_total {site.streams.chunks}",
        "# TYPE shipmate_uptime_seconds gauge",
        f"shipmate_uptime_seconds {time.monotonic() - site.started:.3f}",
        *await _tell_ship(site),
    ]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


async def _tell_ship(site: Site) -> list[str]:
    """Return what this process is, and what goes on and waits in the whole workspace."""
    ship = await site.ship() if site.has_agent() else None
    role = ship.keeper.role if ship is not None else ALONE
    lines = ["# TYPE shipmate_info gauge", f'shipmate_info{{role="{role}",version="{__version__}"}} 1']
    if ship is None:
        return lines
    waiting = sum((await ship.store.consents.waiting()).values())
    return [
        *lines,
        "# TYPE shipmate_runs_in_flight gauge",
        f"shipmate_runs_in_flight {len(ship.keeper.runs())}",
        "# TYPE shipmate_approvals_waiting gauge",
        f"shipmate_approvals_waiting {waiting}",
    ]


@page_router.get("/openapi.json")
async def read_description(request: Request) -> Response:
    """Return the machine-readable description."""
    return Json(describe(request.app))


@page_router.get("/docs")
async def read_docs(request: Request) -> Response:
    """List the routes for people."""
    return HTMLResponse(render(describe(request.app)))


@page_router.get("/docs.css")
async def read_style() -> Response:
    """Return the look of /docs."""
    return Response(STYLE.read_bytes(), media_type="text/css")


@page_router.api_route("/", methods=["GET", "HEAD"])
async def read_page(request: Request, site: TheSite) -> Response:
    """Return the page itself; its files and views are what no route answers."""
    return site.page.answer(request)
