"""Make the chunks of the AI SDK UI message stream (v1): what people see and what messages are made of."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from shipmate.values.message import JsonObject

Chunk: TypeAlias = JsonObject

STREAM_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
DONE = b"data: [DONE]\n\n"
HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def storable(value: Any) -> Any:
    """Return a JSON value without half characters, which no file can hold; refuse what is no JSON."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return _mend(value)
    return value


def _mend(value: Any) -> Any:
    match value:
        case str():
            return HALF_CHARACTER.sub("\ufffd", value)
        case dict():
            return {_mend(key): _mend(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]  (any JSON)
        case list() | tuple():
            return [_mend(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  (any JSON)
        case _:
            return value


def start(message_id: str, metadata: JsonObject) -> Chunk:
    """Open a message, or go on with a stored one of the same id."""
    return {"type": "start", "messageId": message_id, "messageMetadata": metadata}


def start_step() -> Chunk:
    """Open a step: one model request and the tools it asks for."""
    return {"type": "start-step"}


def finish_step() -> Chunk:
    """Close a step."""
    return {"type": "finish-step"}


def text(kind: str, part_id: str, delta: str | None = None, provider: JsonObject | None = None) -> Chunk:
    """Make a `text-*` or `reasoning-*` chunk; `kind` is the full chunk type."""
    chunk: Chunk = {"type": kind, "id": part_id}
    if delta is not None:
        chunk["delta"] = delta
    if provider is not None:
        chunk["providerMetadata"] = provider
    return chunk


def tool_input_start(call_id: str, name: str) -> Chunk:
    """Announce a call whose arguments are still being written."""
    return {"type": "tool-input-start", "toolCallId": call_id, "toolName": name}


def tool_input_delta(call_id: str, delta: str) -> Chunk:
    """Add to the arguments of an announced call."""
    return {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": delta}


def tool_input_available(call_id: str, name: str, arguments: Any) -> Chunk:
    """Announce the complete arguments of a call."""
    return {"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": arguments}


def tool_input_error(call_id: str, name: str, arguments: Any, error: str) -> Chunk:
    """Say that a call could not be understood; nothing ran."""
    return {
        "type": "tool-input-error",
        "toolCallId": call_id,
        "toolName": name,
        "input": arguments,
        "errorText": error,
    }


def tool_approval_request(call_id: str, approval_id: str) -> Chunk:
    """Say that a call waits for a person."""
    return {"type": "tool-approval-request", "toolCallId": call_id, "approvalId": approval_id}


def tool_output(call_id: str, output: Any) -> Chunk:
    """Announce the result of a call."""
    return {"type": "tool-output-available", "toolCallId": call_id, "output": output}


def tool_output_error(call_id: str, error: str) -> Chunk:
    """Announce the error a call ended with."""
    return {"type": "tool-output-error", "toolCallId": call_id, "errorText": error}


def tool_output_denied(call_id: str) -> Chunk:
    """Say that a person or a rule refused a call."""
    return {"type": "tool-output-denied", "toolCallId": call_id}


def data(name: str, value: Any, part_id: str | None = None, *, transient: bool = False) -> Chunk:
    """Make a `data-<name>` chunk."""
    chunk: Chunk = {"type": f"data-{name}", "data": value}
    if part_id is not None:
        chunk["id"] = part_id
    if transient:
        chunk["transient"] = True
    return chunk


def file(url: str, media_type: str) -> Chunk:
    """Show a file or an image."""
    return {"type": "file", "url": url, "mediaType": media_type}


def message_metadata(metadata: JsonObject) -> Chunk:
    """Add to the metadata of the open message."""
    return {"type": "message-metadata", "messageMetadata": metadata}


def finish(reason: str) -> Chunk:
    """Close the message."""
    return {"type": "finish", "finishReason": reason}


def abort(reason: str) -> Chunk:
    """Close the message because a person stopped it."""
    return {"type": "abort", "reason": reason}


def error(text_: str) -> Chunk:
    """Tell the client that the run failed."""
    return {"type": "error", "errorText": text_}


def encode_sse(chunk: Chunk) -> bytes:
    """Write a chunk as one server-sent event."""
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"
