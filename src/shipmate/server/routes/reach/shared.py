"""Hand out shared files to whoever has their address, and show and take back what is shared."""

from __future__ import annotations

import asyncio
import os
import re
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.errors import NotFoundError
from shipmate.server.guard.error import ApiError
from shipmate.server.port import Ship
from shipmate.server.shape import Answer, Json, empty, tells
from shipmate.server.site import TheShip
from shipmate.tools.file.sharing import SHARED_PATH, Share

PIECE = 256 * 1024
RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
router = APIRouter(tags=["platforms"])


class ShareView(Answer):
    """A file that can be fetched by its address; the address itself stands in its message alone."""

    id: str
    path: str
    bytes: int
    thread_id: str
    created_at: str
    expires_at: str


class ShareList(Answer):
    """What can be fetched, oldest first."""

    shared: list[ShareView]


@router.get("/api/shared", openapi_extra=tells(ShareList))
async def read_shares(ship: TheShip) -> Response:
    """List the files that can be fetched by an address."""
    shared = await asyncio.to_thread(ship.shares.list)
    return Json(ShareList(shared=[_show(share) for share in shared]))


@router.delete("/api/shared/{share_id}", status_code=204)
async def revoke_share(ship: TheShip, share_id: str) -> Response:
    """Take an address back: nobody can fetch by it any more."""
    await asyncio.to_thread(ship.shares.revoke, share_id)
    return empty()


@router.get(
    f"{SHARED_PATH}{{ticket}}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, 206: {}, 416: {}},
    openapi_extra={"security": []},
)
@router.head(f"{SHARED_PATH}{{ticket}}", include_in_schema=False)
async def read_shared(request: Request, ship: TheShip, ticket: str) -> Response:
    """Return a shared file, or a part of it; whoever has the address may."""
    share = await asyncio.to_thread(ship.shares.redeem, ticket)
    if share is None:
        raise NotFoundError("nothing is shared at this address, or not any more.")
    return await hand_out(ship, share, request)


async def hand_out(ship: Ship, share: Share, request: Request) -> Response:
    """Answer with the very file that was shared."""
    asked = _range(request, share)
    handle = await asyncio.to_thread(ship.shares.open, share)
    return FilePiece(handle, share, asked, is_head=request.method == "HEAD")


def _range(request: Request, share: Share) -> range | None:
    """Return the part that is asked for; None for the whole, also where a request cannot be understood."""
    if request.headers.get("if-range", _tag(share)) != _tag(share):
        return None
    match = RANGE.fullmatch(request.headers.get("range", ""))
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        part = range(max(0, share.size - int(last)), share.size)
    else:
        part = range(int(first), min(int(last) + 1, share.size) if last else share.size)
    if not part:
        headers = {"content-range": f"bytes */{share.size}"}
        raise ApiError(416, "invalid", "The file has no such part.", "Ask for less.", headers=headers)
    return part


def _tag(share: Share) -> str:
    return f'"{share.sha256}"'


class FilePiece(Response):
    """The bytes of an opened file, read as they are sent; closed in the end."""

    def __init__(self, handle: int, share: Share, asked: range | None, *, is_head: bool) -> None:
        self._handle = handle
        self._part = asked or range(share.size)
        self._is_head = is_head
        headers = {
            "content-length": str(len(self._part)),
            "content-disposition": f"attachment; filename*=utf-8''{quote(share.filename, safe='')}",
            "content-security-policy": "default-src 'none'; sandbox",
            "cache-control": "no-store",
            "accept-ranges": "bytes",
            "etag": _tag(share),
            "x-robots-tag": "noindex",
        }
        if asked is not None:
            headers["content-range"] = f"bytes {asked.start}-{asked.stop - 1}/{share.size}"
        status = 200 if asked is None else 206
        super().__init__(None, status, headers, media_type="application/octet-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, and unless only that was asked for the bytes, a piece at a time."""
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            place, end = self._part.start, self._part.start if self._is_head else self._part.stop
            while place < end:
                piece = await asyncio.to_thread(os.pread, self._handle, min(PIECE, end - place), place)
                if not piece:
                    # Somebody cuts it off right now; the client sees that less came than was said.
                    break
                place += len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            os.close(self._handle)


def _show(share: Share) -> ShareView:
    return ShareView(
        id=share.id,
        path=share.path,
        bytes=share.size,
        thread_id=share.thread_id,
        created_at=share.created_at,
        expires_at=share.expires_at,
    )
