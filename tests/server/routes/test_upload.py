"""Uploads: what a file is, is read from its bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import MediaError
from shipmate.server.guard.error import ApiError
from shipmate.server.routes.upload import find_upload
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import UPLOAD_LIMIT, UploadFolder, keep_upload, media_type_of


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        (b"\x1aE\xdf\xa3....", "audio/webm"),
        (b"\xff\xf3\x84\xc4", "audio/mpeg"),
        (b"fLaC\0\0\0\x22", "audio/flac"),
        (b"<svg onload=alert(1)>", "text/plain"),
        (b"<html><script>", "text/plain"),
        ("说明".encode(), "text/plain"),
        (b"\0\1\2", "application/octet-stream"),
        (b"\xff\xfe\xfd", "application/octet-stream"),
    ],
)
def test_the_bytes_decide(data: bytes, media_type: str) -> None:
    assert media_type_of(data) == media_type


def test_a_file_comes_back_under_a_harmless_name(tmp_path: Path) -> None:
    upload = keep_upload(UploadFolder(Layout(tmp_path)), b"hello", "..\\..\\evil\n/../notes.txt")
    found, path = find_upload(UploadFolder(Layout(tmp_path)), upload.url.rpartition("/")[2])
    assert found == upload
    assert upload.filename == "notes.txt"
    assert path.read_bytes() == b"hello"


def test_a_picture_of_too_many_pixels_is_refused_unopened(tmp_path: Path) -> None:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") + (60_000).to_bytes(4, "big")
    with pytest.raises(MediaError, match="80 million pixels"):
        keep_upload(UploadFolder(Layout(tmp_path)), head, "bomb.png")


def test_empty_and_huge_files_are_refused(tmp_path: Path) -> None:
    for data in (b"", b"x" * (UPLOAD_LIMIT + 1)):
        with pytest.raises(MediaError):
            keep_upload(UploadFolder(Layout(tmp_path)), data, "a")


@pytest.mark.parametrize("name", ["up_0", "../token", "up_" + "0" * 23, "", "up_" + "0" * 23 + ".json"])
def test_unknown_files_do_not_exist(tmp_path: Path, name: str) -> None:
    with pytest.raises(ApiError):
        find_upload(UploadFolder(Layout(tmp_path)), name)
