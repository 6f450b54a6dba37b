"""Write answers as OpenAI does: whole, or chunk by chunk."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from shipmate.approvals.question import summarise
from shipmate.delivery.cleaning import remove
from shipmate.errors import ShipmateError
from shipmate.orchestrator.lane.ingress import reply_id
from shipmate.server.guard.error import ApiError, ClientRefusal, client_problem
from shipmate.server.port import Receipt, Ship
from shipmate.server.routes.v1.application import Admitted
from shipmate.server.routes.v1.call_thread import THREAD_HEADER, say, send_id
from shipmate.server.routes.v1.refusal import failure
from shipmate.server.stream.stream import CLOSING
from shipmate.server.stream.watch import find_message
from shipmate.store.port import StepUsage
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.event import Outcome, ToolResultEvent
from shipmate.values.message import JsonObject, UIMessage, metadata_of, text_of, timestamp, tool_parts
from shipmate.values.thread_id import ThreadId

DONE = b"data: [DONE]\n\n"
REASONS = {"length": "length", "content-filter": "content_filter"}
LOST = "The process that worked this run was lost. The run is taken up again; its answer is in the thread."


class Segment(msgspec.Struct, frozen=True):
    """What one request added to a message: the parts between two rounds of a program's results."""

    parts: list[JsonObject]
    first_step: int = 0
    last_step: int | None = None


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """How a request ended."""

    text: str
    # Which calls a person must look at elsewhere.
    asked: str = ""
    reasoning: str
    calls: list[JsonObject]
    reason: str
    usage: JsonObject
    created: int
    problem: ApiError | None = None


def cut_segment(message: UIMessage, own: str | None) -> Segment:
    """Return what stands behind the results of the id `own`, or from the start, up to the next results."""
    parts = message["parts"]
    rounds = [(place, part) for place, part in enumerate(parts) if is_round(part)]
    start, first = next(
        ((place, part["data"]["steps"]) for place, part in rounds if part["id"] == own), (-1, 0)
    )
    following = next(((place, part["data"]["steps"]) for place, part in rounds if place > start), None)
    end, last = following or (len(parts), None)
    return Segment(parts[start + 1 : end], first, last)


def is_round(chunk: JsonObject) -> bool:
    """Return whether a part, or its chunk, keeps the results that a program's tools brought."""
    return chunk.get("type") == "data-reply" and "steps" in chunk["data"]


def own_round(admitted: Admitted) -> str | None:
    """Return the id of the part that keeps the results a request brought, when it brought any."""
    return reply_id(admitted.event) if isinstance(admitted.event, ToolResultEvent) else None


async def conclude(ship: Ship, admitted: Admitted, receipt: Receipt) -> Conclusion:
    """Wait for the run that answers a request, and read from its message what to tell."""
    try:
        outcome = await receipt.outcome()
    except (ConnectionError, ShipmateError):
        return lost()
    message = await find_message(ship, admitted.thread_id, outcome.message_id)
    metadata = metadata_of(message) if message is not None else {}
    segment = cut_segment(message, own_round(admitted)) if message is not None else Segment([])
    shown: UIMessage = {"id": "", "role": "assistant", "parts": segment.parts}
    calls = _calls(admitted.thread_id, shown, metadata.get("clientCalls") or {})
    text = remove(text_of(shown) if message is not None else outcome.text)
    asked = await _tell_waiting(ship, admitted.thread_id, outcome, shown)
    return Conclusion(
        text=text,
        asked=asked,
        reasoning="\n\n".join(str(part["text"]) for part in segment.parts if part["type"] == "reasoning"),
        calls=calls,
        reason="tool_calls" if calls else REASONS.get(str(metadata.get("ending")), "stop"),
        usage=_usage(await ship.store.ledger.usage("", str(admitted.thread_id), outcome.run_id), segment),
        created=seconds(metadata.get("timestamp")),
        problem=failure(outcome, has_acted=bool(metadata.get("begun")))
        if outcome.status == "failed"
        else None,
    )


def lost() -> Conclusion:
    """Say that the process which worked a run is gone; whoever takes it up tells this request no more."""
    return Conclusion(
        text="",
        reasoning="",
        calls=[],
        reason="stop",
        usage={},
        created=0,
        problem=ApiError(503, "unavailable", LOST),
    )


def _calls(thread_id: ThreadId, message: UIMessage, theirs: Any) -> list[JsonObject]:
    """Return a program's calls as it expects them."""
    return [
        {
            "id": send_id(thread_id, part["toolCallId"]),
            "type": "function",
            "function": {
                "name": part["type"].removeprefix("tool-"),
                "arguments": msgspec.json.encode(part["input"]).decode(),
            },
        }
        for part in tool_parts(message)
        if part["toolCallId"] in theirs
    ]


async def _tell_waiting(ship: Ship, thread_id: ThreadId, outcome: Outcome, shown: UIMessage) -> str:
    """Name the calls that a person must look at elsewhere: nothing is shown here, so nothing is approved."""
    if outcome.status != "suspended" or not any(
        part["state"] == "approval-requested" for part in tool_parts(shown)
    ):
        return ""
    waiting = await ship.approvals.pending(str(thread_id))
    if not waiting:
        # Somebody was quicker elsewhere, and there is nothing left to look at.
        return ""
    asked = "; ".join(f"`{each.tool}`: {summarise(each)}" for each in waiting)
    name = "waiting" if thread_id.is_listed else "waiting-unlisted"
    return say(ship.config.language, name, what=asked, thread=thread_id)


def _usage(steps: list[StepUsage], segment: Segment) -> JsonObject:
    last = segment.last_step
    own = [each for each in steps if each.step > segment.first_step and (last is None or each.step <= last)]
    given, made = sum(each.input_tokens for each in own), sum(each.output_tokens for each in own)
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": sum(each.cache_read_tokens for each in own)},
    }


def seconds(at: Any) -> int:
    """Return a stored time as seconds; now, when there is none."""
    text = at if isinstance(at, str) else timestamp()
    return int(datetime.fromisoformat(text).timestamp())


def answer_id(admitted: Admitted) -> str:
    """Return the id of the answer; the same request has the same."""
    return f"chatcmpl-{admitted.event.message_id}"


def headers_of(admitted: Admitted) -> dict[str, str]:
    """Name the thread, where a header can."""
    thread_id = str(admitted.thread_id)
    return {THREAD_HEADER: thread_id} if thread_id.isascii() else {}


def completion(own_id: str, model: str, end: Conclusion) -> JsonObject:
    """Return the whole answer."""
    text = "\n\n".join(filter(None, (end.text, end.asked)))
    message: JsonObject = {"role": "assistant", "content": text, "refusal": None}
    if end.reasoning:
        message["reasoning_content"] = end.reasoning
    if end.calls:
        message |= {"tool_calls": end.calls, "content": text or None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": end.reason}
    head = {"id": own_id, "object": "chat.completion", "created": end.created, "model": model}
    return {**head, "choices": [choice], "usage": end.usage}


class ChunkEncoder:
    """Turns our chunks into OpenAI's; parts it has no words for are left out."""

    def __init__(self, admitted: Admitted, model: str, *, tells_usage: bool) -> None:
        self._own = own_round(admitted)
        self._head: JsonObject = {
            "id": answer_id(admitted),
            "object": "chat.completion.chunk",
            "created": seconds(None),
            "model": model,
        }
        self._tells_usage = tells_usage
        # Before the results a request brought stands what its program was told before.
        self._is_open = self._own is None
        self._has_said = False
        self.has_begun = False
        # The head of the response is out, so that no status can tell of trouble any more.
        self.is_sent = False

    def encode(self, chunk: Chunk) -> bytes:
        """Return the bytes of a chunk, none when there is nothing to tell."""
        kind = chunk["type"]
        if is_round(chunk):
            self._is_open = chunk.get("id") == self._own
        elif kind == "encoded":
            return chunk["data"]
        elif kind == "conclusion":
            return self._conclude(chunk["data"])
        elif chunk == chunks.error(CLOSING):
            return _event(_problem(ApiError(503, "unavailable", CLOSING)))
        elif kind == "start" and not self.has_begun:
            self._head["created"] = seconds((chunk.get("messageMetadata") or {}).get("timestamp"))
        elif self._is_open and (delta := self._delta(chunk)):
            return self._choice(delta)
        return b""

    def _delta(self, chunk: Chunk) -> JsonObject | None:
        match chunk["type"]:
            case "text-delta":
                self._has_said = True
                return {"content": chunk["delta"]}
            case "reasoning-delta":
                return {"reasoning_content": chunk["delta"]}
            case _:
                return None

    def _conclude(self, end: Conclusion) -> bytes:
        """Return what stands last; trouble once words are out is told as an event of its own."""
        if end.problem is not None:
            return _event(_problem(end.problem)) if self.has_begun or self.is_sent else b""
        told = b""
        if not self.has_begun and end.text:
            # Nothing ran that could have been followed: an answer to an approval, say.
            self._has_said = True
            told += self._choice({"content": end.text})
        if end.asked:
            told += self._choice({"content": f"\n\n{end.asked}" if self._has_said else end.asked})
        if end.calls:
            told += self._choice({"tool_calls": [{"index": n, **each} for n, each in enumerate(end.calls)]})
        told += self._choice({}, end.reason)
        if self._tells_usage:
            told += _event({**self._head, "choices": [], "usage": end.usage})
        return told + DONE

    def _choice(self, delta: JsonObject, reason: str | None = None) -> bytes:
        first = b""
        if not self.has_begun:
            self.has_begun = True
            first = self._choice({"role": "assistant", "content": ""})
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        body = {**self._head, "choices": [choice]}
        return first + _event({**body, "usage": None} if self._tells_usage else body)


def _problem(error: ApiError) -> JsonObject:
    return msgspec.to_builtins(ClientRefusal(client_problem(error)))


def _event(body: JsonObject) -> bytes:
    return b"data: " + msgspec.json.encode(body) + b"\n\n"
