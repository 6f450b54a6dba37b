"""Build the web application: routes, the shape of refusals, and the guard in front."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from shipmate import __version__
from shipmate.errors import ShipmateError
from shipmate.server.describe import describe
from shipmate.server.guard.edge import Edge, log, unforeseen
from shipmate.server.guard.error import ApiError, invalid, respond, translate
from shipmate.server.guard.host import AllowedHosts
from shipmate.server.guard.security import Guard, is_guarded
from shipmate.server.metric import Meter
from shipmate.server.routes import ROUTERS
from shipmate.server.site import Site, get_site
from shipmate.values.message import new_id

NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
REFUSALS = {
    400: ("invalid", "The request cannot be understood."),
    404: ("not-found", "There is nothing at this address."),
    405: ("method", "This address does not take that method."),
    413: ("too-large", "The body is too large."),
}


def make_app(site: Site, hosts: AllowedHosts) -> ASGIApp:
    """Put the guard before the routes."""
    return Guard(
        make_routes(site), token=site.token, tickets=site.tickets, failures=site.failures, allowed=hosts
    )


def make_routes(site: Site) -> FastAPI:
    """Build the routes alone; only the guard may hand requests to them."""
    app = FastAPI(
        title="Shipmate",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        # Nothing about requests leaves this machine, whatever the environment asks the framework to export.
        telemetry=NO_TELEMETRY,
    )
    app.state.site = site
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(ApiError, _refuse)
    app.add_exception_handler(ShipmateError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse)
    app.add_exception_handler(HTTPException, _refuse)
    app.add_middleware(Edge)
    app.add_middleware(Meter, metrics=site.metrics)
    app.openapi = lambda: describe(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    site: Site = app.state.site
    if site.has_agent():
        # Composing at the start also takes up what an earlier process left undone.
        await site.ship()
    try:
        yield
    finally:
        await site.close()


async def _refuse(request: Request, error: Exception) -> Response:
    """Answer an error in the one shape of all refusals of its address."""
    path = request.url.path
    if isinstance(error, ApiError):
        return respond(error, path)
    if isinstance(error, RequestValidationError):
        return respond(invalid(_complaint(error)), path)
    if isinstance(error, HTTPException):
        if error.status_code == 404 and request.method in ("GET", "HEAD") and not is_guarded(path):
            return _answer_page(request)
        code, message = REFUSALS.get(error.status_code, ("invalid", "The request cannot be answered."))
        headers = dict(error.headers or {})
        return respond(ApiError(error.status_code, code, message, "Read /docs.", headers=headers), path)
    assert isinstance(error, ShipmateError)
    known = translate(error, str(get_site(request).layout.root))
    if known is None:
        error_id = new_id("err")
        log.error("%s %s %s", error_id, request.method, request.url.path, exc_info=error)
        return respond(unforeseen(error_id), path)
    return respond(known, path)


def _answer_page(request: Request) -> Response:
    """Return what no route answers: a file of the page, or one of its views."""
    try:
        return get_site(request).page.answer(request)
    except ApiError as error:
        return error.response()


def _complaint(error: RequestValidationError) -> str:
    """Say which field is wrong, without repeating what was sent."""
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{place}: {first['msg']}"[:300]
