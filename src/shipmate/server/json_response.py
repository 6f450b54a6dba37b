"""Write answers as JSON, straight from structs and dictionaries."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from shipmate.values.message import JsonObject

ANSWER = "x-shipmate-answer"


class Json(Response):
    """A response that sends a value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def tells(answer: str, *, is_open: bool = False) -> JsonObject:
    """Name the shape of a route's answer in `answer/`, and whether strangers may ask."""
    return {ANSWER: answer, **({"security": []} if is_open else {})}


def empty() -> Response:
    """Say that it is done and there is nothing to tell."""
    return Response(status_code=204)
