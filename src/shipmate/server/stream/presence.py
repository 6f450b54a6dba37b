"""Work for a client only as long as it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """The client left before its answer was there."""


async def while_present(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Return what the work brings; when the client leaves first, cancel it and raise `ClientGoneError`."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_leave(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGoneError
        return working.result()
    finally:
        leaving.cancel()
        working.cancel()
        # What it opened is put away before the request counts as done.
        await asyncio.wait((working, leaving))


async def _leave(request: Request) -> None:
    """Return when the client is gone; the body of the request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
