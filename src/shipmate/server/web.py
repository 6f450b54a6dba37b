"""Build the web application: routes, the shape of refusals, and the guard in front."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import httptools
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shipmate import __version__
from shipmate.errors import ShipmateError, UserError
from shipmate.server.describe import describe
from shipmate.server.guard.access_token import check_reach
from shipmate.server.guard.edge import Edge, log, loggable, unforeseen
from shipmate.server.guard.entitlement import Entitlement
from shipmate.server.guard.error import CLIENT_PATHS, ApiError, invalid, respond, translate
from shipmate.server.guard.host import AllowedHosts, is_loopback
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
# Other servers have more under /v1; who looks for it is told what is here.
CLIENT_ADDRESSES = "There are POST /v1/chat/completions, GET /v1/models and GET /v1/models/{id}."
REFUSALS = {
    400: ("invalid", "The request cannot be understood."),
    404: ("not-found", "There is nothing at this address."),
    405: ("method", "This address does not take that method."),
    413: ("too-large", "The body is too large."),
}
SHUTDOWN_SECONDS = 3
BACKLOG = 1024

# What may come without being body: a head, the lengths of pieces, what follows the last one.
MARGIN_LIMIT = 64_000
RESPONSE_START = b"HTTP/1.1 "


def make_app(site: Site, hosts: AllowedHosts) -> ASGIApp:
    """Put the guard before the routes."""
    return Guard(
        make_routes(site),
        token=site.token,
        tickets=site.tickets,
        team=site.team,
        failures=site.failures,
        allowed=hosts,
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
    routes = [route for router in ROUTERS for route in router.routes]
    app.add_middleware(Entitlement, site=site, routes=routes)
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
        advice = CLIENT_ADDRESSES if path.startswith(CLIENT_PATHS) else "Read /docs."
        return respond(ApiError(error.status_code, code, message, advice, headers=headers), path)
    assert isinstance(error, ShipmateError)
    known = translate(error, str(get_site(request).layout.root))
    if known is None:
        error_id = new_id("err")
        log.error("%s %s %s", error_id, request.method, loggable(path), exc_info=error)
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


def open_socket(host: str, port: int) -> socket.socket:
    """Bind before anything else starts, so that a taken port is one clear line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
    except OSError as error:
        listening.close()
        words = f"cannot listen on {host} port {port}: {error.strerror or error}. Choose another with --port."
        raise UserError(words) from error
    listening.listen(BACKLOG)
    listening.setblocking(False)
    return listening


def address_of(listening: socket.socket, host: str) -> str:
    """Write the address a browser on this machine uses."""
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(host.strip("[]"), host)  # noqa: S104
    return f"http://{shown}:{port}"


async def serve(
    site: Site,
    host: str,
    port: int,
    *,
    names: Sequence[str] = (),
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve a site until the process is told to stop; `ready` gets the address once it answers."""
    check_reach(is_loopback(host), site.token)
    listening = open_socket(host, port)
    app = make_app(site, AllowedHosts(host, names))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        # Routes above the guard would see websockets we do not speak.
        ws="none",
        http=WebProtocol,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    server = WebListener(config, lambda: ready(address_of(listening, host)), site.streams.leave)
    try:
        await server.serve(sockets=[listening])
    finally:
        listening.close()


class WebListener(uvicorn.Server):
    """A web server that tells when it can answer, and stops without waiting for live streams."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], leave: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._leave = leave

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._leave()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._ready()


def quiet_logs() -> None:
    """Keep uvicorn's own words to what needs attention."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


class WebProtocol(HttpToolsProtocol):
    """One connection."""

    _margin = 0
    _is_upgrade = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        joined = JoiningTransport(cast("asyncio.Transport", transport), self.loop)
        super().connection_made(cast("asyncio.Transport", joined))

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._margin += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse()
        else:
            if self._margin > MARGIN_LIMIT:
                self._refuse()

    def on_headers_complete(self) -> None:
        self._margin = 0
        self._is_upgrade = self.parser.should_upgrade()
        if not self._is_upgrade:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._margin = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_upgrade:
            super().on_message_complete()

    def _decline_upgrade(self, rest: bytes) -> None:
        """Read a request without its wish to speak otherwise from then on: its body would be lost else."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse()
            return
        kept = [(name, value) for name, value in self.headers if name not in (b"upgrade", b"connection")]
        if any(name == b"connection" and b"close" in value.lower() for name, value in self.headers):
            kept.append((b"connection", b"close"))
        version = self.parser.get_http_version().encode()
        lines = [
            b"%b %b HTTP/%b" % (method, self.url, version),
            *(b"%b: %b" % each for each in kept),
            b"",
            b"",
        ]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join(lines) + rest)

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.send_400_response("Invalid HTTP request received.")


class JoiningTransport:
    """A transport that sends the head of an answer along with the first of its body: one packet, not two."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def write(self, data: bytes) -> None:
        """Send, but keep a head for as long as its body may follow at once."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif data.startswith(RESPONSE_START):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Send what is left and close."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _flush(self) -> None:
        head, self._head = self._head, b""
        if head:
            self._transport.write(head)
