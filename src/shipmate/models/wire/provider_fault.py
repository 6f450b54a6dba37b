"""Read what a provider says when it refuses, in whichever of the usual shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from shipmate.models.wire.wire import WireError
from shipmate.models.wire.wire_json import decode_json
from shipmate.models.wording import say
from shipmate.values.message import JsonObject

MARKUP = re.compile(rb"^\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)
TITLE = re.compile(rb"<title[^>]*>(.{1,200}?)</title>", re.IGNORECASE | re.DOTALL)
DURATION = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*s\s*")
LONGEST_WAIT = 1e7


def read_refusal(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> WireError:
    """Return the fault that an answer with an error's status tells of."""
    try:
        found = decode_json(body)
    except msgspec.DecodeError:
        fault = WireError(read_markup(body), status=status)
    else:
        fault = find_fault(found, status=status) or WireError(status=status)
    if (wait := read_wait(headers, now)) is not None:
        fault.retry_after = wait
    return fault


def read_markup(body: bytes) -> str:
    """Return the words of an answer that is no JSON: a page's title, or its text as it is."""
    if MARKUP.match(body):
        title = TITLE.search(body)
        return title[1].decode(errors="replace") if title else say("page")
    return body[:2000].decode(errors="replace")


def find_fault(found: Any, *, status: int | None = None) -> WireError | None:
    """Return the error in a decoded body or event, None when it holds none."""
    if isinstance(found, list):
        return find_fault(found[0], status=status) if found else None
    if not isinstance(found, dict):
        return None
    error = found.get("error")
    if not error and (status is not None or found.get("object") == "error" or found.get("type") == "error"):
        error = found
    if not error:
        return None
    if not isinstance(error, dict):
        words = error if isinstance(error, str) else str(found.get("message") or "")
        return WireError(words, status=status, code=_first_text(found, "code", "type"))
    return WireError(
        _find_words(error),
        status=status or _read_status(error),
        code=_first_text(error, "code", "type", "status", "reason"),
        retry_after=_find_delay(error),
    )


def read_wait(headers: Mapping[str, str], now: Callable[[], datetime]) -> float | None:
    """Return how many seconds a provider wants to be left alone: as milliseconds, seconds or a date."""
    try:
        if (given := headers.get("retry-after-ms")) is not None:
            return _bound(float(given) / 1000)
        if (given := headers.get("retry-after")) is None:
            return None
        if given.strip()[:1].isdigit():
            return _bound(float(given))
        return _bound((parsedate_to_datetime(given) - now()).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _bound(seconds: float) -> float | None:
    # A number that is none is no wait; one past all bounds is one nobody waits for.
    return None if math.isnan(seconds) else min(max(0.0, seconds), LONGEST_WAIT)


def _find_words(error: JsonObject) -> str:
    words = _first_text(error, "message", "detail", "msg", "error", "title")
    # OpenRouter passes on what the provider behind it said.
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str) and raw.strip():
        try:
            inner = find_fault(decode_json(raw.encode("utf-8", "replace")))
        except msgspec.DecodeError:
            inner = None
        behind = inner.words if inner is not None else raw
        return f"{words}: {behind}" if words and behind not in words else words or behind
    if words:
        return words
    details = error.get("detail") or error.get("errors")
    # FastAPI lists what is wrong with which field.
    first = details[0] if isinstance(details, list) and details else None
    return _first_text(first, "msg", "message") if isinstance(first, dict) else ""


def _first_text(found: JsonObject, *names: str) -> str:
    return next((value for name in names if isinstance(value := found.get(name), str) and value.strip()), "")


def _read_status(error: JsonObject) -> int | None:
    for name in ("code", "status", "status_code", "http_code"):
        value = error.get(name)
        if isinstance(value, str) and value.isdecimal():
            value = int(value[:4])
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def _find_delay(error: JsonObject) -> float | None:
    """Return the wait that Google's RetryInfo names."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (match := DURATION.fullmatch(delay)):
            return _bound(float(match[1]))
    return None
