"""Serve a workspace on 127.0.0.1 with a real uvicorn, inside the test's own event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import uvicorn

from shipmate.app import Shipmate
from shipmate.cli.workspace.doctor import examine
from shipmate.cli.workspace.init import EXAMPLES
from shipmate.models.port import Model
from shipmate.server.guard.access_token import Token
from shipmate.server.guard.host import AllowedHosts
from shipmate.server.port import Ship
from shipmate.server.site import Opener, Site
from shipmate.server.web import WebListener, WebProtocol, make_app
from tests.support.wait import LONG

AGENT = "# Mate\n\nYou are Mate, who answers tests.\n"


class Served:
    """Hold a running server: its site, its address and a client that is let in."""

    def __init__(self, site: Site, address: str, client: httpx2.AsyncClient) -> None:
        self.site = site
        self.address = address
        self.client = client

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.site.token.value}"}

    async def ship(self) -> Ship:
        return await self.site.ship()

    async def idle(self) -> None:
        """Wait until nothing is being worked on."""
        ship = await self.site.ship()
        assert isinstance(ship, Shipmate)
        await ship.keeper.idle()

    def stranger(self, **headers: str) -> httpx2.AsyncClient:
        """Give a client without any credential."""
        return httpx2.AsyncClient(base_url=self.address, headers=headers, trust_env=False, verify=False)


async def refuse_to_open(_: Path) -> Ship:
    """Stand for a workspace that a test never opens."""
    raise AssertionError("this test opens no workspace")


def make_site(root: Path, opener: Opener = refuse_to_open) -> Site:
    """Make a site as `shipmate serve` does."""
    token = Token.make(root / ".ship" / "token")
    return Site(root, opener=opener, examine=examine, examples=EXAMPLES, token=token)


@asynccontextmanager
async def serving(site: Site, *, listen: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[Served]:
    """Serve a site until the block ends."""
    family = socket.AF_INET6 if ":" in listen else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        # A server that comes back takes its port again though old connections linger.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((listen, port))
        port = listening.getsockname()[1]
        address = f"http://[{listen}]:{port}" if ":" in listen else f"http://{listen}:{port}"
        config = uvicorn.Config(
            make_app(site, AllowedHosts(listen)),
            log_config=None,
            ws="none",
            # As the product does: a head that waits for its body costs each request 40 ms.
            http=WebProtocol,
            timeout_graceful_shutdown=1,
        )
        started = asyncio.Event()
        server = WebListener(config, started.set, site.streams.leave)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        await started.wait()
        headers = {"authorization": f"Bearer {site.token.value}"}
        client = httpx2.AsyncClient(
            base_url=address, headers=headers, trust_env=False, verify=False, timeout=LONG
        )
        try:
            async with client:
                yield Served(site, address, client)
        finally:
            server.should_exit = True
            await task


def opener_for(model: Model) -> Opener:
    """Give what opens a workspace with a model of the test's own, and goes on with what was left undone."""

    async def open_ship(root: Path) -> Ship:
        return await Shipmate.open(root, model=model, environ={})

    return open_ship


def make_workspace(root: Path) -> Path:
    """Write a small workspace."""
    (root / "Agent.md").write_text(AGENT)
    (root / "a.md").write_text("alpha\n")
    (root / "b.md").write_text("beta\n")
    return root
