"""Build the stored message from the chunks that are sent: a twin of the AI SDK client's own processing."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shipmate.thread.row import merge_objects
from shipmate.values.chunk import Chunk
from shipmate.values.message import JsonObject, UIMessage


class MessageSnapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A message as it was told so far; `open` gives the place of each text still being written.

    Its keys are the ids that the coming deltas carry, behind their kind: `text 0-1`, `reasoning 0-2`.
    """

    message: UIMessage
    open: dict[str, int] = {}


class Reducer:
    """One assistant message while it grows; it knows which of its parts are not on disk yet."""

    def __init__(self, message: UIMessage) -> None:
        self.message: UIMessage = {**message, "parts": list(message["parts"])}
        self._calls = {
            part["toolCallId"]: place for place, part in enumerate(message["parts"]) if "toolCallId" in part
        }
        self._open: dict[str, int] = {}
        self._changed: set[int] = set()
        self._metadata: JsonObject = {}

    def apply(self, chunk: Chunk) -> None:
        """Take one chunk over into the message; a chunk of an unknown type changes nothing."""
        kind: str = chunk["type"]
        match kind:
            case "start" | "finish" | "message-metadata":
                self._add_metadata(chunk)
            case "start-step":
                self._push({"type": "step-start"})
            case "text-start" | "reasoning-start":
                self._text_start(chunk)
            case "text-delta" | "reasoning-delta":
                self._text_delta(chunk)
            case "text-end" | "reasoning-end":
                self._text_end(chunk)
            case "file":
                self._push({"type": "file", "mediaType": chunk["mediaType"], "url": chunk["url"]})
            case _ if kind.startswith("tool-"):
                self._tool(chunk)
            case _ if kind.startswith("data-"):
                self._data(chunk)
            case _:
                pass

    def _tool(self, chunk: Chunk) -> None:
        call_id: str = chunk["toolCallId"]
        match chunk["type"]:
            case "tool-input-start":
                self._announce(call_id, chunk["toolName"], {"state": "input-streaming"})
            case "tool-input-available":
                self._announce(
                    call_id, chunk["toolName"], {"state": "input-available", "input": chunk["input"]}
                )
            case "tool-input-error":
                failure = {"state": "output-error", "input": chunk["input"], "errorText": chunk["errorText"]}
                self._announce(call_id, chunk["toolName"], failure)
            case "tool-approval-request":
                self._update(
                    call_id, {"state": "approval-requested", "approval": {"id": chunk["approvalId"]}}
                )
            case "tool-output-available":
                self._update(call_id, {"state": "output-available", "output": chunk["output"]})
            case "tool-output-error":
                self._update(call_id, {"state": "output-error", "errorText": chunk["errorText"]})
            case "tool-output-denied":
                self._update(call_id, {"state": "output-denied"})
            case _:
                pass

    def take_row(self) -> UIMessage | None:
        """Return the row of what changed since the last one, or None when no part did.

        A call whose arguments never arrived is left out: it never became a call.
        """
        changed = [place for place in sorted(self._changed) if not self._is_unfinished(place)]
        if not changed:
            return None
        row: UIMessage = {"id": self.message["id"], "role": self.message["role"], "parts": []}
        if self._metadata:
            row["metadata"] = self._metadata
        row["parts"] = [self.message["parts"][place] for place in changed]
        self._changed -= set(changed)
        self._metadata = {}
        return row

    def snapshot(self) -> MessageSnapshot:
        """Return the message as it stands; what is told later does not change it."""
        parts = [dict(part) for part in self.message["parts"]]
        return MessageSnapshot(message={**self.message, "parts": parts}, open=dict(self._open))

    def _is_unfinished(self, place: int) -> bool:
        return self.message["parts"][place].get("state") == "input-streaming"

    def close_open_text(self) -> list[Chunk]:
        """Return the chunks that close texts a stop or failure left open."""
        return [{"type": f"{key.split(' ')[0]}-end", "id": key.split(" ", 1)[1]} for key in self._open]

    def touch(self, call_id: str) -> None:
        """Put a call's part into the next row, though it did not change: metadata alone makes no row."""
        self._changed.add(self._calls[call_id])

    def call(self, call_id: str) -> JsonObject | None:
        """Return the tool part of a call."""
        place = self._calls.get(call_id)
        return None if place is None else self.message["parts"][place]

    def replace(self, part: JsonObject) -> None:
        """Put a tool part in the place of its earlier state."""
        place = self._calls[part["toolCallId"]]
        self.message["parts"][place] = part
        self._changed.add(place)

    def _push(self, part: JsonObject) -> int:
        self.message["parts"].append(part)
        place = len(self.message["parts"]) - 1
        self._changed.add(place)
        return place

    def _add_metadata(self, chunk: Chunk) -> None:
        metadata = chunk.get("messageMetadata")
        if isinstance(metadata, dict) and metadata:
            self.message["metadata"] = merge_objects(self.message.get("metadata") or {}, metadata)
            self._metadata = merge_objects(self._metadata, metadata)

    def _text_start(self, chunk: Chunk) -> None:
        kind = chunk["type"].removesuffix("-start")
        part: JsonObject = {"type": kind, "text": "", "state": "streaming"}
        if kind == "reasoning":
            part["id"] = chunk["id"]
        self._open[f"{kind} {chunk['id']}"] = self._push(part)

    def _text_delta(self, chunk: Chunk) -> None:
        kind = chunk["type"].removesuffix("-delta")
        self.message["parts"][self._open[f"{kind} {chunk['id']}"]]["text"] += chunk["delta"]

    def _text_end(self, chunk: Chunk) -> None:
        kind = chunk["type"].removesuffix("-end")
        self.message["parts"][self._open.pop(f"{kind} {chunk['id']}")]["state"] = "done"

    def _announce(self, call_id: str, name: str, values: JsonObject) -> None:
        if call_id not in self._calls:
            self._calls[call_id] = self._push({"type": f"tool-{name}", "toolCallId": call_id})
        self._update(call_id, values)

    def _update(self, call_id: str, values: JsonObject) -> None:
        place = self._calls[call_id]
        self.message["parts"][place] = {**self.message["parts"][place], **values}
        self._changed.add(place)

    def _data(self, chunk: Chunk) -> None:
        if chunk.get("transient"):
            return
        part: JsonObject = {"type": chunk["type"], "data": chunk["data"]}
        if "id" in chunk:
            part["id"] = chunk["id"]
            for place, known in enumerate(self.message["parts"]):
                if known.get("type") == part["type"] and known.get("id") == part["id"]:
                    self.message["parts"][place] = part
                    self._changed.add(place)
                    return
        self._push(part)


def to_ui_messages_delta(chunks: Iterable[Chunk], message: UIMessage) -> UIMessage | None:
    """Return the row that a stretch of chunks adds to a message, or None when it adds nothing."""
    reducer = Reducer(message)
    for chunk in chunks:
        reducer.apply(chunk)
    return reducer.take_row()
