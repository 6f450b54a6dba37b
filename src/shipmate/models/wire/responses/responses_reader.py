"""Read an answer of OpenAI's Responses protocol, event by event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

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
    BlockKind,
    count_of,
    object_of,
    read_event,
    text_of,
)
from shipmate.models.wire.provider_fault import find_fault
from shipmate.models.wire.wire import WireError
from shipmate.models.wording import say
from shipmate.values.message import JsonObject

REASONS: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content-filter"}
# The status an error has when it comes before an answer instead of inside it; others are the request's fault.
STATUS = {
    "server_error": 500,
    "internal_error": 500,
    "vector_store_timeout": 504,
    "server_is_overloaded": 503,
    "slow_down": 503,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "authentication_error": 401,
}
KINDS: dict[str, BlockKind] = {"message": "text", "reasoning": "reasoning", "function_call": "call"}
# What stands between the items and parts of one answer when they are read as one text.
GAP = "\n\n"


class ResponsesReader:
    """The reading of one answer."""

    def __init__(self) -> None:
        self._blocks = AnswerBlocks(GAP)
        # Which output each item is, for servers that number only some of their events.
        self._places: dict[str, int] = {}
        self._is_refused = False
        self._last = -1
        self._model = ""
        self._end: JsonObject | None = None

    @property
    def done(self) -> bool:
        """Return whether the answer has come to its end."""
        return self._end is not None

    finished = done

    def take(self, event: str, data: bytes) -> Iterable[ModelEvent]:
        """Read one server-sent event; raise `WireError` for an error inside it or for what is no JSON."""
        if not data.strip() or data.strip() == b"[DONE]":
            return ()
        body = read_event(data)
        return list(self._take(text_of(body, "type") or event, body))

    def close(self) -> Iterable[ModelEvent]:
        """End the answer: the complete calls, then `Finish`; raise `WireError` if it broke off."""
        if self._end is None:
            raise WireError(say("no-last-event"), code="broken-off")
        reason = self._reason(self._end)
        told = list(self._blocks.close())
        is_cut = text_of(self._end, "status") == "incomplete"
        calls = list(self._blocks.calls(is_cut=is_cut))
        if calls and not (is_cut and reason in CUT):
            # Words that refuse one thing withhold no call beside them.
            reason = "tool-calls"
        return [*told, *calls, Finish(reason, _usage(object_of(self._end, "usage")), self._model)]

    def release(self) -> Iterable[ModelEvent]:
        """Tell what waits for blocks that will not end any more."""
        return list(self._blocks.close())

    def _take(self, kind: str, body: JsonObject) -> Iterator[ModelEvent]:
        if kind == "error" or (body.get("error") and not kind.startswith("response.")):
            raise read_fault(body)
        if body.get("object") == "response":
            # It came in one piece, from a server that does not stream.
            yield from self._conclude(body)
        match kind.removeprefix("response."):
            case "created" | "in_progress" | "queued":
                self._model = text_of(object_of(body, "response"), "model") or self._model
            case "output_item.added":
                yield from self._begin(self._place(body, is_new=True), object_of(body, "item"))
            case "output_item.done":
                yield from self._finish(self._place(body), object_of(body, "item"))
            case (
                "output_text.delta"
                | "refusal.delta"
                | "reasoning_summary_text.delta"
                | "reasoning_text.delta"
            ):
                yield from self._add(kind, body, text_of(body, "delta"))
            case "output_text.done" | "reasoning_summary_text.done" | "reasoning_text.done":
                yield from self._add(kind, body, text_of(body, "text"), is_whole=True)
            case "refusal.done":
                yield from self._add(kind, body, text_of(body, "refusal"), is_whole=True)
            case "function_call_arguments.delta":
                yield from self._argue(self._place(body), text_of(body, "delta"))
            case "function_call_arguments.done":
                if (block := self._blocks.get(self._place(body))) and block.kind == "call":
                    block.whole = text_of(body, "arguments")
            case "completed" | "incomplete" | "failed":
                yield from self._conclude(object_of(body, "response"))
            case _:
                pass  # What nobody asked for, or what later versions of the protocol add.

    def _argue(self, place: int, delta: str) -> Iterator[ModelEvent]:
        block = self._blocks.get(place)
        if block is None:
            self._blocks.keep_early(place, delta)
        elif block.kind == "call":
            yield from self._blocks.tell_call(block, delta)

    def _place(self, body: JsonObject, *, is_new: bool = False) -> int:
        """Return which output an event is about: by its number, else by its item, else the last one."""
        index = body.get("output_index")
        item_id = text_of(body, "item_id") or text_of(object_of(body, "item"), "id")
        if isinstance(index, int):
            self._last = index
        elif item_id in self._places:
            self._last = self._places[item_id]
        elif is_new:
            self._last += 1
        if item_id:
            self._places[item_id] = self._last
        return self._last

    def _begin(self, place: int, item: JsonObject) -> Iterator[ModelEvent]:
        kind = KINDS.get(text_of(item, "type"), "other")
        if (known := self._blocks.get(place)) and known.kind == kind and not known.is_done:
            return
        if kind == "call":
            call_id = text_of(item, "call_id") or text_of(item, "id")
            block = self._blocks.begin_call(place, call_id, text_of(item, "name"))
            block.whole = text_of(item, "arguments")
            yield from self._blocks.tell_call(block, "")
        else:
            self._blocks.begin(place, kind)

    def _add(self, kind: str, body: JsonObject, text: str, *, is_whole: bool = False) -> Iterator[ModelEvent]:
        """Tell an addition to a part, or what of the whole part was not told yet."""
        place = self._place(body)
        usual: BlockKind = "reasoning" if "reasoning" in kind else "text"
        block = self._blocks.get(place) or self._blocks.begin(place, usual)
        self._is_refused |= "refusal" in kind
        holder = "summary" if "summary" in kind else "content"
        part = (holder, count_of(body, f"{holder}_index"))
        yield from self._tell_part(block, part, text, is_whole=is_whole)

    def _tell_part(
        self, block: AnswerBlock, part: tuple[str, int], text: str, *, is_whole: bool
    ) -> Iterator[ModelEvent]:
        told = block.parts.get(part, 0)
        rest = text[told:] if is_whole else text
        if not rest or block.is_done or block.kind not in ("text", "reasoning"):
            return
        gap = GAP if block.parts and part not in block.parts else ""
        block.parts[part] = told + len(rest)
        event = TextDelta(gap + rest) if block.kind == "text" else ReasoningDelta(gap + rest)
        yield from self._blocks.tell(block, event)

    def _finish(self, place: int, item: JsonObject) -> Iterator[ModelEvent]:
        """End an item by what it came to, which a server may tell only now."""
        if self._blocks.get(place) is None:
            yield from self._begin(place, item)
        block = self._blocks.get(place)
        if block is None or block.is_done or block.kind != KINDS.get(text_of(item, "type"), "other"):
            return
        for holder in ("summary", "content"):
            for number, text in enumerate(_parts(item, holder)):
                yield from self._tell_part(block, (holder, number), text, is_whole=True)
        if block.kind == "call":
            block.whole = text_of(item, "arguments") or block.whole
        elif block.kind == "reasoning":
            yield from self._blocks.tell(block, ReasoningEnd(_signature(item)))
        self._is_refused |= any(_is_refusal(part) for part in _list(item, "content"))
        yield from self._blocks.end(block)

    def _conclude(self, response: JsonObject) -> Iterator[ModelEvent]:
        if text_of(response, "status") == "failed" or response.get("error"):
            raise read_fault(response)
        self._model = text_of(response, "model") or self._model
        for number, item in enumerate(_list(response, "output")):
            if isinstance(item, dict):
                place = self._places.get(text_of(item, "id"), number)
                yield from self._finish(place, item)
        self._end = response

    def _reason(self, end: JsonObject) -> FinishReason:
        if text_of(end, "status") == "incomplete":
            return REASONS.get(text_of(object_of(end, "incomplete_details"), "reason"), "other")
        if self._is_refused:
            return "content-filter"
        return "stop" if text_of(end, "status") in ("completed", "") else "other"


def read_fault(body: JsonObject) -> WireError:
    """Return what an error of this protocol says."""
    fault = find_fault(body) or WireError(say("ended-in-error"), code="server_error")
    if fault.code == "error":
        # The name of the event, when the error has none.
        fault.code = ""
    if fault.status is None and fault.code:
        fault.status = STATUS.get(fault.code) or STATUS.get(text_of(object_of(body, "error"), "type"), 400)
    return fault


def _signature(item: JsonObject) -> JsonObject | None:
    """Return what gives a reasoning item back as it was."""
    signature: JsonObject = {"id": text_of(item, "id"), "summary": _parts(item, "summary")}
    if encrypted := text_of(item, "encrypted_content"):
        return {**signature, "encrypted_content": encrypted} if signature["id"] else None
    content = _parts(item, "content")
    return {**signature, "content": content} if content and signature["id"] else None


def _parts(item: JsonObject, holder: str) -> list[str]:
    parts = [part for part in _list(item, holder) if isinstance(part, dict)]
    return [text_of(part, "text") or text_of(part, "refusal") for part in parts]


def _is_refusal(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "refusal"


def _list(holder: JsonObject, key: str) -> list[Any]:
    value = holder.get(key)
    return value if isinstance(value, list) else []


def _usage(usage: JsonObject) -> Usage:
    read = object_of(usage, "input_tokens_details")
    return Usage(
        input_tokens=count_of(usage, "input_tokens"),
        output_tokens=count_of(usage, "output_tokens"),
        cache_read_tokens=count_of(read, "cached_tokens"),
        cache_write_tokens=count_of(read, "cache_write_tokens"),
    )
