"""A workspace whose people write on a platform of memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shipmate.adapters.memory_platform import MemoryAdapter, MemoryPlatform
from shipmate.app import Shipmate
from shipmate.models.port import Model
from shipmate.tools.tool import Tool
from shipmate.tools.toolset import Toolset


@asynccontextmanager
async def open_chat(
    folder: Path,
    model: Model,
    tools: Sequence[Tool[Any]] = (),
    *,
    adapter: dict[str, Any] | None = None,
    platform: MemoryPlatform | None = None,
    **config: Any,
) -> AsyncGenerator[tuple[Shipmate, MemoryPlatform]]:
    """Open a workspace with an adapter `memory` that everybody may talk to, and listen.

    A platform that is given was there before, as after a restart.
    """
    (folder / "Agent.md").write_text("# Captain\n")
    settings = {"kind": "memory", "open": True, **(adapter or {})}
    (folder / "ship.json").write_text(json.dumps({"adapters": {"memory": settings}, **config}))
    ship = await Shipmate.open(folder, model=model, environ={}, toolset=Toolset(tools))
    found = ship.adapters.find("memory")
    assert isinstance(found, MemoryAdapter)
    if platform is not None:
        found.platform = platform
    ship.listen()
    try:
        yield ship, found.platform
    finally:
        await ship.close()


@asynccontextmanager
async def until_begun(ship: Shipmate, thread_id: str) -> AsyncGenerator[None]:
    """Do something that starts a run, and go on once it tells something."""
    async with ship.keeper.watch(thread_id) as queue:
        yield
        await asyncio.wait_for(queue.get(), 20)
