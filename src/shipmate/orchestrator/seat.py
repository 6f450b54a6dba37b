"""Show a conversation of several members from the seat of one of them."""

from __future__ import annotations

from collections.abc import Sequence

from shipmate.values.message import UIMessage, metadata_of


def take_seat(messages: Sequence[UIMessage], member: str, owner: str) -> list[UIMessage]:
    """Return messages in which what other members said is said to this one; what they did stays theirs."""
    return [_hear(each, owner) if _is_other(each, member, owner) else each for each in messages]


def _is_other(message: UIMessage, member: str, owner: str) -> bool:
    return message["role"] == "assistant" and (metadata_of(message).get("member") or owner) != member


def _hear(message: UIMessage, owner: str) -> UIMessage:
    metadata = metadata_of(message)
    said = [part for part in message["parts"] if part.get("type") == "text"]
    speaker = metadata.get("member") or owner
    return {**message, "role": "user", "metadata": {**metadata, "speaker": speaker}, "parts": said}
