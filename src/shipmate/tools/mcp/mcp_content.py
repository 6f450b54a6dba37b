"""Turn what MCP servers give into words for the model, and files that are kept."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from shipmate.tools.text import clean
from shipmate.tools.tool import ToolContext
from shipmate.values.message import JsonObject
from shipmate.workspace.dimension import PIXEL_LIMIT, has_too_many_pixels
from shipmate.workspace.upload import attach, media_type_of

# Blocks of one result that are read, and files of it that are kept; the rest is counted.
BLOCK_LIMIT = 1_000
FILE_LIMIT = 20
# What stands about a resource in one line.
LABEL_LIMIT = 300


class Content:
    """What one result holds: its words, block by block, and the files that were in it."""

    def __init__(self, context: ToolContext, cover: Callable[[str], str]) -> None:
        self.files: list[JsonObject] = []
        self._texts: list[str] = []
        self._context = context
        self._cover = cover

    @property
    def text(self) -> str:
        """Return all words, keys masked."""
        return self._cover("\n".join(self._texts))

    def say(self, text: str) -> None:
        """Add words."""
        self._texts.append(text)

    def take(self, blocks: object) -> None:
        """Add the blocks of a result, whatever stands there."""
        found: Sequence[Any] = blocks if isinstance(blocks, list) else [blocks]
        for block in found[:BLOCK_LIMIT]:
            self.say(self._read(block) if isinstance(block, dict) else "[something that is no block]")
        if (more := len(found) - BLOCK_LIMIT) > 0:
            self.say(f"[{more:,} more blocks; {BLOCK_LIMIT:,} are read]")

    def take_resource(self, resource: JsonObject) -> None:
        """Add a resource, as text or as a file."""
        self.say(self._resource(resource))

    def _read(self, block: JsonObject) -> str:
        match block.get("type"):
            case "text":
                return str(block.get("text", ""))
            case "image" | "audio" as kind:
                return self._keep(block.get("data"), block.get("mimeType"), kind, kind)
            case "resource" if isinstance(block.get("resource"), dict):
                return self._resource(block["resource"])
            case "resource_link":
                return describe_link(block)
            case other:
                return f"[a block of type {_label(other)!r}, which is not known here]"

    def _resource(self, resource: JsonObject) -> str:
        if isinstance(text := resource.get("text"), str):
            return text
        uri = _label(resource.get("uri"))
        if "blob" not in resource:
            return f"[the resource {uri} is empty]"
        return self._keep(resource["blob"], resource.get("mimeType"), f"resource {uri}", uri)

    def _keep(self, encoded: object, said: object, what: str, name: str) -> str:
        """Keep a file, and return how it is named to the model; nothing is decoded, only its size is read."""
        if len(self.files) >= FILE_LIMIT:
            return f"[{what} left out: {FILE_LIMIT} are shown of one result]"
        data = _decode(encoded)
        if data is None:
            return f"[{what} that cannot be decoded]"
        kind = media_type_of(data)
        if what == "image" and not kind.startswith("image/"):
            return f"[an image of {len(data):,} bytes that is no PNG, JPEG, GIF or WebP: left out]"
        if kind.startswith("image/") and has_too_many_pixels(data):
            return f"[an image of more than {PIXEL_LIMIT // 1_000_000} million pixels: left out]"
        part = attach(self._context.uploads, data, name.rpartition("/")[2] or what)
        self.files.append(part)
        upload = part["url"].rpartition("/")[2]
        told = "" if _label(said) in ("", kind) else f", called {_label(said)}"
        return f"[{what}: {kind}{told}, {len(data):,} bytes, kept as .ship/uploads/{upload}]"


def describe_link(link: JsonObject) -> str:
    """Return one line about a resource that can be read."""
    words = [_label(link.get("title") or link.get("name")), _label(link.get("description"))]
    about = ": ".join(word for word in words if word)
    size = link.get("size")
    more = [_label(link.get("mimeType")), f"{size:,} bytes" if isinstance(size, int) else ""]
    facts = ", ".join(each for each in more if each)
    return (
        f"[resource {_label(link.get('uri'))}{f' ({facts})' if facts else ''}{f' {about}' if about else ''}]"
    )


def as_json(value: object) -> str:
    """Return a structured result as text."""
    return msgspec.json.encode(value).decode()


def _decode(encoded: object) -> bytes | None:
    if not isinstance(encoded, str):
        return None
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None


def _label(value: object) -> str:
    """Return a short text of one line."""
    return " ".join(clean(value[: 4 * LABEL_LIMIT]).split())[:LABEL_LIMIT] if isinstance(value, str) else ""
