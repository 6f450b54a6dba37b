"""Read from a request where a turn stands, for models that answer without a provider."""

from __future__ import annotations

import hashlib

from shipmate.models.port import ModelRequest
from shipmate.values.message import UIMessage, text_of, tool_parts


def derive_call_id(request: ModelRequest, number: int) -> str:
    """Make a call id that is the same for the same request and differs from every other in the thread."""
    seed = f"{number}"
    for message in request.messages[-1:]:
        seed += f"/{message['id']}/{sum(1 for _ in tool_parts(message))}"
    return f"call_{hashlib.blake2b(seed.encode(), digest_size=9).hexdigest()}"


def last_said(request: ModelRequest) -> str:
    """Give what the person said last."""
    return next((text_of(message) for message in reversed(request.messages) if message["role"] == "user"), "")


def count_steps(request: ModelRequest) -> int:
    """Count the steps taken since the person last spoke."""
    count = 0
    for message in reversed(request.messages):
        if message["role"] == "user":
            break
        count += _steps_in(message)
    return count


def _steps_in(message: UIMessage) -> int:
    starts = sum(1 for part in message["parts"] if part.get("type") == "step-start")
    return starts or (1 if any(True for _ in tool_parts(message)) else 0)
