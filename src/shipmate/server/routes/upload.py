"""Take files people attach, and give them back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, File, Request, UploadFile
from starlette.responses import FileResponse, Response

from shipmate.server.guard.error import missing
from shipmate.server.routes.reach.shared import hand_out
from shipmate.server.shape import Json, tells
from shipmate.server.site import TheShip
from shipmate.workspace.upload import UPLOAD_LIMIT, Upload, Uploads, keep_upload

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


router = APIRouter(tags=["files"])


@router.post("/api/uploads", status_code=201, openapi_extra=tells(Upload))
async def upload_file(ship: TheShip, file: Annotated[UploadFile, File()]) -> Response:
    """Keep one attached file of at most 20 MB."""
    data = await file.read(UPLOAD_LIMIT + 1)
    return Json(keep_upload(ship.uploads, data, file.filename or ""), 201)


@router.get("/api/files/{file_id}", response_class=FileResponse)
async def read_upload(ship: TheShip, file_id: str, request: Request) -> Response:
    """Return an attached file; only pictures and sound are shown in place."""
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
