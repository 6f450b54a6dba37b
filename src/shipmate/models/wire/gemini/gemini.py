"""Speak Gemini's protocol: `streamGenerateContent` of the Gemini API, answered by server-sent events."""

from __future__ import annotations

import re
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
from shipmate.models.wire.file_kind import media_type_of, text_in
from shipmate.models.wire.gemini.gemini_reader import GeminiReader
from shipmate.models.wire.gemini.gemini_schema import fit_schema
from shipmate.models.wire.gemini.gemini_signature import sign_text
from shipmate.models.wire.http.model_path import write_resource
from shipmate.models.wire.wire import AnswerReader, WireSettings
from shipmate.models.wording import WORDING
from shipmate.values.message import JsonObject

# Documented as accepted in place of a signature, for calls that another model made.
UNSIGNED = "skip_thought_signature_validator"
# Models that ask for no signatures, and those that think by a budget or not at all.
BEFORE_SIGNATURES = re.compile(r"gemini-[12]\b|gemma|learnlm")
BUDGETED = re.compile(r"gemini-2\.5-(?!flash-image)")
# Those that take the lowest level of thinking; all others begin at `low`.
MINIMAL = re.compile(r"gemini-3(\.[0-6])?-flash")
BUDGETS = {"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576}
# The least that a model which always thinks takes.
LEAST_BUDGET = 128
CARRIED = frozenset(
    {
        *("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"),
        *("audio/wav", "audio/x-wav", "audio/mp3", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg"),
        *("audio/flac", "audio/m4a", "audio/mp4", "audio/webm", "audio/opus"),
        *("video/mp4", "video/mpeg", "video/mov", "video/quicktime", "video/avi", "video/x-flv"),
        *("video/mpg", "video/webm", "video/wmv", "video/3gpp"),
    }
)
# Types whose bytes tell what they are.
RECOGNISED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
STOPS = 5
SAMPLING = {
    "temperature": "temperature",
    "top_p": "topP",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
}


class GeminiWire:
    """The protocol of the Gemini API."""

    def path(self, settings: WireSettings) -> str:
        """Return where requests go; the key is never part of an address."""
        return f"/v1beta/{write_resource(settings.model)}:streamGenerateContent?alt=sse"

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the header that holds the key."""
        return {"x-goog-api-key": key} if key else {}

    def body(
        self, request: ModelRequest, messages: Sequence[ModelMessage], settings: WireSettings
    ) -> JsonObject:
        """Make the body of a streamed request."""
        body: JsonObject = {}
        if config := make_config(request, settings):
            body["generationConfig"] = config
        if request.tools:
            body["tools"] = [{"functionDeclarations": [declare(tool) for tool in request.tools]}]
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        must_sign = not BEFORE_SIGNATURES.search(settings.model)
        body["contents"] = [write_message(message, must_sign=must_sign) for message in messages]
        return body

    def reader(self, settings: WireSettings) -> AnswerReader:
        """Return a reader for one answer."""
        return GeminiReader(settings)


def make_config(request: ModelRequest, settings: WireSettings) -> JsonObject:
    """Return the settings of a request; what the request itself wants wins."""
    given = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
        **request.sampling,
    }
    config: JsonObject = {
        SAMPLING[key]: value for key, value in given.items() if value is not None and key in SAMPLING
    }
    if "stopSequences" in config:
        config["stopSequences"] = _read_stop(config["stopSequences"])
    if thinking := make_thinking(settings):
        config["thinkingConfig"] = thinking
    return config


def _read_stop(stop: Any) -> list[str]:
    """Return at most as many texts to stop at as Gemini takes."""
    given: Sequence[Any] = [stop] if isinstance(stop, str) else stop if isinstance(stop, Sequence) else []
    return [each for each in given if isinstance(each, str) and each][:STOPS]


def make_thinking(settings: WireSettings) -> JsonObject:
    """Return how hard to think, in the way this model is told; nothing leaves it to the model."""
    model, effort = settings.model, settings.reasoning
    if effort is None or effort not in BUDGETS or "image" in model:
        return {}
    shown = {"includeThoughts": True} if effort != "none" else {}
    if BUDGETED.search(model):
        least = LEAST_BUDGET if "pro" in model else 0
        return {"thinkingBudget": max(least, BUDGETS[effort]), **shown}
    if BEFORE_SIGNATURES.search(model):
        return {}
    if effort in ("none", "minimal"):
        effort = "minimal" if MINIMAL.search(model) else "low"
    return {"thinkingLevel": effort.upper(), **shown}


def declare(tool: ToolSpec) -> JsonObject:
    """Return a tool as Gemini takes it; one without parameters says nothing of them."""
    declaration: JsonObject = {"name": tool.name, "description": tool.description or tool.name}
    schema = fit_schema(tool.schema)
    if schema.get("properties") or schema.get("additionalProperties") or schema.get("anyOf"):
        declaration["parametersJsonSchema"] = schema
    return declaration


def write_message(message: ModelMessage, *, must_sign: bool) -> JsonObject:
    """Return one turn; `must_sign` says that this model refuses calls without a signature."""
    if message.role == "user":
        return {"role": "user", "parts": [write_user_part(block) for block in message.blocks]}
    parts: list[JsonObject] = []
    words = ""
    for block in message.blocks:
        if isinstance(block, ReasoningBlock):
            # It holds what was signed of the words before it.
            parts.extend(sign_text(block, words))
            words = ""
            continue
        if words:
            parts.append({"text": words})
        words = block.text if isinstance(block, TextBlock) else ""
        if isinstance(block, CallBlock):
            parts.append(write_call(block, must_sign=must_sign))
            # Only the first of parallel calls has to bear one.
            must_sign = False
    if words:
        parts.append({"text": words})
    return {"role": "model", "parts": parts or [{"text": WORDING["empty"]}]}


def write_call(block: CallBlock, *, must_sign: bool) -> JsonObject:
    """Return a call with what the model signed of it."""
    part: JsonObject = {"functionCall": {"id": block.id, "name": block.name, "args": block.arguments}}
    signature = block.signature.get("thoughtSignature")
    if isinstance(signature, str) and signature:
        part["thoughtSignature"] = signature
    elif must_sign:
        part["thoughtSignature"] = UNSIGNED
    return part


def write_user_part(block: Block) -> JsonObject:
    """Return a result, a file or words."""
    # Class patterns would take ten times as long, for every block of a history.
    if isinstance(block, TextBlock):
        return {"text": block.text}
    if isinstance(block, ResultBlock):
        key = "output" if block.outcome == "success" else "error"
        response = {"id": block.id, "name": block.name, "response": {key: block.text}}
        return {"functionResponse": response}
    if isinstance(block, FileBlock):
        return write_file(block)
    raise TypeError(f"a person's turn holds no {type(block).__name__}")


def write_file(block: FileBlock) -> JsonObject:
    """Return a file; one that Gemini does not take, or whose bytes are others than it says, in words."""
    known = media_type_of(block)
    declared = block.media_type
    media_type = known or ("" if declared in RECOGNISED else declared)
    if media_type in CARRIED:
        return {"inlineData": {"mimeType": media_type, "data": block.data}}
    return {"text": text_in(block)}
