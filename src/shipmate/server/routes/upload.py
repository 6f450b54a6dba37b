"""Take files people attach, and give them back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, UploadFile
from starlette.responses import FileResponse, Response

from shipmate.server.json_response import Json, tells
from shipmate.server.site import TheShip
from shipmate.server.upload import SHOWN, UPLOAD_LIMIT, find_upload, keep_upload

router = APIRouter(tags=["files"])


@router.post("/api/uploads", status_code=201, openapi_extra=tells("Upload"))
async def upload_file(ship: TheShip, file: Annotated[UploadFile, File()]) -> Response:
    """Keep one attached file of at most 20 MB."""
    data = await file.read(UPLOAD_LIMIT + 1)
    return Json(keep_upload(ship.layout, data, file.filename or ""), 201)


@router.get("/api/files/{file_id}", response_class=FileResponse)
async def read_upload(ship: TheShip, file_id: str) -> Response:
    """Return an attached file; only pictures and sound are shown in place."""
    upload, path = find_upload(ship.layout, file_id)
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
