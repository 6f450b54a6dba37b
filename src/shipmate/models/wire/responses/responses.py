"""Speak OpenAI's Responses protocol, keeping nothing at the provider."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from shipmate.models.neutral import (
    Block,
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.models.port import ModelRequest, ToolSpec
from shipmate.models.wire.file_kind import PDF, media_type_of, text_in
from shipmate.models.wire.responses.openai_family import OpenAIFamily, family_of
from shipmate.models.wire.responses.responses_reader import ResponsesReader
from shipmate.models.wire.tool_schema import shape_schema
from shipmate.models.wire.wire import AnswerReader, WireSettings
from shipmate.values.message import JsonObject

CACHE_KEY_LIMIT = 64
# The shortest answer that may be asked for.
SHORTEST = 16
# What a picture and a PDF may measure in base64.
PICTURE_LIMIT = 20 * 1024 * 1024
PDF_LIMIT = 40 * 1024 * 1024


class ResponsesWire:
    """The Responses protocol."""

    def path(self, settings: WireSettings) -> str:
        """Return where requests go."""
        return "/responses"

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(
        self, request: ModelRequest, messages: Sequence[ModelMessage], settings: WireSettings
    ) -> JsonObject:
        """Make the body of a streamed request; reasoning comes back encrypted, since nothing is stored."""
        family = family_of(settings.model)
        body: JsonObject = {"model": settings.model, "stream": True, "store": False}
        body |= _settings(request, settings, family)
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.system.strip():
            body["instructions"] = request.system
        body["input"] = [item for message in messages for item in _items(message, family)]
        return body

    def reader(self, settings: WireSettings) -> AnswerReader:
        """Return a reader for one answer."""
        return ResponsesReader()


def _settings(request: ModelRequest, settings: WireSettings, family: OpenAIFamily) -> JsonObject:
    wanted = request.sampling
    body: JsonObject = {}
    if family.reasons:
        body["include"] = ["reasoning.encrypted_content"]
    effort = family.effort_for(settings.reasoning)
    if effort:
        body["reasoning"] = {"effort": effort} if effort == "none" else {"effort": effort, "summary": "auto"}
    max_tokens = _number(wanted.get("max_tokens")) or settings.max_tokens
    if max_tokens:
        body["max_output_tokens"] = max(int(max_tokens), SHORTEST)
    if family.takes_sampling(effort):
        for name, usual in (("temperature", settings.temperature), ("top_p", settings.top_p)):
            value = _number(wanted.get(name, usual))
            if value is not None:
                body[name] = value
    if request.cache_key:
        body["prompt_cache_key"] = _cache_key(request.cache_key)
    return body


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _cache_key(key: str) -> str:
    return key if len(key) <= CACHE_KEY_LIMIT else hashlib.blake2b(key.encode(), digest_size=32).hexdigest()


def _tool(tool: ToolSpec) -> JsonObject:
    described = {"description": tool.description} if tool.description.strip() else {}
    shape = {"parameters": shape_schema(tool.schema), "strict": False}
    return {"type": "function", "name": tool.name, **described, **shape}


def _items(message: ModelMessage, family: OpenAIFamily) -> list[JsonObject]:
    return _answer(message.blocks, family) if message.role == "assistant" else _said(message.blocks)


def _said(blocks: Sequence[Block]) -> list[JsonObject]:
    """Write the user's side: each result an item of its own, words and files together in one."""
    items: list[JsonObject] = []
    content: list[JsonObject] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            content.append({"type": "input_text", "text": block.text})
        elif isinstance(block, ResultBlock):
            items.append({"type": "function_call_output", "call_id": block.id, "output": block.text})
        elif isinstance(block, FileBlock):
            content.append(_file(block))
    return [*items, {"role": "user", "content": content}] if content else items


def _answer(blocks: Sequence[Block], family: OpenAIFamily) -> list[JsonObject]:
    """Write the assistant's side in its order; reasoning must lead to something, so none may come last."""
    calls = [place for place, block in enumerate(blocks) if isinstance(block, CallBlock)]
    items: list[JsonObject] = []
    for place, block in enumerate(blocks):
        if isinstance(block, TextBlock):
            item: JsonObject = {"role": "assistant", "content": block.text}
            if family.phase:
                item["phase"] = "commentary" if calls and place < calls[-1] else "final_answer"
            items.append(item)
        elif isinstance(block, CallBlock):
            call = {"call_id": block.id, "name": block.name, "arguments": block.text}
            items.append({"type": "function_call", **call})
        elif isinstance(block, ReasoningBlock):
            items += _reasoning(block)
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _reasoning(block: ReasoningBlock) -> list[JsonObject]:
    """Return a reasoning item as it came; one that is not encrypted is known by its words alone."""
    signed = block.signature
    item_id, summary = signed.get("id"), signed.get("summary")
    item: JsonObject = {"type": "reasoning", "id": item_id, "summary": _texts(summary, "summary_text")}
    if not isinstance(item_id, str) or not item_id:
        return []
    if isinstance(encrypted := signed.get("encrypted_content"), str) and encrypted:
        return [{**item, "encrypted_content": encrypted}]
    content = _texts(signed.get("content"), "reasoning_text")
    return [{**item, "content": content}] if content else []


def _texts(texts: Any, kind: str) -> list[JsonObject]:
    given = texts if isinstance(texts, list) else []
    return [{"type": kind, "text": text} for text in given if isinstance(text, str)]


def _file(block: FileBlock) -> JsonObject:
    kind = media_type_of(block)
    data = f"data:{kind};base64,{block.data}"
    if kind == PDF and len(block.data) <= PDF_LIMIT:
        return {"type": "input_file", "filename": block.name.strip() or "file.pdf", "file_data": data}
    if kind.startswith("image/") and len(block.data) <= PICTURE_LIMIT:
        return {"type": "input_image", "image_url": data, "detail": "auto"}
    return {"type": "input_text", "text": text_in(block)}
