"""Convert UIMessages to the neutral form that every wire starts from.

The conversion goes one way and accepts everything: parts it does not know are left out, half-done calls are
settled in words, and any stretch of any thread becomes a request that a provider takes. It begins and ends
with the user's side, every call has one id of its own and one result right after it, and no text is lost.
What it makes of a course is the beginning of what it makes of the same course when that has grown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import finalize

from shipmate.models.history import NOTHING, HistoryMemory, ModelHistory, count_files
from shipmate.models.neutral import ModelMessage, TextBlock, describe_message
from shipmate.models.port import ModelRequest
from shipmate.models.wording import WORDING
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.sidecar import Sidecar

# Older files are replaced by a line that names them, several at a time: each time breaks a provider's cache.
FILES_KEPT = 20
FILES_DROPPED = 10

_memory = HistoryMemory()
# The messages of the requests that are being sent: whoever keeps one asks for them, and then the wire.
_sent: dict[tuple[int, str], list[ModelMessage]] = {}


def messages_of(request: ModelRequest, model: str) -> list[ModelMessage]:
    """Return the messages of a request as a model reads them; they are not to be changed."""
    key = id(request), model
    if key not in _sent:
        finalize(request, _sent.pop, key, None)
        _sent[key] = to_model_messages(
            request.messages, sidecars=request.sidecars, model=model, zone=request.zone
        )
    return _sent[key]


def describe_history(ui_messages: Sequence[UIMessage], model: str, zone: str | None) -> list[JsonObject]:
    """Return what a model would read of a course before the next words are said, as JSON for people."""
    messages = to_model_messages(ui_messages, model=model, zone=zone) if ui_messages else []
    if messages[-1:] == [_prompt("continue")]:
        messages.pop()
    return list(map(describe_message, messages))


def to_model_messages(
    ui_messages: Sequence[UIMessage],
    injected_context: str = "",
    *,
    sidecars: Mapping[str, Sidecar] | None = None,
    model: str = "",
    zone: str | None = None,
) -> list[ModelMessage]:
    """Convert a course for a model. What is injected stands in front of the person's last words.

    `sidecars` holds, by message id, what belongs to messages: reasoning goes along where `model` signed it.
    With a zone each of the person's messages says when it was sent. All but the last message is remembered
    by identity, so a message is replaced, not changed in place, when it changes.
    """
    known = _inject(ui_messages, injected_context, sidecars or {})
    settled = max(0, len(ui_messages) - 1)
    remembered, files = _memory.recall(ui_messages, known, model, zone, settled)
    recent = ui_messages[settled:]
    files = [*files, *(settled for message in recent for _ in range(count_files(message)))]
    history = remembered.fork()
    if without := count_named(files):
        # Rare, and what follows a message whose files went cannot be grown from what is remembered.
        history, recent, settled = ModelHistory(model, zone), ui_messages, 0
    for place, message in enumerate(recent, settled):
        history.add(message, known.get(message.get("id", ""), NOTHING), files=place >= without)
    return _close(history)


def count_named(files: Sequence[int]) -> int:
    """Return before which message files are only named, given the places of all there are."""
    surplus = len(files) - FILES_KEPT
    if surplus <= 0:
        return 0
    dropped = -(-surplus // FILES_DROPPED) * FILES_DROPPED
    return files[min(dropped, len(files)) - 1] + 1


def _inject(
    messages: Sequence[UIMessage], context: str, sidecars: Mapping[str, Sidecar]
) -> Mapping[str, Sidecar]:
    last = next((each for each in reversed(messages) if each.get("role") == "user"), None)
    if not context.strip() or last is None:
        return sidecars
    known = sidecars.get(last["id"], NOTHING)
    joined = "\n".join(line for line in (known.context, context) if line)
    return {**sidecars, last["id"]: Sidecar(context=joined, signatures=known.signatures)}


def _close(history: ModelHistory) -> list[ModelMessage]:
    messages = history.messages
    if not messages:
        return [_prompt("silence")]
    if messages[0].role == "assistant":
        messages.insert(0, _prompt("opening"))
    if messages[-1].role == "assistant":
        messages.append(_prompt("continue"))
    return messages


def _prompt(name: str) -> ModelMessage:
    return ModelMessage("user", [TextBlock(WORDING[name])])
