"""Hold what every route needs: the workspace, composed when it has an Agent.md, and who may come in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from shipmate.priming.library import Library
from shipmate.server.built_page import BuiltPage
from shipmate.server.guard.access_token import Tickets, Token
from shipmate.server.guard.error import ApiError
from shipmate.server.guard.rate import RateLimit
from shipmate.server.metric import Metrics
from shipmate.server.port import Ship
from shipmate.server.stream.stream import Streams
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout

Opener: TypeAlias = Callable[[Path], Awaitable[Ship]]
Examiner: TypeAlias = Callable[[Layout], Awaitable[Sequence[Finding]]]


class Site:
    """One served workspace. Without an Agent.md only the first-run routes answer."""

    def __init__(
        self, root: Path, *, opener: Opener, examine: Examiner, examples: Path, token: Token
    ) -> None:
        self.layout = Layout.at(root)
        self.examine = examine
        # The folder of Agent.md texts a new workspace can begin with.
        self.examples = examples
        self.token = token
        self.tickets = Tickets()
        # Failed tries to prove who is asking; those who succeed are never held up by them.
        self.failures = RateLimit(rate=0.5, burst=20)
        self.page = BuiltPage()
        self.library = Library(self.layout)
        self.metrics = Metrics()
        self.streams = Streams()
        self.started = time.monotonic()
        self._opener = opener
        self._ship: Ship | None = None
        self._opening = asyncio.Lock()

    def has_agent(self) -> bool:
        """Return whether the workspace can work."""
        return self.layout.is_workspace

    async def ship(self) -> Ship:
        """Return the composed workspace, composing it at first need."""
        if self._ship is not None:
            return self._ship
        if not self.has_agent():
            raise ApiError(409, "setup", "There is no Agent.md yet.", "Choose an example: POST /api/setup.")
        async with self._opening:
            if self._ship is None:
                self._ship = await self._opener(self.layout.root)
        return self._ship

    async def close(self) -> None:
        """End what runs and let go of the files."""
        if self._ship is not None:
            await self._ship.close()
            self._ship = None


def get_site(request: Request) -> Site:
    """Find the site a request belongs to."""
    site: Site = request.app.state.site
    return site


async def get_ship(request: Request) -> Ship:
    """Find the composed workspace, or say that it must be set up first."""
    return await get_site(request).ship()


TheSite: TypeAlias = Annotated[Site, Depends(get_site)]
TheShip: TypeAlias = Annotated[Ship, Depends(get_ship)]
