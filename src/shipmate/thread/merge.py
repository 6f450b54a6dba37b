"""Merge rows into messages. A later row of the same id adds to the message; nothing is ever taken away."""

from __future__ import annotations

from collections.abc import Iterable

from shipmate.values.message import JsonObject, UIMessage, is_tool


def merge_rows(rows: Iterable[UIMessage]) -> list[UIMessage]:
    """Merge rows in order; a message stands where its id first appeared."""
    messages: dict[str, UIMessage] = {}
    for row in rows:
        known = messages.get(row["id"])
        messages[row["id"]] = row if known is None else merge_row(known, row)
    return list(messages.values())


def merge_row(message: UIMessage, row: UIMessage) -> UIMessage:
    """Return the message with a row's parts and metadata added; the message itself stays as it was."""
    merged: UIMessage = {**message, **row}
    merged["parts"] = merge_parts(message["parts"], row["parts"])
    if "metadata" in message or "metadata" in row:
        merged["metadata"] = merge_objects(message.get("metadata") or {}, row.get("metadata") or {})
    return merged


def merge_parts(parts: list[JsonObject], added: list[JsonObject]) -> list[JsonObject]:
    """Add parts: a tool call or named data part replaces its earlier state, everything else is appended."""
    merged = list(parts)
    places = {key: place for place, part in enumerate(merged) if (key := part_key(part)) is not None}
    for part in added:
        key = part_key(part)
        place = places.get(key) if key is not None else None
        if place is not None:
            merged[place] = part
            continue
        if key is not None:
            places[key] = len(merged)
        merged.append(part)
    return merged


def part_key(part: JsonObject) -> str | None:
    """Return what identifies a part across rows, or None for parts that only ever add."""
    if is_tool(part):
        return f"call {part['toolCallId']}"
    kind = part.get("type")
    if isinstance(kind, str) and kind.startswith("data-") and "id" in part:
        return f"{kind} {part['id']}"
    return None


def merge_objects(old: JsonObject, new: JsonObject) -> JsonObject:
    """Merge two JSON objects deeply, as the AI SDK client merges metadata."""
    merged = dict(old)
    for key, value in new.items():
        known = merged.get(key)
        merged[key] = (
            merge_objects(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
        )
    return merged
