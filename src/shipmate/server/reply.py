"""Write answers as JSON, straight from structs and dictionaries."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response


class Json(Response):
    """Send a value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def empty() -> Response:
    """Say that it is done and there is nothing to tell."""
    return Response(status_code=204)
