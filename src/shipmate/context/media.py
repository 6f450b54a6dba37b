"""Turn image files into data URLs: known by their content, never larger than a provider takes."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from shipmate.decoding.worker import Work, call, call_aside
from shipmate.errors import DecodingError, MediaError
from shipmate.workspace.upload import media_type_of

COUNT_LIMIT = 20
BYTES_LIMIT = 20 * 1024 * 1024
# Providers scale down to about this edge themselves, and bill for what was sent.
EDGE_LIMIT = 1568
# A picture of 80 million pixels takes 320 MB while it is decoded.
DECODE = Work(
    function="shipmate.context.picture:prepare", subject="The image", seconds=8.0, memory=500_000_000
)
# Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)


def sniff(data: bytes) -> str | None:
    """Return the media type of an image by its first bytes; None when it is none a provider takes."""
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
    media_type = check_kind(data, name)
    try:
        answer = call(DECODE, data, media_type=media_type, name=name)
    except DecodingError as error:
        raise MediaError(str(error)) from error
    kind, _, sent = answer.partition(b"\n")
    return f"data:{kind.decode()};base64,{base64.b64encode(sent or data).decode()}"


async def check_image(data: bytes, name: str) -> str:
    """Return an image's media type after decoding it; raises MediaError when that cannot be done."""
    media_type = check_kind(data, name)
    try:
        await call_aside(DECODE, data, media_type=media_type, name=name)
    except DecodingError as error:
        raise MediaError(str(error)) from error
    return media_type


def check_kind(data: bytes, name: str) -> str:
    """Return an image's media type by its first bytes; raises MediaError when it is none or too long."""
    if len(data) > BYTES_LIMIT:
        raise MediaError(f"{name} is larger than {BYTES_LIMIT // 1024 // 1024} MB. Give a smaller image.")
    media_type = sniff(data)
    if media_type is None:
        raise MediaError(
            f"{name} is no PNG, JPEG, GIF or WebP image. Attach one, or let `read` open the file."
        )
    return media_type
