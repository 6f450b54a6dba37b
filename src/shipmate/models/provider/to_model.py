"""Convert UIMessages to what a provider is sent.

The conversion goes one way and accepts everything: parts it does not know are left out, half-done calls are
settled in words, and any stretch of any thread becomes a request that a provider takes. It begins and ends
with the user's side, every call has one id of its own and one result right after it, and no text is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from shipmate.models.provider.history import EPOCH, ProviderHistory, recall
from shipmate.models.provider.wording import WORDING
from shipmate.values.message import JsonObject, UIMessage

# Images of older turns are replaced by a line that names them.
IMAGE_TURNS = 3

Signatures = Mapping[str, Sequence[JsonObject | None]]


def to_model_messages(
    messages: Sequence[UIMessage], *, signatures: Signatures | None = None, provider: str | None = None
) -> list[ModelMessage]:
    """Convert a course; reasoning goes along only for the open turn, where `provider` signed it.

    `signatures` holds, by message id, what came with each reasoning part in order. Messages that lie well
    behind are remembered by identity, so a message is replaced, not changed in place, when it changes.
    """
    recent = _recent_start(messages)
    history = recall(messages, recent).fork()
    for message in messages[recent:]:
        history.add(message, images=True, signed=_signed(message, messages, signatures, provider))
    return _close(history)


def _recent_start(messages: Sequence[UIMessage]) -> int:
    turns = 0
    for place in range(len(messages) - 1, -1, -1):
        starts = messages[place].get("role") == "user" and (
            place == 0 or messages[place - 1].get("role") != "user"
        )
        turns += starts
        if turns == IMAGE_TURNS:
            return place
    return 0


def _signed(
    message: UIMessage, messages: Sequence[UIMessage], signatures: Signatures | None, provider: str | None
) -> list[JsonObject | None]:
    """Return what `provider` signed of a message, None where nothing; only the last message is open."""
    if not signatures or message is not messages[-1]:
        return []
    found = signatures.get(message.get("id", ""), ())
    return [each if each and provider in (None, each.get("provider")) else None for each in found]


def _close(history: ProviderHistory) -> list[ModelMessage]:
    messages = history.messages
    if not messages:
        return [_prompt("silence")]
    if isinstance(messages[0], ModelResponse):
        messages.insert(0, _prompt("opening"))
    if isinstance(messages[-1], ModelResponse):
        messages.append(_prompt("continue"))
    return messages


def _prompt(name: str) -> ModelRequest:
    return ModelRequest([UserPromptPart(WORDING[name], timestamp=EPOCH)])
