"""Put files of the workspace where every surface can show or send them."""

from __future__ import annotations

from shipmate.values.message import JsonObject
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import keep_file


def attach(layout: Layout, data: bytes, filename: str) -> JsonObject:
    """Keep a copy of a file as it is now, and give the AI SDK part that names it."""
    kept = keep_file(layout, data, filename)
    return {"type": "file", "mediaType": kept.media_type, "url": kept.url, "filename": kept.filename}
