"""Place what changes from turn to turn behind the history, where it spoils no provider's cache.

A clock in the system prompt stands before the whole conversation: every new minute would make a provider read
all of it anew. The stable part stays the system prompt; the rest travels with the person's last words.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic_ai.messages import CachePoint, ModelMessage, UserPromptPart
from pydantic_ai.messages import ModelRequest as Sent

from shipmate.models.port import ModelRequest
from shipmate.models.provider.history import EPOCH, add_parts
from shipmate.models.provider.wording import WORDING


def split_system(request: ModelRequest) -> tuple[str, str]:
    """Cut the system prompt where it stops being the same from turn to turn."""
    raw = request.system.encode()
    stable = raw[: request.stable_bytes].decode(errors="ignore")
    # A boundary inside a character is no boundary.
    if not stable or len(stable.encode()) < min(request.stable_bytes, len(raw)):
        return request.system, ""
    return stable, request.system[len(stable) :]


def add_volatile(messages: list[ModelMessage], volatile: str, *, marks: bool) -> list[ModelMessage]:
    """Add a text to the person's last words. All steps of a run find it in the same place."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, Sent) and any(isinstance(part, UserPromptPart) for part in message.parts):
            # The mark stands before the text: what is cached up to there is found again in the next turn.
            note = f"{WORDING['volatile']}\n{volatile.strip()}"
            content = [CachePoint(), note] if marks else note
            parts = list(message.parts)
            add_parts(parts, [UserPromptPart(content, timestamp=EPOCH)])
            return [*messages[:place], replace(message, parts=parts), *messages[place + 1 :]]
    return messages
