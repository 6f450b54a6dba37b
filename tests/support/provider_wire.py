"""Write scripted replies in the streaming formats of Anthropic, OpenAI Chat, OpenAI Responses and Google."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """Ask for one tool call; `arguments` is sent as written, JSON or not."""

    name: str
    arguments: str = "{}"
    call_id: str = "call_1"


@dataclass(frozen=True)
class Reply:
    """Say how the server answers one request."""

    text: str = ""
    thinking: str = ""
    signature: str = "c2lnbmF0dXJl"
    calls: tuple[Call, ...] = ()
    status: int = 200
    error: str = ""
    error_type: str = "invalid_request_error"
    error_code: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    # Drop the connection after this many events.
    cut_after: int | None = None
    # End the body properly after this many events, so that only the answer is incomplete.
    end_after: int | None = None
    # Send these bytes as the body instead of events.
    rubbish: bytes | None = None
    # Seconds before the first byte, and between events.
    delay: float = 0
    pace: float = 0
    # How many pieces the text comes in.
    deltas: int = 4
    input_tokens: int = 11
    output_tokens: int = 7
    cached_tokens: int = 0
    # Why it ended, one of `ENDINGS`; as it was by itself when empty.
    ending: str = ""


# How each protocol says that an answer was cut.
ENDINGS = {
    "anthropic": {"length": "max_tokens", "content-filter": "refusal"},
    "chat": {"length": "length", "content-filter": "content_filter"},
    "responses": {"length": "max_output_tokens", "content-filter": "content_filter"},
    "google": {"length": "MAX_TOKENS", "content-filter": "SAFETY"},
}


def say(text: str, **more: Any) -> Reply:
    """Answer with words."""
    return Reply(text=text, **more)


def ask_tools(*calls: Call, **more: Any) -> Reply:
    """Answer with tool calls."""
    return Reply(calls=calls, **more)


def refuse(status: int, error: str, *, kind: str = "invalid_request_error", **more: Any) -> Reply:
    """Answer with an HTTP error."""
    return Reply(status=status, error=error, error_type=kind, **more)


def pieces(text: str, count: int) -> list[str]:
    """Split a text into at most `count` pieces."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[at : at + size] for at in range(0, len(text), size)]


def error_body(protocol: str, reply: Reply) -> Json:
    """Write an error the way the provider does."""
    if protocol == "anthropic":
        return {"type": "error", "error": {"type": reply.error_type, "message": reply.error}}
    if protocol == "google":
        return {"error": {"code": reply.status, "message": reply.error, "status": reply.error_type}}
    return {"error": {"message": reply.error, "type": reply.error_type, "code": reply.error_code}}


def encode(protocol: str, reply: Reply, model: str) -> Iterator[bytes]:
    """Write a reply as the server-sent events of a protocol."""
    writer = {"anthropic": _anthropic, "chat": _chat, "responses": _responses, "google": _google}[protocol]
    return writer(reply, model)


def _event(body: Json, *, named: bool = True) -> bytes:
    head = f"event: {body['type']}\n".encode() if named else b""
    return head + b"data: " + json.dumps(body).encode() + b"\n\n"


def _anthropic(reply: Reply, model: str) -> Iterator[bytes]:
    usage = {
        "input_tokens": reply.input_tokens,
        "output_tokens": 1,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": reply.cached_tokens,
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    yield _event({"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}})
    for index, (block, deltas) in enumerate(_anthropic_blocks(reply)):
        yield _event({"type": "content_block_start", "index": index, "content_block": block})
        for delta in deltas:
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    usual = "tool_use" if reply.calls else "end_turn"
    stop = {"stop_reason": ENDINGS["anthropic"].get(reply.ending, usual), "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": stop, "usage": {"output_tokens": reply.output_tokens}})
    yield _event({"type": "message_stop"})


def _anthropic_blocks(reply: Reply) -> Iterator[tuple[Json, list[Json]]]:
    if reply.thinking:
        deltas: list[Json] = [
            {"type": "thinking_delta", "thinking": text} for text in pieces(reply.thinking, reply.deltas)
        ]
        deltas.append({"type": "signature_delta", "signature": reply.signature})
        yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if reply.text:
        texts = pieces(reply.text, reply.deltas)
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in texts]
    for call in reply.calls:
        block = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}
        parts = pieces(call.arguments, 2)
        yield block, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def _chat(reply: Reply, model: str) -> Iterator[bytes]:
    base: Json = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return _event(
            {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, named=False
        )

    yield chunk({"role": "assistant", "content": ""})
    for text in pieces(reply.thinking, reply.deltas):
        yield chunk({"reasoning_content": text})
    for text in pieces(reply.text, reply.deltas):
        yield chunk({"content": text})
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        opening = {"index": index, "id": call.call_id, "type": "function", "function": function}
        yield chunk({"tool_calls": [opening]})
        for part in pieces(call.arguments, 2):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, ENDINGS["chat"].get(reply.ending, "tool_calls" if reply.calls else "stop"))
    usage = {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
    }
    yield _event({**base, "choices": [], "usage": usage}, named=False)
    yield b"data: [DONE]\n\n"


def _responses(reply: Reply, model: str) -> Iterator[bytes]:
    number = iter(range(10_000))

    def event(kind: str, **more: Any) -> bytes:
        return _event({"type": kind, "sequence_number": next(number), **more})

    response: Json = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    yield event("response.created", response=response)
    items: list[Json] = []
    for index, (item, inner) in enumerate(_response_items(reply)):
        opening = {**item, "status": "in_progress"}
        if item["type"] == "function_call":
            opening["arguments"] = ""
        yield event("response.output_item.added", output_index=index, item=opening)
        for kind, more in inner:
            yield event(kind, output_index=index, item_id=item["id"], **more)
        yield event("response.output_item.done", output_index=index, item={**item, "status": "completed"})
        items.append({**item, "status": "completed"})
    usage = {
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "input_tokens_details": {"cached_tokens": reply.cached_tokens},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    done = {**response, "status": "completed", "output": items, "usage": usage}
    if reason := ENDINGS["responses"].get(reply.ending):
        cut = {**done, "status": "incomplete", "incomplete_details": {"reason": reason}}
        yield event("response.incomplete", response=cut)
        return
    yield event("response.completed", response=done)


def _response_items(reply: Reply) -> Iterator[tuple[Json, list[tuple[str, Json]]]]:
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        item: Json = {
            "id": "rs_1",
            "type": "reasoning",
            "summary": summary,
            "encrypted_content": reply.signature,
        }
        opened = {"summary_index": 0, "part": {"type": "summary_text", "text": ""}}
        events: list[tuple[str, Json]] = [("response.reasoning_summary_part.added", opened)]
        for text in pieces(reply.thinking, reply.deltas):
            events.append(("response.reasoning_summary_text.delta", {"summary_index": 0, "delta": text}))
        yield item, events
    if reply.text:
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}
        events = [("response.content_part.added", {"content_index": 0, "part": {**part, "text": ""}})]
        for text in pieces(reply.text, reply.deltas):
            events.append(("response.output_text.delta", {"content_index": 0, "delta": text, "logprobs": []}))
        events.append(("response.output_text.done", {"content_index": 0, "text": reply.text, "logprobs": []}))
        yield item, events
    for index, call in enumerate(reply.calls):
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": call.call_id, "name": call.name}
        item["arguments"] = call.arguments
        events = [
            ("response.function_call_arguments.delta", {"delta": part}) for part in pieces(call.arguments, 2)
        ]
        events.append(
            ("response.function_call_arguments.done", {"arguments": call.arguments, "name": call.name})
        )
        yield item, events


def _google(reply: Reply, model: str) -> Iterator[bytes]:
    def chunk(parts: list[Json], **more: Any) -> bytes:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
        return _event({"candidates": [candidate], "modelVersion": model, "responseId": "r1"}, named=False)

    for text in pieces(reply.thinking, reply.deltas):
        yield chunk([{"text": text, "thought": True}])
    for text in pieces(reply.text, reply.deltas):
        yield chunk([{"text": text}])
    signature = base64.b64encode(reply.signature.encode()).decode()
    for call in reply.calls:
        function = {"name": call.name, "args": json.loads(call.arguments), "id": call.call_id}
        yield chunk([{"functionCall": function, "thoughtSignature": signature}])
    usage = {
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": reply.output_tokens,
        "totalTokenCount": reply.input_tokens + reply.output_tokens,
    }
    reason = ENDINGS["google"].get(reply.ending, "STOP")
    last = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason, "index": 0}
    body = {"candidates": [last], "usageMetadata": usage, "modelVersion": model, "responseId": "r1"}
    yield _event(body, named=False)
