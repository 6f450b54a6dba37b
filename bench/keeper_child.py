"""Keep a workspace whose model says the time, fifty times a second."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from shipmate.app import Shipmate
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta
from shipmate.tools.toolset import Toolset

CHUNKS, PAUSE = 200, 0.02


class ClockModel:
    """A model that says what time it is."""

    name = "clock"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        del request
        for _ in range(CHUNKS):
            yield TextDelta(f"{time.time()} ")
            await asyncio.sleep(PAUSE)
        yield Finish("stop")


async def main() -> None:
    """Keep until killed."""
    ship = await Shipmate.open(Path(sys.argv[1]), model=ClockModel(), environ={}, toolset=Toolset([]))
    assert ship.keeper.keeps
    print("ready", flush=True)
    await asyncio.get_running_loop().create_future()


asyncio.run(main())
