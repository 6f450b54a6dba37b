"""Take files people attach, and give them back to the page."""

from __future__ import annotations

from pathlib import Path

from shipmate.errors import MediaError
from shipmate.server.guard.error import missing
from shipmate.workspace.dimension import PIXEL_LIMIT, has_too_many_pixels
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import Upload, find_file, keep_file

UPLOAD_LIMIT = 20_000_000
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
        "audio/mp4",
    }
)


def keep_upload(layout: Layout, data: bytes, filename: str) -> Upload:
    """Store a file a person sent; a picture is not decoded here, only its size is read."""
    if not data:
        raise MediaError("The file is empty. Choose another.")
    if len(data) > UPLOAD_LIMIT:
        raise MediaError(f"The file is larger than {UPLOAD_LIMIT // 1_000_000} MB. Choose a smaller one.")
    if has_too_many_pixels(data):
        raise MediaError(
            f"The picture has more than {PIXEL_LIMIT // 1_000_000} million pixels. Choose a smaller one."
        )
    return keep_file(layout, data, filename)


def find_upload(layout: Layout, upload_id: str) -> tuple[Upload, Path]:
    """Return a kept file's description and place."""
    found = find_file(layout, upload_id)
    if found is None:
        raise missing("such file")
    return found
