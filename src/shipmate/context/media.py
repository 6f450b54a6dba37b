"""Turn image files into data URLs: known by their content, never larger than a provider takes."""

from __future__ import annotations

import base64
import io
import os
import stat
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shipmate.errors import MediaError
from shipmate.workspace.upload import media_type_of

if TYPE_CHECKING:
    from PIL import Image

COUNT_LIMIT = 20
BYTES_LIMIT = 20 * 1024 * 1024
# Providers scale down to about this edge themselves, and bill for what was sent.
EDGE_LIMIT = 1568
# Base64 adds a third, and providers refuse images past 5 MB.
SENT_LIMIT = 3_700_000
# Beyond this a small file may unpack to gigabytes.
PIXEL_LIMIT = 80_000_000
# Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)


def sniff(data: bytes) -> str | None:
    """Give the media type of an image by its first bytes; None when it is none a provider takes."""
    media_type = media_type_of(data)
    return media_type if media_type.startswith("image/") else None


def read_images(paths: Sequence[str | Path]) -> list[str]:
    """Read images as data URLs, in order."""
    if len(paths) > COUNT_LIMIT:
        raise MediaError(f"{len(paths)} images are too many. Attach at most {COUNT_LIMIT}.")
    return [read_image(path) for path in paths]


def read_image(path: str | Path) -> str:
    """Read one image file as a data URL, scaled down when it is large."""
    place = Path(path).expanduser()
    try:
        with os.fdopen(os.open(place, READ_FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise MediaError(f"{place} is not a file. Give a PNG, JPEG, GIF or WebP image.")
            data = file.read(BYTES_LIMIT + 1)
    except OSError as error:
        raise MediaError(f"{place} cannot be read: {error.strerror}. Check the path.") from error
    return encode_image(data, str(place))


def encode_image(data: bytes, name: str) -> str:
    """Make a data URL of an image's bytes; `name` is what errors call it."""
    if len(data) > BYTES_LIMIT:
        raise MediaError(f"{name} is larger than {BYTES_LIMIT // 1024 // 1024} MB. Give a smaller image.")
    media_type = sniff(data)
    if media_type is None:
        raise MediaError(
            f"{name} is no PNG, JPEG, GIF or WebP image. Attach one, or let `read` open the file."
        )
    data, media_type = _prepare(data, media_type, name)
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def _prepare(data: bytes, media_type: str, name: str) -> tuple[bytes, str]:
    """Check that an image can be decoded, and scale it down if it is large."""
    from PIL import Image, ImageOps

    try:
        with _quiet(Image.DecompressionBombWarning), Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > PIXEL_LIMIT:
                raise MediaError(
                    f"{name} has {image.width} × {image.height} pixels, too many. Give a smaller image."
                )
            image.load()
            if max(image.size) <= EDGE_LIMIT and len(data) <= SENT_LIMIT:
                return data, media_type
            upright = ImageOps.exif_transpose(image)
            upright.thumbnail((EDGE_LIMIT, EDGE_LIMIT))
            return _save(upright, media_type)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise MediaError(f"{name} is a damaged image: {error}. Save it again.") from error


@contextmanager
def _quiet(warning: type[Warning]) -> Generator[None]:
    """Silence a warning about what is checked here anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", warning)
        yield


def _save(image: Image.Image, media_type: str) -> tuple[bytes, str]:
    """Save a scaled image as PNG if it was one and stays small, else as JPEG."""
    if media_type == "image/png":
        drawn = io.BytesIO()
        image.save(drawn, "PNG")
        if drawn.tell() <= SENT_LIMIT:
            return drawn.getvalue(), "image/png"
    taken = io.BytesIO()
    image.convert("RGB").save(taken, "JPEG", quality=85)
    return taken.getvalue(), "image/jpeg"
