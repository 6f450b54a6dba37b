"""Read what parts hold: the arguments and outcome of a call, and the files people attach."""

from __future__ import annotations

import base64
import binascii
from typing import Any, cast

import msgspec

from shipmate.models.neutral import CallOutcome, FileBlock, TextBlock
from shipmate.models.wording import WORDING
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting

# What a model wrote in place of an object; servers parse arguments, so they must be one.
NO_OBJECT = "INVALID_JSON"


def read_arguments(part: JsonObject) -> JsonObject:
    """Return a call's arguments, as text under a name of its own when they are no object."""
    arguments = part.get("input")
    if arguments is None:
        arguments = part.get("rawInput")
    if arguments is None:
        return {}
    found = _decode(arguments) if isinstance(arguments, str) else arguments
    if isinstance(found, dict):
        return cast(JsonObject, found)
    return {NO_OBJECT: arguments if isinstance(arguments, str) else _json(arguments)}


def settle_call(part: JsonObject) -> tuple[str, CallOutcome]:
    """Say what came of a call, in words where it has no result yet."""
    approval = part.get("approval")
    answer: JsonObject = approval if isinstance(approval, dict) else {}
    state = part.get("state")
    if state == "output-denied" or (state == "approval-responded" and answer.get("approved") is False):
        reason = answer.get("reason")
        return f"{WORDING['denied']} {reason}" if reason else WORDING["denied"], "denied"
    if state == "approval-requested":
        return WORDING["waiting"], "interrupted"
    if state == "output-error" or ("output" not in part and part.get("errorText")):
        return _words(part.get("errorText"), WORDING["failed"]), "failed"
    if "output" not in part or state in ("input-available", "approval-responded"):
        return WORDING["interrupted"], "failed"
    if part.get("preliminary") is True:
        pieces = (WORDING["interrupted"], WORDING["partial"], _words(part["output"], WORDING["empty"]))
        return "\n\n".join(pieces), "failed"
    return _words(part["output"], WORDING["empty"]), "success"


def read_file(part: JsonObject) -> FileBlock | TextBlock:
    """Return an attached file that carries its bytes, any other as the line that names it."""
    line = describe_file(part)
    head, comma, data = _url(part).partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64") and _is_base64(data):
        name = part.get("filename")
        return FileBlock(_media_type(part), data, name if isinstance(name, str) else "", line)
    return TextBlock(line)


def describe_file(part: JsonObject) -> str:
    """Name a file in one line of text."""
    url = _url(part)
    name = part.get("filename")
    words = [name if isinstance(name, str) and name else "unnamed", _media_type(part) or "unknown type"]
    place = part.get("path") if url.startswith("data:") else url
    if isinstance(place, str) and place:
        words.append(place)
    return f"[attached file: {', '.join(words)}]"


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False


def _media_type(part: JsonObject) -> str:
    kind = part.get("mediaType")
    return kind.lower() if isinstance(kind, str) else ""


def _url(part: JsonObject) -> str:
    url = part.get("url")
    return url if isinstance(url, str) else ""


def _words(value: Any, fallback: str) -> str:
    text = value if isinstance(value, str) else "" if value is None else _json(value)
    return text if text.strip() else fallback


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(check_nesting(text))
    except (msgspec.DecodeError, UnicodeError):
        return None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
