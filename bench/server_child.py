"""Serve a workspace whose model speaks at a steady pace, each word carrying the moment it was spoken."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from shipmate.app import Shipmate
from shipmate.cli.workspace.doctor import examine
from shipmate.cli.workspace.init import EXAMPLES
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta
from shipmate.server.guard.access_token import Token
from shipmate.server.site import Site
from shipmate.server.web import serve
from shipmate.tools.toolset import Toolset


class SteadyModel:
    """Speak so many words a second; a word is the moment it was spoken, in nanoseconds."""

    name = "steady"

    def __init__(self, rate: float, seconds: float) -> None:
        self._gap = 1 / rate
        self._count = int(rate * seconds)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        start = time.monotonic()
        for number in range(self._count):
            await asyncio.sleep(max(0.0, start + number * self._gap - time.monotonic()))
            yield TextDelta(f"{time.monotonic_ns()} ")
        yield Finish("stop")


async def main(root: Path, rate: float, seconds: float) -> None:
    """Serve until the process is ended."""

    async def open_ship(folder: Path) -> Shipmate:
        return await Shipmate.open(folder, model=SteadyModel(rate, seconds), environ={}, toolset=Toolset([]))

    token = Token.make(root / ".ship" / "token")
    site = Site(root, opener=open_ship, examine=examine, examples=EXAMPLES, token=token)
    await serve(site, "127.0.0.1", 0, ready=lambda address: print(address, flush=True))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])))
