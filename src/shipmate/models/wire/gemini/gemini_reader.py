"""Read the stream of an answer of Gemini."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

import msgspec

from shipmate.models.port import (
    Finish,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from shipmate.models.wire.answer_block import CUT, count_of, object_of, text_of
from shipmate.models.wire.gemini.gemini_signature import SignedStretch
from shipmate.models.wire.provider_fault import find_fault
from shipmate.models.wire.wire import WireError, WireSettings
from shipmate.models.wire.wire_json import decode_json
from shipmate.models.wording import say
from shipmate.values.message import JsonObject

ENDINGS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content-filter",
    "RECITATION": "content-filter",
    "BLOCKLIST": "content-filter",
    "PROHIBITED_CONTENT": "content-filter",
    "SPII": "content-filter",
    "IMAGE_SAFETY": "content-filter",
    "IMAGE_PROHIBITED_CONTENT": "content-filter",
    "IMAGE_RECITATION": "content-filter",
}
# What the model wrote was of no use to anybody; asked again it mostly writes something else.
BROKEN = frozenset(
    {
        *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"),
        "MISSING_THOUGHT_SIGNATURE",
    }
)
COUNTS = (
    *("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"),
    "cachedContentTokenCount",
)
# What one answer may make us keep: calls, and characters of their arguments and of signatures.
CALL_LIMIT = 10_000
KEPT_LIMIT = 32_000_000
RESPONSE_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


class GeminiReader:
    """The reading of one answer."""

    def __init__(self, settings: WireSettings) -> None:
        self._model = f"{settings.provider}:{settings.model}"
        self._stretch: SignedStretch | None = None
        self._calls: dict[str, ToolCall] = {}
        self._usage: dict[str, int] = {}
        self._response_id = ""
        self._ending = ""
        self._words = ""
        self._kept = 0

    @property
    def done(self) -> bool:
        """Return False: counts may follow whatever was told, until the stream ends."""
        return False

    @property
    def finished(self) -> bool:
        """Return whether the answer said why it ends; what breaks after that takes nothing from it."""
        return bool(self._ending)

    def take(self, event: str, data: bytes) -> Iterator[ModelEvent]:
        """Read one event; it holds a part of the answer, or an error."""
        for chunk in read_chunks(data):
            if chunk.get("error"):
                raise find_fault(chunk) or WireError(code="error")
            yield from self._take_chunk(chunk)

    def close(self) -> Iterator[ModelEvent]:
        """End the answer: the complete calls, then `Finish`; raise `WireError` if it broke off."""
        yield from self._end_stretch()
        if not self._ending:
            raise WireError(say("no-reason"), code="broken-off")
        if self._ending in BROKEN and not self._calls:
            raise WireError(self._words or self._ending, code="broken-off")
        yield from self._calls.values()
        reason = ENDINGS.get(self._ending, "other")
        if self._calls and reason not in CUT:
            reason = "tool-calls"
        yield Finish(reason, self._count_usage(), self._model)

    def release(self) -> Iterable[ModelEvent]:
        """Return nothing: what comes is told at once."""
        return ()

    def _take_chunk(self, chunk: JsonObject) -> Iterator[ModelEvent]:
        if not self._response_id and RESPONSE_ID.fullmatch(found := text_of(chunk, "responseId")):
            self._response_id = found
        usage = object_of(chunk, "usageMetadata")
        self._usage |= {key: count_of(usage, key) for key in COUNTS if key in usage}
        if blocked := text_of(object_of(chunk, "promptFeedback"), "blockReason"):
            self._ending = self._ending or "PROHIBITED_CONTENT"
            self._words = blocked
        for candidate in _objects(chunk, "candidates"):
            # One answer is asked for; whoever sends more means the first.
            if candidate.get("index") in (None, 0):
                yield from self._take_candidate(candidate)

    def _take_candidate(self, candidate: JsonObject) -> Iterator[ModelEvent]:
        for part in _objects(object_of(candidate, "content"), "parts"):
            yield from self._take_part(part)
        reason = text_of(candidate, "finishReason")
        if reason and reason != "FINISH_REASON_UNSPECIFIED":
            self._ending = reason
            self._words = text_of(candidate, "finishMessage")[:1000]

    def _take_part(self, part: JsonObject) -> Iterator[ModelEvent]:
        signature = text_of(part, "thoughtSignature") or text_of(part, "thought_signature")
        self._keep(len(signature))
        if isinstance(call := part.get("functionCall"), dict):
            yield from self._end_stretch()
            yield self._take_call(call, signature)
            return
        text, is_thought = text_of(part, "text"), part.get("thought") is True
        if not text and not signature:
            return
        if self._stretch is None or self._stretch.is_thought is not is_thought:
            yield from self._end_stretch()
            self._stretch = SignedStretch(is_thought=is_thought)
        self._stretch.add(text, signature)
        if text:
            yield ReasoningDelta(text) if is_thought else TextDelta(text)

    def _end_stretch(self) -> Iterator[ModelEvent]:
        """End words or thoughts. What was signed of words holds its place as thinking that is not shown."""
        stretch, self._stretch = self._stretch, None
        if stretch is not None and (stretch.is_thought or stretch.signature):
            yield ReasoningEnd(stretch.signature)

    def _take_call(self, call: JsonObject, signature: str) -> ToolCallDelta:
        name, arguments = text_of(call, "name"), write_arguments(call.get("args"))
        self._keep(len(arguments) + len(name))
        if len(self._calls) >= CALL_LIMIT:
            raise _too_long()
        # An id of the answer's own, since names such as `call_1` come again with every answer.
        call_id = text_of(call, "id") or f"{self._response_id or 'call'}_{len(self._calls) + 1}"
        while call_id in self._calls:
            call_id += "_"
        signed = {"thoughtSignature": signature} if signature else None
        self._calls[call_id] = ToolCall(call_id, name, arguments, signed)
        return ToolCallDelta(call_id, name, arguments)

    def _keep(self, size: int) -> None:
        self._kept += size
        if self._kept > KEPT_LIMIT:
            raise _too_long()

    def _count_usage(self) -> Usage:
        def count(*keys: str) -> int:
            return sum(self._usage.get(key, 0) for key in keys)

        return Usage(
            input_tokens=count("promptTokenCount", "toolUsePromptTokenCount"),
            output_tokens=count("candidatesTokenCount", "thoughtsTokenCount"),
            cache_read_tokens=count("cachedContentTokenCount"),
        )


def read_chunks(data: bytes) -> list[JsonObject]:
    """Return the objects that an event holds, one or several; raise `WireError` for anything else."""
    if not data.strip() or data.strip() == b"[DONE]":
        return []
    try:
        value = decode_json(data)
    except msgspec.DecodeError:
        raise WireError(say("event-not-json"), code="not-json") from None
    chunks = value if isinstance(value, list) else [value]
    if not all(isinstance(chunk, dict) for chunk in chunks):
        raise WireError(say("event-no-object"), code="not-json")
    return chunks


def write_arguments(arguments: object) -> str:
    """Return a call's arguments as JSON text."""
    if arguments is None:
        return "{}"
    try:
        return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, OverflowError, RecursionError):
        raise WireError(say("arguments-unread"), code="not-json") from None


def _too_long() -> WireError:
    return WireError(say("answer-too-long"), code="too-long")


def _objects(holder: JsonObject, key: str) -> list[JsonObject]:
    value = holder.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
