"""Let people of a team through to the routes their role has, and to the threads that are theirs.

What stands nowhere here is for admins alone, so that a new route is closed until somebody opens it.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from shipmate.errors import ShipmateError
from shipmate.server.guard.error import ApiError, respond, translate
from shipmate.server.guard.security import is_guarded
from shipmate.server.guard.viewer import check_sight, forbidden, viewer
from shipmate.server.site import Site, thread_at
from shipmate.team.user import Role

THREAD = "/api/threads/{thread_id}"
# Each with the least role that may ask. Where an address names a thread, it must be theirs too.
ENTITLED: dict[str, Role] = {
    "GET /openapi.json": "guest",
    "GET /docs": "guest",
    "GET /api/session": "guest",
    "POST /api/logout": "guest",
    "GET /api/account/tokens": "guest",
    "POST /api/account/tokens": "guest",
    "DELETE /api/account/tokens/{key_id}": "guest",
    "POST /api/account/password": "guest",
    "GET /v1/models": "guest",
    "GET /v1/models/{model_id}": "guest",
    "POST /v1/chat/completions": "guest",
    "POST /api/chat": "guest",
    "GET /api/chat/{thread_id}/stream": "guest",
    "GET /api/events": "guest",
    "GET /api/search": "guest",
    "POST /api/uploads": "guest",
    "GET /api/files/{file_id}": "guest",
    "GET /api/approvals": "guest",
    "GET /api/approvals/{approval_id}": "guest",
    "POST /api/approvals": "member",
    "POST /api/approvals/{approval_id}": "member",
    "GET /api/usage": "guest",
    "GET /api/threads": "guest",
    "POST /api/threads": "guest",
    f"GET {THREAD}": "guest",
    f"PATCH {THREAD}": "guest",
    f"DELETE {THREAD}": "guest",
    f"POST {THREAD}/restore": "guest",
    f"GET {THREAD}/messages": "guest",
    f"GET {THREAD}/sharing": "guest",
    f"PUT {THREAD}/sharing": "guest",
    f"POST {THREAD}/branch": "guest",
    f"POST {THREAD}/stop": "guest",
    f"POST {THREAD}/steer": "guest",
    f"GET {THREAD}/queue": "guest",
    f"POST {THREAD}/queue": "guest",
    f"DELETE {THREAD}/queue/{{message_id}}": "guest",
    f"POST {THREAD}/courses": "guest",
    f"POST {THREAD}/compact": "guest",
    f"GET {THREAD}/pins": "guest",
    f"POST {THREAD}/pins": "guest",
    f"DELETE {THREAD}/pins/{{number}}": "guest",
    f"GET {THREAD}/context": "member",
    f"GET {THREAD}/context/turns/{{turn}}": "member",
    f"GET {THREAD}/context/diff": "member",
    "GET /api/runs/{run_id}/changes": "member",
    "POST /api/runs/{run_id}/rewind": "member",
    "GET /api/skills": "member",
    "GET /api/skills/{name}": "member",
    "GET /api/priming/recent": "member",
    "GET /api/priming/search": "member",
    "GET /api/priming/scripts": "member",
}


class Entitlement:
    """The second guard: whoever it lets through may ask what they ask. The owner and admins always may."""

    def __init__(self, app: ASGIApp, *, site: Site, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._site = site
        self._routes = [route for route in routes if isinstance(route, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not viewer().has("admin") and is_guarded(scope["path"]):
            try:
                await self._check(scope)
            except ApiError as error:
                await respond(error, scope["path"])(scope, receive, send)
                return
            except ShipmateError as error:
                known = translate(error, str(self._site.layout.root))
                if known is None:
                    raise
                await respond(known, scope["path"])(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _check(self, scope: Scope) -> None:
        path, given = self._match(scope)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        least = ENTITLED.get(f"{method} {path}")
        if least is None or not viewer().has(least):
            raise forbidden()
        if "thread_id" in given:
            ship = await self._site.ship()
            check_sight(await ship.store.threads.find(str(thread_at(given["thread_id"]))))

    def _match(self, scope: Scope) -> tuple[str, dict[str, str]]:
        """Find the route that will answer, in the very way and order in which it will be found."""
        for route in self._routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                return route.path, found["path_params"]
        raise forbidden("There is nothing for you at this address.")
