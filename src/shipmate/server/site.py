"""Hold what every route needs: the workspace, composed when it has an Agent.md, and who may come in."""

from __future__ import annotations

import asyncio
import gzip
import mimetypes
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Protocol, TypeAlias

from fastapi import Depends, Request
from starlette.responses import Response

from shipmate.errors import ThreadIdError
from shipmate.priming.library import Library
from shipmate.server.guard.access_token import Tickets, Token
from shipmate.server.guard.error import ApiError, missing
from shipmate.server.guard.rate import RateLimit
from shipmate.server.guard.security import SLASH
from shipmate.server.metric import Metrics
from shipmate.server.port import Ship
from shipmate.server.quota import Quota
from shipmate.server.stream.news import News
from shipmate.server.stream.stream import Streams
from shipmate.team.team import Team, open_team
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.settings.team_settings import OidcSettings

FOLDER = Path(__file__).with_name("page")
LASTING = "public, max-age=31536000, immutable"
SMALL = 1_000
PLATFORM = "web"
ID_LIMIT = 200


class BuiltPage:
    """The page's files; an address without a file is one of the page's own views."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[str, tuple[int, Response, Response]] = {}

    def answer(self, request: Request) -> Response:
        """Return a file, or the page itself for any address the page routes."""
        name = request.url.path.lstrip("/") or "index.html"
        index = self._inside("index.html")
        if index is None:
            raise ApiError(
                503, "no-page", "The page is not built.", "Run `make page`; the API works without it."
            )
        path = self._inside(name)
        if path is None and "." in name.rpartition("/")[2]:
            raise missing("such file")
        plain, packed = self._load(path or index)
        return packed if "gzip" in request.headers.get("accept-encoding", "") else plain

    def _inside(self, name: str) -> Path | None:
        path = (self._folder / name).resolve() if "\0" not in name else self._folder
        return path if path.is_file() and path.is_relative_to(self._folder.resolve()) else None

    def _load(self, path: Path) -> tuple[Response, Response]:
        stamp = path.stat().st_mtime_ns
        known = self._files.get(str(path))
        if known is None or known[0] != stamp:
            known = (stamp, *_responses(path))
            self._files[str(path)] = known
        return known[1], known[2]


def _responses(path: Path) -> tuple[Response, Response]:
    data = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {
        "cache-control": LASTING if path.parent.name == "assets" else "no-cache",
        "vary": "accept-encoding",
    }
    plain = Response(data, headers=headers, media_type=media_type)
    if len(data) < SMALL or media_type.startswith(("image/", "font/")):
        return plain, plain
    packed = Response(
        gzip.compress(data, 6, mtime=0), headers=headers | {"content-encoding": "gzip"}, media_type=media_type
    )
    return plain, packed


Opener: TypeAlias = Callable[[Path], Awaitable[Ship]]
Examiner: TypeAlias = Callable[[Layout], Awaitable[Sequence[Finding]]]


class Door(Protocol):
    """What answers programs that speak MCP."""

    async def take(self, data: bytes, session: str) -> tuple[bytes | None, str]:
        """Take a message; return its answer, if it wants one, and the session to go on with."""
        ...


class Site:
    """One served workspace. Without an Agent.md only the first-run routes answer."""

    def __init__(
        self,
        root: Path,
        *,
        opener: Opener,
        examine: Examiner,
        examples: Path,
        token: Token,
        team: Team | None = None,
    ) -> None:
        self.layout = Layout.at(root)
        self.team = team or open_team(self.layout)
        self.quota = Quota(self.team)
        self.examine = examine
        # The folder of Agent.md texts a new workspace can begin with.
        self.examples = examples
        self.token = token
        # Made with the workspace, by whoever opens it.
        self.door: Door | None = None
        self.tickets = Tickets()
        # Failed tries to prove who is asking; those who succeed are never held up by them.
        self.failures = RateLimit(rate=0.5, burst=20)
        # Tries of passwords by the name they are for.
        self.guesses = RateLimit(rate=0.1, burst=10)
        self.page = BuiltPage()
        self.library = Library(self.layout)
        self.metrics = Metrics()
        self.streams = Streams()
        self.news = News()
        self.started = time.monotonic()
        self._opener = opener
        self._ship: Ship | None = None
        self._opening = asyncio.Lock()

    def oidc_settings(self) -> OidcSettings | None:
        """Return where people of the team sign in, when ship.json names it."""
        return load_config(self.layout).config.team.oidc

    def public_url(self) -> str | None:
        """Return where others reach this server."""
        return load_config(self.layout).config.server.public_url

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


# FastAPI sends what is not async to a thread, which takes longer than all of it.
async def _get_site(request: Request) -> Site:
    return get_site(request)


async def get_ship(request: Request) -> Ship:
    """Find the composed workspace, or say that it must be set up first."""
    return await get_site(request).ship()


TheSite: TypeAlias = Annotated[Site, Depends(_get_site)]
TheShip: TypeAlias = Annotated[Ship, Depends(get_ship)]


def thread_of(text: str) -> ThreadId:
    """Read a thread id; any other id names a room of the web."""
    try:
        return ThreadId.parse(text)
    except ThreadIdError:
        return ThreadId(PLATFORM, "room", text)


def thread_at(segment: str) -> ThreadId:
    """Read a thread id from a segment of an address, where a slash is written as the guard keeps it."""
    return thread_of(segment.replace(SLASH, "/"))


def new_room() -> ThreadId:
    """Return the id of a new thread of the web."""
    return ThreadId(PLATFORM, "room", uuid.uuid4().hex)
