"""Show kept files to a model: pictures as their bytes, other files as a path its tools can read."""

from __future__ import annotations

import base64

from shipmate.tools.attachment import ADDRESS
from shipmate.values.message import JsonObject, UIMessage
from shipmate.workspace.layout import Layout

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def show_files(messages: list[UIMessage], layout: Layout) -> list[UIMessage]:
    """Give messages in which no file is named by an address that only a browser can follow."""
    if not layout.uploads.is_dir():
        return messages
    return [_show(message, layout) if _has_kept_file(message) else message for message in messages]


def _has_kept_file(message: UIMessage) -> bool:
    return any(part.get("type") == "file" and _is_kept(part) for part in message["parts"])


def _is_kept(part: JsonObject) -> bool:
    url = part.get("url")
    return isinstance(url, str) and url.startswith(ADDRESS)


def _show(message: UIMessage, layout: Layout) -> UIMessage:
    is_user = message["role"] == "user"
    parts = [
        _resolve(part, layout, is_user=is_user) if part.get("type") == "file" and _is_kept(part) else part
        for part in message["parts"]
    ]
    return {**message, "parts": parts}


def _resolve(part: JsonObject, layout: Layout, *, is_user: bool) -> JsonObject:
    path = layout.upload(part["url"].removeprefix(ADDRESS))
    # Providers take pictures only from people; what a member showed before is named to it by its path.
    if is_user and part.get("mediaType") in PICTURES and path.is_file():
        data = base64.b64encode(path.read_bytes()).decode()
        return {**part, "url": f"data:{part['mediaType']};base64,{data}"}
    return {**part, "url": path.relative_to(layout.root).as_posix()}
