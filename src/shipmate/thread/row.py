"""Read and write the lines of a thread file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from shipmate.values.message import JsonObject, UIMessage, is_tool

_decode = msgspec.json.Decoder[Any]().decode


class RowProblem(msgspec.Struct, frozen=True):
    """A line of a thread file that cannot be read, and why; the line stays in the file."""

    line: int
    message: str


def encode_row(row: UIMessage) -> bytes:
    """Write a row as one line."""
    return msgspec.json.encode(row) + b"\n"


def decode_row(line: bytes) -> UIMessage:
    """Read a line; raise ValueError when it is no message."""
    try:
        row = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    if not isinstance(row.get("id"), str) or not isinstance(row.get("role"), str):
        raise ValueError("a message needs a text id and a role")
    parts = row.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError("a message needs a list of parts")
    return row  # pyright: ignore[reportReturnType]  (checked above, field by field)


def split_lines(data: bytes, first: int) -> tuple[list[UIMessage], list[RowProblem], int]:
    """Read complete lines; give the rows, what could not be read, and the number of lines."""
    rows: list[UIMessage] = []
    problems: list[RowProblem] = []
    lines = data.split(b"\n")[:-1]
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            rows.append(decode_row(line))
        except ValueError as error:
            problems.append(RowProblem(number, str(error)))
    return rows, problems, len(lines)


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
