"""Read how many pixels a picture says it has, from its first bytes: nothing is decoded for that."""

from __future__ import annotations

import struct

# Beyond this a small file unpacks to gigabytes, here, in a browser or at a provider.
PIXEL_LIMIT = 80_000_000
# A photo's other data stands before its size; this many pieces of it are stepped over.
SEGMENT_LIMIT = 10_000
# Markers of JPEG that say how large the picture is.
JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def has_too_many_pixels(data: bytes) -> bool:
    """Return whether a picture says it has more pixels than may be decoded."""
    width, height = read_dimensions(data)
    return width * height > PIXEL_LIMIT


def read_dimensions(data: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG, JPEG, GIF or WebP picture; zeros when it does not say."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack("<HH", data[6:10])
        if data.startswith(b"\xff\xd8"):
            return _read_jpeg(data)
        return _read_webp(data) if data[8:12] == b"WEBP" else (0, 0)
    except (struct.error, IndexError):
        return 0, 0


def _read_jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(SEGMENT_LIMIT):
        at = data.index(b"\xff", at) if b"\xff" in data[at : at + 64] else len(data)
        marker = data[at + 1]
        if marker in JPEG_SIZES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        stands_alone = marker in (0x00, 0x01, 0xFF) or 0xD0 <= marker <= 0xD8
        at += 1 if stands_alone else 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return 0, 0


def _read_webp(data: bytes) -> tuple[int, int]:
    kind, start = data[12:16], data[20:30]
    if kind == b"VP8X":
        return int.from_bytes(start[4:7], "little") + 1, int.from_bytes(start[7:10], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(start[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", start[6:10])
    return width & 0x3FFF, height & 0x3FFF
