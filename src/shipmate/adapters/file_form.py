"""Write a form with one file as platforms take it, reading the file while it is sent."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec

from shipmate.delivery.adapter import OutgoingFile
from shipmate.errors import SendRefusedError
from shipmate.models.wire.http.outgoing import StreamedContent

PIECE_BYTES = 256 * 1024


def make_form(name: str, file: OutgoingFile, values: Mapping[str, Any]) -> tuple[str, StreamedContent]:
    """Return the media type of a form and its content; the file is the field `name`."""
    boundary = secrets.token_hex(16)
    fields = [_write_field(boundary, key, value) for key, value in values.items()]
    media_type = file.media_type if file.media_type.isascii() and file.media_type.isprintable() else ""
    head = (
        f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"; filename="{_quote(file.filename)}"'
        f"\r\ncontent-type: {media_type or 'application/octet-stream'}\r\n\r\n"
    ).encode()
    start = b"".join([*fields, head])
    end = f"\r\n--{boundary}--\r\n".encode()

    async def read() -> AsyncGenerator[bytes]:
        yield start
        async for piece in read_pieces(file):
            yield piece
        yield end

    size = len(start) + file.size + len(end)
    return f"multipart/form-data; boundary={boundary}", StreamedContent(size, read)


async def read_pieces(file: OutgoingFile) -> AsyncGenerator[bytes]:
    """Go over a file, which must have the size that was told."""
    left = file.size
    try:
        with await asyncio.to_thread(file.path.open, "rb") as source:
            while left and (piece := await asyncio.to_thread(source.read, min(PIECE_BYTES, left))):
                left -= len(piece)
                yield piece
    except OSError as error:
        # Half of a form is none: every platform drops it.
        raise SendRefusedError(f"{file.filename} cannot be read: {error.strerror}") from None
    if left:
        raise SendRefusedError(f"{file.filename} changed while it was sent")


def _write_field(boundary: str, key: str, value: Any) -> bytes:
    data = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
    return f'--{boundary}\r\ncontent-disposition: form-data; name="{key}"\r\n\r\n'.encode() + data + b"\r\n"


def _quote(name: str) -> str:
    """Return a file's name that cannot end its quotes or its line."""
    shown = "".join(char if char.isprintable() else "_" for char in name)
    return shown.replace("\\", "_").replace('"', "%22") or "file"
