"""Take files people attach, and give them back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, File, Request, UploadFile
from starlette.responses import FileResponse, Response

from shipmate.server.guard.error import missing
from shipmate.server.guard.viewer import sees, viewer
from shipmate.server.port import Ship, read_if_there
from shipmate.server.routes.reach.shared import hand_out
from shipmate.server.shape import Json, tells
from shipmate.server.site import TheShip
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.upload import ADDRESS, UPLOAD_LIMIT, Upload, Uploads, keep_upload

# Shown in place by a browser; none of these can run a script.
SHOWN = frozenset(
    {
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "audio/webm",
        "audio/ogg",
        "audio/wav",
        "audio/mpeg",
        "audio/flac",
        "audio/mp4",
    }
)


def find_upload(uploads: Uploads, upload_id: str) -> tuple[Upload, Path]:
    """Return a kept file's description and place."""
    found = uploads.find(upload_id)
    if found is None:
        raise missing("such file")
    return found


# How many threads are looked through for a file.
LOOKED_THROUGH = 200


async def check_file(ship: Ship, url: str) -> None:
    """Refuse a kept file that somebody of a team neither sent nor finds in a thread that is theirs."""
    asking, file_id = viewer(), url.removeprefix(ADDRESS)
    if asking.has("admin") or not url.startswith(ADDRESS):
        return
    if (share := ship.shares.find(file_id)) is not None and await sees(ship, share.thread_id):
        return
    upload, _ = find_upload(ship.uploads, file_id)
    if upload.owner == asking.uid or await _is_in_thread(ship, url):
        return
    raise missing("such file")


async def _is_in_thread(ship: Ship, url: str) -> bool:
    """Look through the threads of somebody, the one that changed last first."""
    for info in await ship.store.threads.list(archived=None, limit=LOOKED_THROUGH, viewer=viewer().filter):
        thread = await read_if_there(ship, ThreadId.parse(info.thread_id))
        rows = thread.messages if thread is not None else []
        if any(part.get("url") == url for row in rows for part in row["parts"]):
            return True
    return False


router = APIRouter(tags=["files"])


@router.post("/api/uploads", status_code=201, openapi_extra=tells(Upload))
async def upload_file(ship: TheShip, file: Annotated[UploadFile, File()]) -> Response:
    """Keep one attached file of at most 20 MB."""
    data = await file.read(UPLOAD_LIMIT + 1)
    return Json(keep_upload(ship.uploads, data, file.filename or "", viewer().uid), 201)


@router.get("/api/files/{file_id}", response_class=FileResponse)
async def read_upload(ship: TheShip, file_id: str, request: Request) -> Response:
    """Return an attached file; only pictures and sound are shown in place."""
    await check_file(ship, f"{ADDRESS}{file_id}")
    if (share := ship.shares.find(file_id)) is not None:
        return await hand_out(ship, share, request)
    upload, path = find_upload(ship.uploads, file_id)
    shown = upload.media_type in SHOWN
    response = FileResponse(
        path,
        media_type=upload.media_type if shown else "application/octet-stream",
        filename=upload.filename,
        content_disposition_type="inline" if shown else "attachment",
    )
    response.headers["content-security-policy"] = "default-src 'none'; sandbox"
    response.headers["cache-control"] = "private, max-age=86400, immutable"
    return response
