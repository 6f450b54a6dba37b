"""Listen: open the socket, say where, serve until told to stop."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence

import uvicorn

from shipmate.errors import UserError
from shipmate.server.guard.access_token import check_reach
from shipmate.server.guard.host import AllowedHosts, is_loopback
from shipmate.server.site import Site
from shipmate.server.web import make_app

SHUTDOWN_SECONDS = 3
BACKLOG = 1024


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
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=64_000,
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
