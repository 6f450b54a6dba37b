"""Put files of the workspace where every surface can show or send them."""

from __future__ import annotations

import msgspec

from shipmate.context.media import sniff
from shipmate.values.message import JsonObject, new_id
from shipmate.workspace.layout import Layout, write_private

ADDRESS = "/api/files/"


class Description(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Describe a kept file, as uploads of people are described."""

    url: str
    media_type: str
    filename: str
    bytes: int


def attach(layout: Layout, data: bytes, filename: str) -> JsonObject:
    """Keep a copy of a file as it is now, and give the AI SDK part that names it."""
    upload_id = new_id("up")
    url = ADDRESS + upload_id
    kept = Description(url=url, media_type=media_type_of(data), filename=filename, bytes=len(data))
    write_private(layout.upload(upload_id), data)
    write_private(layout.upload(f"{upload_id}.json"), msgspec.json.encode(kept))
    return {"type": "file", "mediaType": kept.media_type, "url": url, "filename": filename}


def media_type_of(data: bytes) -> str:
    """Tell what a file is from its bytes; its name may say anything."""
    if image := sniff(data):
        return image
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "application/octet-stream" if "\0" in text else "text/plain"
