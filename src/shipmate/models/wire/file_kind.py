"""Read what an attached file really is, because providers refuse a file whose bytes are not of its type."""

from __future__ import annotations

import base64
import binascii

from shipmate.models.neutral import FileBlock
from shipmate.models.wording import WORDING

PDF = "application/pdf"
# Text that goes by another name than text/….
TEXT_TYPES = frozenset(
    {
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/x-sh",
        "application/sql",
        "image/svg+xml",
    }
)


def media_type_of(block: FileBlock) -> str:
    """Return the type of a picture or PDF by its first bytes, empty for anything else."""
    head = _decode(block.data[:64])
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return PDF if head.startswith(b"%PDF-") else ""


def sound_of(block: FileBlock) -> str:
    """Return `wav` or `mp3` by the first bytes of a recording, empty for anything else."""
    head = _decode(block.data[:64])
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "wav"
    # A frame of layer III begins with eleven bits set; layer II and AAC have others in their place.
    is_frame = len(head) > 1 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2
    return "mp3" if head.startswith(b"ID3") or is_frame else ""


def text_in(block: FileBlock) -> str:
    """Return the words of a text file behind the line that names it, or that line alone."""
    if block.media_type.startswith("audio/"):
        return f"{block.line}\n{WORDING['unheard']}"
    if not (block.media_type.startswith("text/") or block.media_type in TEXT_TYPES):
        return block.line
    try:
        text = _decode(block.data).decode()
    except UnicodeDecodeError:
        return block.line
    return f"{block.line}\n{text}" if text.strip() else block.line


def _decode(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""
