"""Read an answer of Anthropic's Messages protocol, event by event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from shipmate.models.port import (
    Finish,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    Usage,
)
from shipmate.models.wire.answer_block import (
    CUT,
    AnswerBlock,
    AnswerBlocks,
    count_of,
    object_of,
    read_event,
    text_of,
)
from shipmate.models.wire.provider_fault import find_fault
from shipmate.models.wire.wire import WireError
from shipmate.models.wording import say
from shipmate.values.message import JsonObject

REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}
# The status each error has when it comes before an answer instead of inside it.
STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


class AnthropicReader:
    """The reading of one answer."""

    def __init__(self) -> None:
        self._blocks = AnswerBlocks()
        self._counts: dict[str, int] = {}
        self._thought = 0
        self._model = ""
        self._reason: str | None = None
        self._is_over = False
        self._last = -1

    @property
    def done(self) -> bool:
        """Return whether the answer has come to its end."""
        return self._is_over

    finished = done

    def take(self, event: str, data: bytes) -> Iterable[ModelEvent]:
        """Read one server-sent event; raise `WireError` for an error inside it or for what is no JSON."""
        if not data.strip() or data.strip() == b"[DONE]":
            return ()
        body = read_event(data)
        return list(self._take(text_of(body, "type") or event, body))

    def close(self) -> Iterable[ModelEvent]:
        """End the answer: the complete calls, then `Finish`; raise `WireError` if it broke off."""
        if not self._is_over:
            raise WireError(say("no-last-event"), code="broken-off")
        reason = REASONS.get(self._reason, "other") if self._reason else "stop"
        # Some servers end no block; what was signed of one must not be lost with that.
        told = [event for place in self._blocks.places() for event in self._end(place)]
        told += self._blocks.close()
        calls = list(self._blocks.calls(is_cut=reason in CUT))
        if calls and reason not in CUT:
            reason = "tool-calls"
        elif reason == "tool-calls":
            reason = "other"
        return [*told, *calls, Finish(reason, self._usage(), self._model)]

    def release(self) -> Iterable[ModelEvent]:
        """Tell what waits for blocks that will not end any more."""
        return list(self._blocks.close())

    def _take(self, kind: str, body: JsonObject) -> Iterator[ModelEvent]:
        if kind == "error" or body.get("error"):
            raise read_fault(body)
        match kind:
            case "message_start":
                message = object_of(body, "message")
                self._model = text_of(message, "model")
                self._count(object_of(message, "usage"))
            case "content_block_start":
                yield from self._begin(self._place(body, is_new=True), object_of(body, "content_block"))
            case "content_block_delta":
                yield from self._add(self._place(body), object_of(body, "delta"))
            case "content_block_stop":
                yield from self._end(self._place(body))
            case "message_delta":
                self._reason = text_of(object_of(body, "delta"), "stop_reason") or self._reason
                self._count(object_of(body, "usage"))
            case "message_stop":
                self._is_over = True
            case "message":
                yield from self._take_whole(body)
            case _:
                pass  # A ping, or what later versions of the protocol add.

    def _take_whole(self, message: JsonObject) -> Iterator[ModelEvent]:
        """Read an answer that came in one piece, from a server that does not stream."""
        self._model = text_of(message, "model")
        content: Any = message.get("content")
        for place, block in enumerate(content if isinstance(content, list) else []):
            if isinstance(block, dict):
                yield from self._begin(place, block)
                yield from self._end(place)
        self._reason = text_of(message, "stop_reason")
        self._count(object_of(message, "usage"))
        self._is_over = True

    def _place(self, body: JsonObject, *, is_new: bool = False) -> int:
        """Return which block an event is about; servers that do not number them mean the last one."""
        index = body.get("index")
        if isinstance(index, int):
            self._last = index
        elif is_new:
            self._last += 1
        return self._last

    def _begin(self, place: int, content: JsonObject) -> Iterator[ModelEvent]:
        yield from self._end(place)
        match text_of(content, "type"):
            case "text":
                block = self._blocks.begin(place, "text")
                yield from self._say(block, TextDelta(text_of(content, "text")))
            case "thinking":
                block = self._blocks.begin(place, "reasoning")
                self._sign(block, text_of(content, "signature"))
                yield from self._say(block, ReasoningDelta(text_of(content, "thinking")))
            case "redacted_thinking":
                block = self._blocks.begin(place, "reasoning")
                yield from self._blocks.tell(block, ReasoningEnd({"data": text_of(content, "data")}))
                # Nothing follows, and an end without a signature of its own would be a second one.
                block.kind = "other"
            case "tool_use":
                block = self._blocks.begin_call(place, text_of(content, "id"), text_of(content, "name"))
                block.whole = _whole_input(content)
                yield from self._blocks.tell_call(block, "")
            case _:
                self._blocks.begin(place, "other")

    def _add(self, place: int, delta: JsonObject) -> Iterator[ModelEvent]:
        block = self._blocks.get(place)
        match text_of(delta, "type"):
            case "text_delta":
                block = block or self._blocks.begin(place, "text")
                if block.kind == "text":
                    yield from self._say(block, TextDelta(text_of(delta, "text")))
            case "thinking_delta":
                block = block or self._blocks.begin(place, "reasoning")
                if block.kind == "reasoning":
                    yield from self._say(block, ReasoningDelta(text_of(delta, "thinking")))
            case "signature_delta" if block and block.kind == "reasoning":
                self._sign(block, text_of(delta, "signature"))
            case "input_json_delta":
                yield from self._argue(place, text_of(delta, "partial_json"))
            case _:
                pass

    def _argue(self, place: int, partial: str) -> Iterator[ModelEvent]:
        block = self._blocks.get(place)
        if block is None:
            self._blocks.keep_early(place, partial)
        elif partial and block.kind == "call":
            yield from self._blocks.tell_call(block, partial)

    def _end(self, place: int) -> Iterator[ModelEvent]:
        block = self._blocks.get(place)
        if block is None or block.is_done:
            return
        if block.kind == "reasoning":
            signature = {"signature": block.text} if block.text else None
            yield from self._blocks.tell(block, ReasoningEnd(signature))
        yield from self._blocks.end(block)

    def _sign(self, block: AnswerBlock, signature: str) -> None:
        if signature:
            block.pieces.clear()
            self._blocks.keep(block, signature)

    def _say(self, block: AnswerBlock, event: TextDelta | ReasoningDelta) -> Iterator[ModelEvent]:
        if event.text:
            yield from self._blocks.tell(block, event)

    def _count(self, usage: JsonObject) -> None:
        """Keep the newest counts; later ones are totals, and those not told again still hold."""
        for name in COUNTS:
            if count := count_of(usage, name):
                self._counts[name] = count
        details = object_of(usage, "output_tokens_details")
        self._thought = count_of(details, "thinking_tokens") or self._thought

    def _usage(self) -> Usage:
        read = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        return Usage(
            input_tokens=self._counts.get("input_tokens", 0) + read + written,
            output_tokens=self._counts.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )


def read_fault(body: JsonObject) -> WireError:
    """Return what an error of this protocol says."""
    fault = find_fault(body) or WireError(say("ended-in-error"), code="error")
    if fault.status is None:
        fault.status = STATUS.get(fault.code)
    return fault


def _whole_input(content: JsonObject) -> str:
    """Return the arguments of a server that sends them at once; an empty object is only their place."""
    given = content.get("input")
    return msgspec.json.encode(given).decode() if isinstance(given, dict) and given else ""
