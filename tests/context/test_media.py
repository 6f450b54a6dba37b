from __future__ import annotations

import base64
import io
import os
from pathlib import Path

import pytest
from PIL import Image

from shipmate.context.media import BYTES_LIMIT, COUNT_LIMIT, EDGE_LIMIT, encode_image, read_image, read_images
from shipmate.errors import MediaError


def draw(kind: str, size: tuple[int, int] = (8, 6)) -> bytes:
    data = io.BytesIO()
    Image.effect_noise(size, 80).convert("RGB").save(data, kind)
    return data.getvalue()


def decode(url: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_the_content_decides_not_the_name(tmp_path: Path, kind: str) -> None:
    data = draw(kind)
    (tmp_path / "notes.txt").write_bytes(data)
    url = read_image(tmp_path / "notes.txt")
    assert url == f"data:image/{kind.lower()};base64,{base64.b64encode(data).decode()}"


def test_several_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(draw("PNG"))
    (tmp_path / "b").write_bytes(draw("JPEG"))
    assert [url[:15] for url in read_images([tmp_path / "b", tmp_path / "a"])] == [
        "data:image/jpeg",
        "data:image/png;",
    ]
    with pytest.raises(MediaError, match="too many"):
        read_images([tmp_path / "a"] * (COUNT_LIMIT + 1))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_large_image_is_scaled_down(kind: str) -> None:
    url = encode_image(draw(kind, (1800, 900)), "big")
    assert decode(url).size == (EDGE_LIMIT, EDGE_LIMIT // 2)
    assert len(url) < 5_000_000


def test_a_photo_is_scaled_the_way_up_it_was_taken() -> None:
    data = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (2000, 1000)).save(data, "JPEG", exif=exif)
    width, height = decode(encode_image(data.getvalue(), "photo")).size
    assert width < height


def test_what_is_no_image_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "fake.png").write_text("hello")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "half.png").write_bytes(draw("PNG", (400, 400))[:2_000])
    (tmp_path / "svg.png").write_text("<svg/>")
    os.mkfifo(tmp_path / "pipe.png")
    for name, words in (
        ("fake.png", "no PNG, JPEG"),
        ("empty.png", "no PNG, JPEG"),
        ("svg.png", "no PNG, JPEG"),
        ("half.png", "damaged"),
        ("gone.png", "cannot be read"),
        (".", "cannot be read"),
        ("pipe.png", "not a file"),
    ):
        with pytest.raises(MediaError, match=words) as caught:
            read_image(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "huge.png").open("wb") as file:
        file.write(draw("PNG"))
        file.truncate(BYTES_LIMIT + 1)
    with pytest.raises(MediaError, match="20 MB"):
        read_image(tmp_path / "huge.png")


def test_an_image_that_unpacks_to_gigabytes_is_refused() -> None:
    data = io.BytesIO()
    Image.new("1", (12_000, 12_000)).save(data, "PNG")
    with pytest.raises(MediaError, match="too many"):
        encode_image(data.getvalue(), "bomb.png")
