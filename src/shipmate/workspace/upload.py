"""Keep files that came with a message or leave with one. What a file is, is read from its bytes alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import msgspec

from shipmate.errors import MediaError
from shipmate.values.message import JsonObject, new_id
from shipmate.workspace.dimension import PIXEL_LIMIT, has_too_many_pixels
from shipmate.workspace.disk.private import write_private
from shipmate.workspace.layout import Layout

# Where a kept file is asked for; parts of stored messages name it by this address.
ADDRESS = "/api/files/"
UPLOAD_LIMIT = 20_000_000
# How the name of every voice message begins, and how it ends.
VOICE = "voice."
SOUND_ENDINGS = {
    "audio/ogg": "ogg",
    "audio/webm": "webm",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/mp4": "m4a",
    "audio/flac": "flac",
}
UPLOAD_ID = re.compile(r"up_[0-9a-f]{23}")
SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"OggS", "audio/ogg"),
    (b"\x1aE\xdf\xa3", "audio/webm"),
    (b"ID3", "audio/mpeg"),
    # Frames of layer III, of the first and of the second MPEG: the rates of speech have the second.
    *((frame, "audio/mpeg") for frame in (b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2")),
    (b"fLaC", "audio/flac"),
)


class Upload(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A kept file."""

    url: str
    media_type: str
    filename: str
    bytes: int
    # Who of a team sent it, where one did.
    owner: str = ""


def media_type_of(data: bytes) -> str:
    """Tell what a file is from its bytes; its name may say anything."""
    for signature, media_type in SIGNATURES:
        if data.startswith(signature):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if data[8:12] == b"WEBP" else "audio/wav"
    if data[4:8] == b"ftyp":
        return "audio/mp4"
    # Most messages come without a file.
    from shipmate.documents.document import MEDIA_TYPES, kind_of

    if document := kind_of(data):
        return MEDIA_TYPES[document]
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "application/octet-stream" if b"\0" in data else "text/plain"


def is_voice(upload: Upload) -> bool:
    """Return whether a kept file is a voice message."""
    return upload.filename.startswith(VOICE) and upload.media_type.startswith("audio/")


class Uploads(Protocol):
    """Kept files, wherever they lie. Calls wait for the disk; what is large is kept from a thread."""

    def keep(self, data: bytes, filename: str, owner: str = "") -> Upload:
        """Store a copy of a file and its description."""
        ...

    def find(self, upload_id: str) -> tuple[Upload, Path] | None:
        """Return a kept file's description, and where this machine reads it."""
        ...


class UploadFolder:
    """Files kept in the workspace's own folder, where its tools can read them."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def keep(self, data: bytes, filename: str, owner: str = "") -> Upload:
        """Store a copy of a file and its description."""
        upload_id = new_id("up")
        name = "".join(c for c in filename.replace("\\", "/").rpartition("/")[2] if c.isprintable())[:120]
        upload = Upload(
            url=ADDRESS + upload_id,
            media_type=media_type_of(data),
            filename=name or "file",
            bytes=len(data),
            owner=owner,
        )
        write_private(self._layout.upload(upload_id), data)
        write_private(self._description(upload_id), msgspec.json.encode(upload))
        return upload

    def find(self, upload_id: str) -> tuple[Upload, Path] | None:
        """Return a kept file's description and place."""
        if not UPLOAD_ID.fullmatch(upload_id):
            return None
        path = self._layout.upload(upload_id)
        if not path.is_file():
            return None
        return msgspec.json.decode(self._description(upload_id).read_bytes(), type=Upload), path

    def _description(self, upload_id: str) -> Path:
        return self._layout.upload(f"{upload_id}.json")


def keep_upload(uploads: Uploads, data: bytes, filename: str, owner: str = "") -> Upload:
    """Store a file a person sent; a picture is not decoded here, only its size is read."""
    if not data:
        raise MediaError("The file is empty. Choose another.")
    if len(data) > UPLOAD_LIMIT:
        raise MediaError(f"The file is larger than {UPLOAD_LIMIT // 1_000_000} MB. Choose a smaller one.")
    if has_too_many_pixels(data):
        raise MediaError(
            f"The picture has more than {PIXEL_LIMIT // 1_000_000} million pixels. Choose a smaller one."
        )
    return uploads.keep(data, filename, owner)


def name_upload(uploads: Uploads, url: str) -> str:
    """Return what people call a file that a part names by its address."""
    found = uploads.find(url.removeprefix(ADDRESS)) if url.startswith(ADDRESS) else None
    if found is not None:
        return found[0].filename
    return "file" if url.startswith(("data:", ADDRESS)) else url.rpartition("/")[2] or "file"


def attach_voice(uploads: Uploads, data: bytes) -> JsonObject:
    """Keep spoken words, and return the part that names them; their name says what they are."""
    return attach(uploads, data, VOICE + SOUND_ENDINGS.get(media_type_of(data), "ogg"))


def attach(uploads: Uploads, data: bytes, filename: str) -> JsonObject:
    """Keep a copy of a file as it is now, and return the AI SDK part that names it."""
    kept = uploads.keep(data, filename)
    return {"type": "file", "mediaType": kept.media_type, "url": kept.url, "filename": kept.filename}
