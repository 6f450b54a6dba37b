"""A workspace whose people write on platforms that a test serves."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.models.port import Model
from shipmate.tools.tool import Tool
from shipmate.tools.toolset import Toolset


@asynccontextmanager
async def open_platforms(
    folder: Path,
    model: Model,
    adapters: Mapping[str, Mapping[str, Any]],
    tools: Sequence[Tool[Any]] = (),
    **config: Any,
) -> AsyncGenerator[Shipmate]:
    """Open a workspace with these adapters, to which everybody may talk, and listen."""
    (folder / "Agent.md").write_text("# Captain\n")
    open_to_all = {name: {"open": True, **settings} for name, settings in adapters.items()}
    (folder / "ship.json").write_text(json.dumps({"adapters": open_to_all, **config}))
    ship = await Shipmate.open(folder, model=model, environ={}, toolset=Toolset(tools))
    ship.listen()
    try:
        yield ship
    finally:
        await ship.close()
