"""A workspace whose people write on Telegram."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.models.port import Model
from shipmate.tools.tool import Tool
from shipmate.tools.toolset import Toolset
from tests.support.bot_api import BotApi


@asynccontextmanager
async def open_bot(
    folder: Path,
    model: Model,
    telegram: BotApi,
    tools: Sequence[Tool[Any]] = (),
    *,
    names: Sequence[str] = ("helper",),
    config: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncGenerator[Shipmate]:
    """Open a workspace with a bot of Telegram for each name, to which everybody may talk, and listen."""
    while len(telegram.bots) < len(names):
        telegram.add_bot(f"{names[len(telegram.bots)]}_bot")
    (folder / "Agent.md").write_text("# Captain\n")
    common = {"kind": "telegram", "apiUrl": telegram.url, "open": True, **settings}
    environ = {f"TOKEN_{number}": bot.token for number, bot in enumerate(telegram.bots.values())}
    adapters = {name: {**common, "token": f"${{TOKEN_{number}}}"} for number, name in enumerate(names)}
    (folder / "ship.json").write_text(json.dumps({"adapters": adapters, **(config or {})}))
    ship = await Shipmate.open(folder, model=model, environ=environ, toolset=Toolset(tools))
    ship.listen()
    try:
        yield ship
    finally:
        await ship.close()
