"""Serve the routes of a platform on loopback.

async with serving_routes(routes) as url:
    ...
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.begun.set()


@asynccontextmanager
async def serving_routes(routes: Sequence[Route]) -> AsyncGenerator[str]:
    """Serve routes; give the address."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    app = Starlette(routes=routes)
    server = _Server(uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    await server.begun.wait()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
