"""Read from a request where a turn stands, for models that answer without a provider."""

from __future__ import annotations

import hashlib

from shipmate.models.port import ModelRequest
from shipmate.values.message import JsonObject, UIMessage, is_tool, text_of, tool_parts


def derive_call_id(request: ModelRequest, number: int) -> str:
    """Make a call id that is the same for the same request and differs from every other in the thread."""
    seed = f"{number}"
    for message in request.messages[-1:]:
        seed += f"/{message['id']}/{sum(1 for _ in tool_parts(message))}"
    return f"call_{hashlib.blake2b(seed.encode(), digest_size=9).hexdigest()}"


def last_said(request: ModelRequest) -> str:
    """Return what the person said last."""
    return next((text_of(message) for message in reversed(request.messages) if message["role"] == "user"), "")


def count_steps(request: ModelRequest) -> int:
    """Count the steps with calls taken since the person last spoke."""
    count = 0
    for message in reversed(request.messages):
        if message["role"] == "user":
            break
        count += len(step_calls(message))
    return count


def step_calls(message: UIMessage) -> list[list[JsonObject]]:
    """Return the calls of a message step by step, leaving out steps without any."""
    steps: list[list[JsonObject]] = [[]]
    for part in message["parts"]:
        if part.get("type") == "step-start":
            steps.append([])
        elif is_tool(part):
            steps[-1].append(part)
    return [step for step in steps if step]
