"""Decode pictures with Pillow, in a child process: a small file may unpack to gigabytes or keep it busy."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

from shipmate.context.media import EDGE_LIMIT
from shipmate.errors import MediaError
from shipmate.workspace.dimension import PIXEL_LIMIT

if TYPE_CHECKING:
    from PIL import Image

# By these alone; Pillow knows dozens of others, some of which call programs.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# Base64 adds a third, and providers refuse images past 5 MB.
SENT_LIMIT = 3_700_000
# Scaling a picture that can be seen through holds it twice; above this its pixels are thinned out first.
THIN_LIMIT = 20_000_000


def prepare(data: bytes, *, media_type: str, name: str) -> bytes:
    """Check that a picture can be decoded and scale it down if it is large.

    Returns the media type, a line break and the bytes to send; no bytes when it can be sent as it is.
    """
    from PIL import Image

    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            kind, sent = _scale(image, media_type, len(data), name)
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise MediaError(f"{name} is a damaged image: {error}. Save it again.") from error
    return kind.encode() + b"\n" + sent


def _scale(image: Image.Image, media_type: str, size: int, name: str) -> tuple[str, bytes]:
    if image.width * image.height > PIXEL_LIMIT:
        raise MediaError(
            f"{name} has {image.width} × {image.height} pixels, too many: {PIXEL_LIMIT // 1_000_000} million "
            "are the most. Give a smaller image."
        )
    if max(image.size) <= EDGE_LIMIT and size <= SENT_LIMIT:
        image.load()
        return media_type, b""
    from PIL import ImageOps
    from PIL.Image import Resampling

    # Small first: turning a large picture upright would hold it twice.
    if image.width * image.height > THIN_LIMIT and "A" in image.getbands():
        image.thumbnail((4 * EDGE_LIMIT, 2 * EDGE_LIMIT), Resampling.NEAREST)
    image.thumbnail((EDGE_LIMIT, EDGE_LIMIT))
    return _save(ImageOps.exif_transpose(image), media_type)


def _save(image: Image.Image, media_type: str) -> tuple[str, bytes]:
    """Save a scaled image as PNG if it was one and stays small, else as JPEG."""
    if media_type == "image/png":
        drawn = io.BytesIO()
        image.save(drawn, "PNG")
        if drawn.tell() <= SENT_LIMIT:
            return "image/png", drawn.getvalue()
    taken = io.BytesIO()
    image.convert("RGB").save(taken, "JPEG", quality=85)
    return "image/jpeg", taken.getvalue()
