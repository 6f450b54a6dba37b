"""Speak Anthropic's Messages protocol, to Anthropic and to servers that took it over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from shipmate.models.neutral import (
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.models.port import ModelRequest, ToolSpec
from shipmate.models.wire.anthropic.anthropic_reader import AnthropicReader
from shipmate.models.wire.file_kind import PDF, media_type_of, text_in
from shipmate.models.wire.tool_schema import shape_schema
from shipmate.models.wire.wire import AnswerReader, WireSettings
from shipmate.values.message import JsonObject

# The version that every server of this protocol knows.
VERSION = "2023-06-01"
# Thinking between calls, and leave to drop thinking that was signed over another beginning of the thread.
BETAS = "interleaved-thinking-2025-05-14,thinking-binding-controls-2026-08-01"
CACHED: JsonObject = {"type": "ephemeral"}
# What a picture and a PDF may measure in base64.
PICTURE_LIMIT = 5 * 1024 * 1024
PDF_LIMIT = 30 * 1024 * 1024
TITLE_LIMIT = 200
NO_TOOL: JsonObject = {"name": "none", "input_schema": {"type": "object", "properties": {}}}

THINKING_TYPES = ("thinking", "redacted_thinking")
# How many tokens a family that wants a budget may think, by how hard it is asked to.
BUDGETS = {"minimal": 1024, "low": 2048, "medium": 10_000, "high": 16_384}
EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
SMALLEST_BUDGET = 1024
# Newer models send the words of their thinking only when asked.
ADAPTIVE: JsonObject = {"type": "adaptive", "display": "summarized"}
# A changed file gives a thread another beginning; thinking signed over the old one is dropped, not refused.
UNBOUND: JsonObject = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}


class ClaudeFamily(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What models whose names begin alike take."""

    names: tuple[str, ...]
    # How thinking is asked for.
    thinking: Literal["adaptive", "budget", "none"]
    # Whether it thinks unless told otherwise, and how it is told; None where it cannot be.
    is_on: bool = False
    off: Literal["disabled", "between_tools"] | None = None
    effort: bool = False
    sampling: bool = True
    # Whether what it thought is refused after another beginning than it was thought over.
    binds: bool = False
    # The length of an answer when nobody says one.
    max_tokens: int

    @property
    def is_claude(self) -> bool:
        """Return whether Anthropic made it."""
        return self.names != ("",)

    def thinking_for(self, reasoning: str | None, max_tokens: int) -> JsonObject | None:
        """Return how a request asks for thinking, None where it says nothing about it."""
        if reasoning == "none" and self.off:
            return {"type": self.off}
        if self.thinking == "adaptive" and (self.is_on or reasoning not in (None, "none")):
            return ADAPTIVE | UNBOUND if self.binds else ADAPTIVE
        if self.thinking != "budget" or reasoning in (None, "none") or max_tokens < 2 * SMALLEST_BUDGET:
            return None
        budget = BUDGETS.get(reasoning, BUDGETS["medium"])
        return {"type": "enabled", "budget_tokens": min(budget, max_tokens // 2)}

    def effort_for(self, reasoning: str | None) -> str | None:
        """Return how hard a request asks the model to try, None where it does not say."""
        if not self.effort or reasoning is None:
            return None
        if reasoning == "none":
            return "low" if self.is_on and self.off is None else None
        return EFFORTS.get(reasoning)

    def returns_thinking(self, reasoning: str | None) -> bool:
        """Return whether what it thought goes back to it; with thinking off that would be refused."""
        if reasoning == "none":
            return self.is_on and self.off != "disabled"
        return self.thinking != "none" and (reasoning is not None or self.is_on)


@lru_cache(256)
def family_of(model: str) -> ClaudeFamily:
    """Return the family of a model, whatever a gateway puts before its name."""
    at = model.find("claude-")
    name = model[at:].replace(".", "-") if at >= 0 else ""
    return next(family for family in _families() if name.startswith(family.names))


@cache
def _families() -> tuple[ClaudeFamily, ...]:
    data = Path(__file__).with_name("claude.json").read_bytes()
    return msgspec.json.decode(data, type=tuple[ClaudeFamily, ...])


class AnthropicWire:
    """The Messages protocol."""

    def path(self, settings: WireSettings) -> str:
        """Return where requests go."""
        return "/v1/messages"

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return version and key; Anthropic prefers the key's own header, other servers know one of both."""
        named = {"anthropic-version": VERSION, "anthropic-beta": BETAS}
        return {"x-api-key": key, "authorization": f"Bearer {key}", **named} if key else named

    def body(
        self, request: ModelRequest, messages: Sequence[ModelMessage], settings: WireSettings
    ) -> JsonObject:
        """Make the body of a streamed request.

        One mark on the system text lets all threads of a member share it. The mark for the thread itself is
        the request's own: it moves along without a byte of the messages changing.
        """
        family = family_of(settings.model)
        body: JsonObject = {"model": settings.model, "stream": True, "cache_control": CACHED}
        body |= _settings(request, messages, settings, family)
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        elif any(isinstance(block, CallBlock) for message in messages for block in message.blocks):
            # Calls of the past want tools, even where none is on offer any more.
            body |= {"tool_choice": {"type": "none"}, "tools": [NO_TOOL]}
        if request.system.strip():
            body["system"] = [{"type": "text", "text": request.system, "cache_control": CACHED}]
        body["messages"] = _messages(messages, has_thinking=family.returns_thinking(settings.reasoning))
        return body

    def reader(self, settings: WireSettings) -> AnswerReader:
        """Return a reader for one answer."""
        return AnthropicReader()


def _settings(
    request: ModelRequest, messages: Sequence[ModelMessage], settings: WireSettings, family: ClaudeFamily
) -> JsonObject:
    wanted = request.sampling
    max_tokens = _positive(wanted.get("max_tokens")) or settings.max_tokens or family.max_tokens
    body: JsonObject = {"max_tokens": max_tokens}
    thinking = family.thinking_for(settings.reasoning, max_tokens)
    if thinking and thinking["type"] == "enabled" and _loop_began_without(messages):
        thinking = None
    if thinking:
        body["thinking"] = thinking
    if effort := family.effort_for(settings.reasoning):
        body["output_config"] = {"effort": effort}
    if family.sampling and (thinking is None or thinking["type"] == "disabled"):
        body |= _sampling(wanted, settings, family)
    if stops := _stops(wanted.get("stop")):
        body["stop_sequences"] = stops
    return body


def _loop_began_without(messages: Sequence[ModelMessage]) -> bool:
    """Return whether calls are being answered that the model asked for without signed thinking.

    A turn goes on until its calls are answered, and one that began without thinking may not take it up.
    """
    began: ModelMessage | None = None
    for message in reversed(messages):
        if message.role == "assistant":
            began = message
        elif not isinstance(message.blocks[0], ResultBlock):
            break
    if (
        began is None
        or messages[-1].role == "assistant"
        or not isinstance(messages[-1].blocks[0], ResultBlock)
    ):
        return False
    first = began.blocks[0]
    return not (isinstance(first, ReasoningBlock) and _thinking(first))


def _sampling(wanted: JsonObject, settings: WireSettings, family: ClaudeFamily) -> JsonObject:
    temperature = wanted.get("temperature", settings.temperature)
    top_p = wanted.get("top_p", settings.top_p)
    body: JsonObject = {}
    if isinstance(temperature, int | float):
        body["temperature"] = min(temperature, 1) if family.is_claude else temperature
    # Claude takes one of the two.
    if isinstance(top_p, int | float) and not (body and family.is_claude):
        body["top_p"] = top_p
    return body


def _stops(stop: Any) -> list[str]:
    """Return the texts that end an answer; blank ones are refused."""
    stops = stop if isinstance(stop, list) else [stop]
    return [each for each in stops if isinstance(each, str) and each.strip()]


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _tool(tool: ToolSpec) -> JsonObject:
    described = {"description": tool.description} if tool.description.strip() else {}
    return {"name": tool.name, **described, "input_schema": shape_schema(tool.schema)}


def _messages(messages: Sequence[ModelMessage], *, has_thinking: bool) -> list[JsonObject]:
    """Write the messages; one of which nothing is left is left out, and its neighbours become one."""
    written: list[JsonObject] = []
    for message in messages:
        content = _content(message, has_thinking=has_thinking)
        if not content:
            continue
        if written and written[-1]["role"] == message.role:
            written[-1]["content"] += content
        else:
            written.append({"role": message.role, "content": content})
    return written


def _content(message: ModelMessage, *, has_thinking: bool) -> list[JsonObject]:
    content: list[JsonObject] = []
    for block in message.blocks:
        if isinstance(block, TextBlock):
            content.append({"type": "text", "text": block.text})
        elif not isinstance(block, ReasoningBlock):
            content.append(_block(block))
        elif has_thinking and (thinking := _thinking(block)):
            content.append(thinking)
    # Thinking that came to nothing may not end a message.
    while content and content[-1]["type"] in THINKING_TYPES:
        content.pop()
    return content


def _thinking(block: ReasoningBlock) -> JsonObject | None:
    signature, data = block.signature.get("signature"), block.signature.get("data")
    if isinstance(signature, str) and signature:
        return {"type": "thinking", "thinking": block.text, "signature": signature}
    if isinstance(data, str) and data:
        return {"type": "redacted_thinking", "data": data}
    return None


def _block(block: FileBlock | CallBlock | ResultBlock) -> JsonObject:
    if isinstance(block, CallBlock):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}
    if isinstance(block, ResultBlock):
        result: JsonObject = {"type": "tool_result", "tool_use_id": block.id, "content": block.text}
        return result if block.outcome == "success" else {**result, "is_error": True}
    return _file(block)


def _file(block: FileBlock) -> JsonObject:
    kind = media_type_of(block)
    source: JsonObject = {"type": "base64", "media_type": kind, "data": block.data}
    if kind == PDF and len(block.data) <= PDF_LIMIT:
        title = {"title": block.name[:TITLE_LIMIT]} if block.name.strip() else {}
        return {"type": "document", "source": source, **title}
    if kind.startswith("image/") and len(block.data) <= PICTURE_LIMIT:
        return {"type": "image", "source": source}
    return {"type": "text", "text": text_in(block)}
