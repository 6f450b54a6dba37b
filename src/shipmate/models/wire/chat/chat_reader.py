"""Read an answer of the Chat protocol, as any of the servers that speak it sends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

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
from shipmate.models.wire.answer_block import COUNT_LIMIT, CUT, read_event
from shipmate.models.wire.chat.dialect import Dialect
from shipmate.models.wire.provider_fault import find_fault
from shipmate.models.wire.wire import WireError
from shipmate.models.wording import say
from shipmate.values.message import JsonObject

DONE = b"[DONE]"
REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "content_filter": "content-filter",
    "sensitive": "content-filter",
}
# What one answer may make us keep: calls, and what a request may cost in dollars.
CALL_LIMIT = 10_000
COST_LIMIT = 1_000_000
# Endings that are none: the server gave up.
BROKEN = frozenset(("error", "abort", "network_error", "insufficient_system_resource"))

# What comes piece by piece.
PIECEMEAL = ("text", "summary", "data")


class ThoughtDetails:
    """The details of one stretch of thinking; texts are joined at the end, since each time is quadratic."""

    def __init__(self) -> None:
        self._details: list[JsonObject] = []
        self._texts: list[dict[str, list[str]]] = []

    def add(self, detail: JsonObject) -> None:
        """Add a piece to the detail it continues, or as a new one."""
        last = self._details[-1] if self._details else {}
        same = all(last.get(key) == detail.get(key) for key in ("type", "index"))
        if not last or not same or last.get("id") not in (None, detail.get("id")):
            self._details.append({})
            self._texts.append({})
        for key, value in detail.items():
            self._extend(key, value)

    def _extend(self, key: str, value: object) -> None:
        last, texts = self._details[-1], self._texts[-1]
        if key in PIECEMEAL and isinstance(value, str):
            texts.setdefault(key, []).append(value)
            # Keeps its place among the others.
            last[key] = ""
        elif value is not None or key not in last:
            texts.pop(key, None)
            last[key] = value

    def take(self) -> list[JsonObject]:
        """Return the details, and begin anew."""
        found = [
            detail | {key: "".join(pieces) for key, pieces in texts.items()}
            for detail, texts in zip(self._details, self._texts, strict=True)
        ]
        self._details, self._texts = [], []
        return found


class ChatReader:
    """The reading of one answer."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_given_id: dict[str, _Call] = {}
        self._taken: set[str] = set()
        self._details = ThoughtDetails()
        self._is_thinking = False
        self._reason = ""
        self._usage = Usage()
        self._has_answer = False
        self._is_refused = False
        self._is_over = False

    @property
    def done(self) -> bool:
        """Return whether nothing more is to come."""
        return self._is_over

    @property
    def finished(self) -> bool:
        """Return whether the end was told; only counts may follow."""
        return bool(self._reason)

    def take(self, event: str, data: bytes) -> Iterator[ModelEvent]:
        """Read one server-sent event."""
        if data.strip() == DONE:
            self._is_over = True
            return
        chunk = read_event(data)
        if event == "error" or chunk.get("error") or chunk.get("object") == "error":
            raise find_fault(chunk, status=None) or WireError(code="error")
        choices = chunk.get("choices")
        if not isinstance(choices, list | None):
            raise WireError(say("no-choices"), code="rubbish")
        self._count(chunk)
        for choice in choices or ():
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._choose(choice)

    def close(self) -> Iterator[ModelEvent]:
        """End the answer."""
        if not self._reason and not (self._is_over and self._has_answer):
            raise WireError(code="broken-off")
        yield from self._end_thinking()
        reason = REASONS.get(self._reason, "other" if self._reason else "stop")
        for call in self._calls:
            if not call.name:
                raise WireError(say("nameless-call"), code="rubbish")
            arguments = "".join(call.pieces)
            if reason in CUT and call is self._calls[-1] and not arguments.strip():
                # No arguments mean none wanted, which this call did not come to say: it must not run.
                arguments = "{"
            yield ToolCall(call.id, call.name, arguments)
        if self._calls and reason not in CUT:
            reason = "tool-calls"
        elif reason in ("stop", "tool-calls"):
            reason = "content-filter" if self._is_refused else "stop"
        yield Finish(reason, self._usage)

    def release(self) -> Iterable[ModelEvent]:
        """Return nothing: what comes is told at once."""
        return ()

    def _choose(self, choice: JsonObject) -> Iterator[ModelEvent]:
        if error := choice.get("error"):
            raise find_fault({"error": error}) or WireError(code="error")
        # A server that does not stream sends the whole message at once.
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._has_answer = True
            yield from self._think(delta)
            yield from self._say(delta)
            yield from self._call(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            if reason in BROKEN:
                raise WireError(code="server-gave-up" if reason == "error" else reason)
            self._reason = reason

    def _think(self, delta: JsonObject) -> Iterator[ModelEvent]:
        details = delta.get("reasoning_details")
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict):
                self._is_thinking = True
                self._details.add(detail)
        text = _first_text(delta, "reasoning_content", "reasoning")
        if not text and isinstance(details, list):
            text = "".join(_first_text(each, "text", "summary") for each in details if isinstance(each, dict))
        if not text and isinstance(content := delta.get("content"), list):
            text = "".join(_thoughts_in(content))
        if text:
            self._is_thinking = True
            yield ReasoningDelta(text)

    def _end_thinking(self) -> Iterator[ModelEvent]:
        if not self._is_thinking:
            return
        self._is_thinking = False
        signature: JsonObject | None = None
        if self._dialect.thought == "reasoning_details":
            details = self._details.take()
            signature = {"details": details} if details else None
        elif self._dialect.thought:
            signature = {"field": self._dialect.thought}
        yield ReasoningEnd(signature)

    def _say(self, delta: JsonObject) -> Iterator[ModelEvent]:
        content = delta.get("content")
        if isinstance(content, list):
            content = "".join(_words_in(content))
        text = content if isinstance(content, str) else ""
        if refusal := _first_text(delta, "refusal"):
            self._is_refused = True
            text += refusal
        if text:
            yield from self._end_thinking()
            yield TextDelta(text)

    def _call(self, delta: JsonObject) -> Iterator[ModelEvent]:
        calls = delta.get("tool_calls")
        if isinstance(old := delta.get("function_call"), dict):
            calls = [{"index": 0, "function": old}]
        for given in calls if isinstance(calls, list) else ():
            if isinstance(given, dict):
                yield from self._end_thinking()
                yield from self._extend(given)

    def _extend(self, given: JsonObject) -> Iterator[ModelEvent]:
        function = given.get("function")
        function = function if isinstance(function, dict) else {}
        name = _first_text(function, "name")
        call = self._find_call(given, name)
        arguments = function.get("arguments")
        if arguments is None:
            text = ""
        else:
            text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        was_named = bool(call.name)
        call.name = call.name or name
        call.pieces.append(text)
        if call.name and not was_named:
            yield ToolCallDelta(call.id, call.name, "".join(call.pieces))
        elif call.name and text:
            yield ToolCallDelta(call.id, call.name, text)

    def _find_call(self, given: JsonObject, name: str) -> _Call:
        index, raw = given.get("index"), given.get("id")
        wanted = raw if isinstance(raw, str) else "" if raw is None else str(raw)
        known = self._by_index.get(index) if isinstance(index, int) else self._find_by_id(wanted, name)
        # Some servers number every call 0 and tell them apart by their ids alone.
        if known is not None and not (wanted and name and known.given_id and wanted != known.given_id):
            if not known.given_id and wanted:
                known.given_id = wanted
                self._by_given_id.setdefault(wanted, known)
            return known
        if len(self._calls) >= CALL_LIMIT:
            raise WireError(say("too-many-calls"), code="too-long")
        call = _Call(self._free_id(wanted), wanted)
        self._calls.append(call)
        self._by_given_id.setdefault(wanted, call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _find_by_id(self, wanted: str, name: str) -> _Call | None:
        if wanted:
            return self._by_given_id.get(wanted)
        return None if name or not self._calls else self._calls[-1]

    def _free_id(self, wanted: str) -> str:
        call_id = wanted or f"call_{len(self._calls)}"
        while call_id in self._taken:
            call_id += "_"
        self._taken.add(call_id)
        return call_id

    def _count(self, chunk: JsonObject) -> None:
        usage = chunk.get("usage")
        if not isinstance(usage, dict) and isinstance(own := chunk.get("x_groq"), dict):
            usage = own.get("usage")
        if isinstance(usage, dict) and usage:
            self._usage = read_usage(usage)


class _Call:
    """A call while it comes in."""

    def __init__(self, call_id: str, given_id: str) -> None:
        self.id = call_id
        self.given_id = given_id
        self.name = ""
        self.pieces: list[str] = []


def read_usage(usage: JsonObject) -> Usage:
    """Read the tokens that were used, under the names that servers have for them."""
    read = _dict(usage.get("prompt_tokens_details"))
    cached = _count(read, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens", "cached_tokens")
    cost = usage.get("cost")
    return Usage(
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=_count(read, "cache_write_tokens", "cache_creation_tokens"),
        cost=float(cost) if _is_cost(cost) else None,
    )


def _is_cost(value: Any) -> TypeGuard[float]:
    """Return whether a price can be one: what a server tells here counts against a person's limit."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < COST_LIMIT


def _thoughts_in(content: list[Any]) -> Iterator[str]:
    """Yield the thinking among the parts of a content, as Mistral sends it."""
    for part in content:
        if isinstance(part, dict) and part.get("type") == "thinking":
            inner = part.get("thinking")
            yield (
                inner
                if isinstance(inner, str)
                else "".join(_words_in(inner if isinstance(inner, list) else []))
            )


def _words_in(content: list[Any]) -> Iterator[str]:
    for part in content:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type") in ("text", "output_text", None):
            yield _first_text(part, "text")


def _first_text(found: JsonObject, *names: str) -> str:
    return next((value for name in names if isinstance(value := found.get(name), str) and value), "")


def _dict(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _count(found: JsonObject, *names: str) -> int:
    for name in names:
        value = found.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < COUNT_LIMIT:
            return int(value)
    return 0
