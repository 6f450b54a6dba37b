"""Cut a request down to what a model reads, when neither clearing nor a summary was enough."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from shipmate.orchestrator.compaction.clearing import WORDS
from shipmate.tools.text import shorten
from shipmate.values.message import (
    JsonObject,
    UIMessage,
    estimate_tokens,
    json_text,
    message_tokens,
    tool_name,
)
from shipmate.values.saying import fill

# How many characters of each text are left, tried in this order.
LENGTHS = (32_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 200)


def cut_messages(messages: list[UIMessage], words: Collection[str], tokens: int) -> list[UIMessage]:
    """Return messages within so many tokens: long texts cut, then the oldest left out.

    The words that are being answered, given by their ids, stay whole, so what comes back may still be too
    much.
    """
    cut = messages
    for length in LENGTHS:
        cut = [each if each["id"] in words else _cut(each, length) for each in messages]
        if sum(map(message_tokens, cut)) <= tokens:
            return cut
    sizes = list(map(message_tokens, cut))
    total = sum(sizes)
    # The row that opened the course stays: it holds the pins and the summary.
    first = 1 if cut and cut[0]["role"] == "system" else 0
    end = next((at for at, each in enumerate(cut) if each["id"] in words), len(cut) - 1)
    last = first
    while last < end and total > tokens:
        total -= sizes[last]
        last += 1
    return [*cut[:first], *cut[last:]]


def _cut(message: UIMessage, length: int) -> UIMessage:
    return {**message, "parts": [_cut_part(part, length) for part in message["parts"]]}


def _cut_part(part: JsonObject, length: int) -> JsonObject:
    if part.get("type") == "file" and "path" in part:
        # Named, not carried.
        return {**part, "url": part["path"]}
    if isinstance(part.get("text"), str):
        return {**part, "text": shorten(part["text"], length, WORDS["shortened"])}
    if "toolCallId" not in part:
        return part
    cut = dict(part)
    for name in ("output", "errorText"):
        if name in part and len(text := json_text(part[name])) > length:
            cut[name] = shorten(text, length, WORDS["shortened"])
    if isinstance(part.get("input"), dict):
        cut["input"] = {
            key: shorten(value, length, WORDS["shortened"]) if isinstance(value, str) else value
            for key, value in part["input"].items()
        }
    return cut


def write_transcript(messages: Sequence[UIMessage], tokens: int) -> str:
    """Write a conversation as text within so many tokens: long pieces cut, then the oldest left out."""
    pieces: list[str] = []
    sizes: list[int] = []
    for length in LENGTHS:
        pieces = [piece for each in messages if (piece := _write(each, length))]
        sizes = [estimate_tokens(piece) + 1 for piece in pieces]
        if sum(sizes) <= tokens:
            return "\n\n".join(pieces)
    # A summary that the conversation begins with is the last to go.
    first = 1 if messages and messages[0]["role"] == "system" else 0
    last = first
    total = sum(sizes)
    while last < len(pieces) - 1 and total > tokens:
        total -= sizes[last]
        last += 1
    note = fill(WORDS["left-out"], {"count": f"{last - first:,}"})
    return "\n\n".join([*pieces[:first], note, *pieces[last:]])


def _write(message: UIMessage, length: int) -> str:
    def trim(value: Any) -> str:
        return shorten(json_text(value).strip(), length, WORDS["shortened"])

    lines: list[str] = []
    for part in message["parts"]:
        if part.get("type") == "text" and str(part.get("text") or "").strip():
            # What was summed up before is kept whole as long as it can be.
            lines.append(part["text"] if message["role"] == "system" else trim(part["text"]))
        elif part.get("type") == "file":
            lines.append(f"[file: {part.get('filename') or part.get('mediaType')}]")
        elif "toolCallId" in part:
            came = part.get("output", part.get("errorText", ""))
            lines.append(f"[call {tool_name(part)}: {trim(part.get('input'))} → {trim(came)}]")
    return f"[{message['role']}]\n" + "\n".join(lines) if lines else ""
