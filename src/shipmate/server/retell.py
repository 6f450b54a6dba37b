"""Tell a stored message again as the chunks that would build it."""

from __future__ import annotations

from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import JsonObject, UIMessage, is_tool, metadata_of, tool_name


def retell(message: UIMessage) -> list[Chunk]:
    """Give the chunks of a whole message."""
    told = [chunks.start(message["id"], metadata_of(message))]
    for number, part in enumerate(message["parts"]):
        told += _part(part, f"again-{number}")
    return [*told, chunks.finish("stop")]


def retell_data(message: UIMessage) -> list[Chunk]:
    """Give the chunks of the named data parts; a client that has them already replaces them by the same."""
    return [
        chunks.data(part["type"].removeprefix("data-"), part["data"], part["id"])
        for part in message["parts"]
        if part["type"].startswith("data-") and "id" in part
    ]


def _part(part: JsonObject, text_id: str) -> list[Chunk]:
    kind: str = part["type"]
    if kind in ("text", "reasoning"):
        ends = chunks.text(f"{kind}-start", text_id), chunks.text(f"{kind}-end", text_id)
        return [ends[0], chunks.text(f"{kind}-delta", text_id, part["text"]), ends[1]]
    if kind == "step-start":
        return [chunks.start_step()]
    if kind == "file":
        return [chunks.file(part["url"], part["mediaType"])]
    if kind.startswith("data-"):
        return [chunks.data(kind.removeprefix("data-"), part["data"], part.get("id"))]
    return _tool(part) if is_tool(part) else []


def _tool(part: JsonObject) -> list[Chunk]:
    call_id = part["toolCallId"]
    told = [chunks.tool_input_available(call_id, tool_name(part), part.get("input", {}))]
    if isinstance(approval := part.get("approval"), dict):
        told.append(chunks.tool_approval_request(call_id, approval["id"]))
    match part.get("state"):
        case "output-available":
            told.append(chunks.tool_output(call_id, part["output"]))
        case "output-error":
            told.append(chunks.tool_output_error(call_id, part["errorText"]))
        case "output-denied":
            told.append(chunks.tool_output_denied(call_id))
        case _:
            pass
    return told
