"""Pictures that unpack, lie or break are refused, and their decoding never costs this process."""

from __future__ import annotations

import io
import resource
import struct
import zlib

import pytest
from PIL import Image

from shipmate.context.media import check_image, encode_image
from shipmate.errors import MediaError
from shipmate.workspace.dimension import has_too_many_pixels, read_dimensions


def png(width: int, height: int, data: bytes = b"", extra: bytes = b"") -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + extra + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(60_000, 60_000), (2**31 - 1, 1), (1, 2**31 - 1), (9_000, 9_000)])
def test_too_many_pixels_are_refused_before_any_is_decoded(size: tuple[int, int]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(MediaError):
        encode_image(png(*size, bytes(1_000)), "bomb.png")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


async def test_a_large_picture_is_decoded_elsewhere() -> None:
    data = io.BytesIO()
    Image.new("L", (8_000, 8_000)).save(data, "PNG")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert await check_image(data.getvalue(), "large.png") == "image/png"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM", "ICO", "TGA"])
def test_other_formats_are_no_images_here(kind: str) -> None:
    data = io.BytesIO()
    Image.new("RGB", (8, 8)).save(data, kind)
    with pytest.raises(MediaError, match="no PNG, JPEG"):
        encode_image(data.getvalue(), "x")


def test_what_only_begins_like_an_image_is_refused() -> None:
    for data in (
        b"\x89PNG\r\n\x1a\n" + b"\0" * 100,
        b"GIF89a" + b"\xff" * 5_000,
        b"\xff\xd8\xff" + b"\0" * 5_000,
        b"RIFF\xff\xff\xff\xffWEBPVP8X" + b"\xff" * 200,
        png(500, 500, b"\0" * 100),
    ):
        with pytest.raises(MediaError):
            encode_image(data, "fake")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_the_size_is_read_without_decoding(kind: str) -> None:
    data = io.BytesIO()
    Image.new("RGB", (123, 45)).save(data, kind)
    assert read_dimensions(data.getvalue()) == (123, 45)
    for length in range(40):
        read_dimensions(data.getvalue()[:length])
    assert not has_too_many_pixels(data.getvalue())


def test_a_frame_count_without_end_costs_one_frame() -> None:
    data = io.BytesIO()
    frames = [Image.new("L", (20, 20), shade) for shade in range(200)]
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:])
    assert encode_image(data.getvalue(), "film.gif").startswith("data:image/gif")
