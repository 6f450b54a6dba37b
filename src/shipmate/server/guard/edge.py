"""Contain what nobody foresaw: the caller gets an id, the log gets the traceback."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shipmate.server.guard.error import ApiError, respond
from shipmate.tools.file.sharing import SHARED_PATH
from shipmate.values.message import new_id

log = logging.getLogger("shipmate.server")


class Edge:
    """The process edge of one request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception:
            # Any bug of ours ends one request; it is reported in the log under the id the caller gets.
            error_id = new_id("err")
            log.exception("%s %s %s", error_id, scope.get("method"), loggable(scope.get("path", "")))
            if begun or scope["type"] != "http":
                return
            await respond(unforeseen(error_id), scope["path"])(scope, receive, send)


def loggable(path: str) -> str:
    """Return a path as it may be logged: who has the address of a shared file can fetch it."""
    return f"{SHARED_PATH}…" if path.startswith(SHARED_PATH) else path


def unforeseen(error_id: str) -> ApiError:
    """Say that we failed, and under which id the log tells why."""
    return ApiError(
        500, "internal", "Something went wrong in Shipmate.", f"Look for {error_id} in the log.", id=error_id
    )
