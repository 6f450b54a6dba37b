"""Tell a stored message, or a part of it, as the chunks that would build it."""

from __future__ import annotations

from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import JsonObject, is_settled, is_tool, tool_name


def retell_part(part: JsonObject, place: int, open_as: str | None = None) -> list[Chunk]:
    """Return the chunks of a part; a text that is still being written stays open under its id."""
    kind: str = part["type"]
    if kind in ("text", "reasoning"):
        # Clients keep the id of a reasoning part, so it must be the stored one.
        text_id = open_as or str(part.get("id", f"again-{place}"))
        start = [chunks.text(f"{kind}-start", text_id), chunks.text(f"{kind}-delta", text_id, part["text"])]
        return start if open_as else [*start, chunks.text(f"{kind}-end", text_id)]
    if kind == "step-start":
        return [chunks.start_step()]
    if kind == "file":
        return [chunks.file(part["url"], part["mediaType"])]
    if kind.startswith("data-"):
        return [chunks.data(kind.removeprefix("data-"), part["data"], part.get("id"))]
    return retell_call(part) if is_tool(part) else []


def retell_call(part: JsonObject) -> list[Chunk]:
    """Return the chunks of a call from its announcement to where it stands."""
    if part.get("state") == "input-streaming":
        return [chunks.tool_input_start(part["toolCallId"], tool_name(part))]
    told = [_announce(part), *_ask(part)]
    if part.get("state") == "approval-responded":
        # No chunk that both clients know says that a person decided; announced anew, the call no longer asks.
        told.append(_announce(part))
    return [*told, *_settle(part)]


def catch_up_call(held: JsonObject, part: JsonObject) -> list[Chunk]:
    """Return the chunks that bring a call a client holds to where it stands."""
    told: list[Chunk] = []
    if held.get("state") == "input-streaming" and part.get("state") != "input-streaming":
        told.append(_announce(part))
    if _approval_id(held) != _approval_id(part):
        told += _ask(part)
    if is_settled(part) and _result(held) != _result(part):
        told += _settle(part)
    return told


def _announce(part: JsonObject) -> Chunk:
    told = chunks.tool_input_available(part["toolCallId"], tool_name(part), part.get("input", {}))
    # Clients keep calls of tools they were not built with under a type of their own.
    return {**told, "dynamic": True} if part["type"] == "dynamic-tool" else told


def _ask(part: JsonObject) -> list[Chunk]:
    approval_id = _approval_id(part)
    return [] if approval_id is None else [chunks.tool_approval_request(part["toolCallId"], approval_id)]


def _settle(part: JsonObject) -> list[Chunk]:
    call_id = part["toolCallId"]
    match part.get("state"):
        case "output-available":
            return [chunks.tool_output(call_id, part["output"])]
        case "output-error":
            return [chunks.tool_output_error(call_id, part["errorText"])]
        case "output-denied":
            return [chunks.tool_output_denied(call_id)]
        case _:
            return []


def _approval_id(part: JsonObject) -> str | None:
    approval = part.get("approval")
    return approval.get("id") if isinstance(approval, dict) else None


def _result(part: JsonObject) -> tuple[object, ...]:
    return part.get("state"), part.get("output"), part.get("errorText")
