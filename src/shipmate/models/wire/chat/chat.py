"""OpenAI Chat Completions, and what all the servers that call themselves compatible with it take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from shipmate.models.port import ModelEvent, ModelRequest, ReasoningDelta, ReasoningEnd, TextDelta, ToolSpec
from shipmate.models.wire.chat.chat_reader import ChatReader
from shipmate.models.wire.chat.dialect import PICTURES, Dialect, find_dialect, fit_dialect, name_effort
from shipmate.models.wire.file_kind import media_type_of, sound_of, text_in
from shipmate.models.wire.responses.openai_family import family_of
from shipmate.models.wire.tool_schema import shape_schema
from shipmate.models.wire.wire import AnswerReader, WireError, WireSettings
from shipmate.models.wording import WORDING
from shipmate.values.message import JsonObject

# What models that reason refuse; words to stop at are looked for by us as well.
REFUSED = ("temperature", "top_p", "stop")
SAMPLING = ("temperature", "top_p", "stop", "seed", "max_tokens")

OPEN, CLOSE = "<think>", "</think>"
# Blanks that may stand before it; a text with more of them has no thinking.
BLANK_LIMIT = 1_000


class ThinkReader:
    """A reader whose text begins with thinking, if it does."""

    def __init__(self, inner: AnswerReader) -> None:
        self._inner = inner
        self._held = ""
        # Where the text stands: at its start, in the thinking, or among words.
        self._state = "start"
        # Line breaks right behind a tag belong to it.
        self._skips = False

    @property
    def done(self) -> bool:
        """Return whether nothing more is to come."""
        return self._inner.done

    @property
    def finished(self) -> bool:
        """Return whether the end was told."""
        return self._inner.finished

    def take(self, event: str, data: bytes) -> Iterator[ModelEvent]:
        """Read one server-sent event."""
        yield from self._pass(self._inner.take(event, data))

    def close(self) -> Iterator[ModelEvent]:
        """End the answer."""
        yield from self._pass(self._inner.close())

    def release(self) -> Iterator[ModelEvent]:
        """Tell what is held back, for an answer that ends here."""
        yield from self._pass(self._inner.release())
        yield from self._flush()

    def _flush(self) -> Iterator[ModelEvent]:
        held, self._held = self._held, ""
        if self._state == "thinking":
            yield from (ReasoningDelta(held) for _ in range(bool(held)))
            yield ReasoningEnd()
        elif held:
            yield TextDelta(held)
        self._state = "words"

    def _pass(self, events: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
        try:
            for event in events:
                if not isinstance(event, TextDelta):
                    if self._state != "words":
                        yield from self._flush()
                    yield event
                else:
                    yield from self._read(self._held + self._skip(event.text))
        except WireError:
            yield from self._flush()
            raise

    def _skip(self, text: str) -> str:
        if self._skips:
            text = text.lstrip("\n")
            self._skips = not text
        return text

    def _read(self, text: str) -> Iterator[ModelEvent]:
        if self._state == "words":
            if text:
                yield TextDelta(text)
            return
        self._held = text
        if self._state == "start":
            start = text.lstrip()
            if start.startswith(OPEN):
                self._state, self._skips = "thinking", True
                self._held = self._skip(start[len(OPEN) :])
            elif not OPEN.startswith(start) or len(text) > BLANK_LIMIT:
                yield from self._flush()
                return
        if self._state == "thinking":
            yield from self._think(self._held)

    def _think(self, text: str) -> Iterator[ModelEvent]:
        thought, close, rest = text.partition(CLOSE)
        if close:
            self._held = ""
            if thought:
                yield ReasoningDelta(thought)
            yield ReasoningEnd()
            self._state, self._skips = "words", True
            if words := self._skip(rest):
                yield TextDelta(words)
            return
        kept = next((size for size in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:size])), 0)
        said, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if said:
            yield ReasoningDelta(said)


class ChatWire:
    """The Chat protocol in the dialect of one provider."""

    def path(self, settings: WireSettings) -> str:
        """Return where requests go."""
        return "/chat/completions"

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the key as the protocol sends it."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(
        self, request: ModelRequest, messages: Sequence[ModelMessage], settings: WireSettings
    ) -> JsonObject:
        """Make the body of a streamed request."""
        dialect = fit_dialect(settings.provider, settings.model)
        body: JsonObject = {"model": settings.model, "stream": True}
        if dialect.asks_usage:
            body["stream_options"] = {"include_usage": True}
        body |= _write_sampling(request, settings, dialect)
        if dialect.cache_key and request.cache_key:
            body["prompt_cache_key"] = request.cache_key[:64]
        if request.tools:
            body["tools"] = [_write_tool(tool) for tool in request.tools]
        said: list[JsonObject] = []
        if request.system.strip():
            said.append({"role": "system", "content": request.system})
        for message in messages:
            said.extend(_write_message(message, dialect))
        body["messages"] = said
        return body

    def reader(self, settings: WireSettings) -> AnswerReader:
        """Return a reader for one answer."""
        dialect = find_dialect(settings.provider)
        reader = ChatReader(dialect)
        return ThinkReader(reader) if dialect.has_tags else reader


def _write_sampling(request: ModelRequest, settings: WireSettings, dialect: Dialect) -> JsonObject:
    given = {"temperature": settings.temperature, "top_p": settings.top_p, "max_tokens": settings.max_tokens}
    wanted = {**given, **request.sampling}
    effort = settings.reasoning
    if dialect.has_families:
        family = family_of(settings.model)
        effort = family.effort_for(effort)
        if not family.takes_sampling(effort):
            wanted |= dict.fromkeys(REFUSED)
    names = {"max_tokens": dialect.max_tokens, "seed": dialect.seed}
    fields = {names.get(key, key): wanted[key] for key in SAMPLING if wanted.get(key) is not None}
    return fields | name_effort(dialect, effort)


def _write_tool(tool: ToolSpec) -> JsonObject:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": shape_schema(tool.schema),
    }
    return {"type": "function", "function": function}


def _write_message(message: ModelMessage, dialect: Dialect) -> Iterable[JsonObject]:
    plain = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    if plain and len(plain) == len(message.blocks) and (message.role == "assistant" or not dialect.parts):
        # Nearly all there is in a long history: written without a look at what else there could be.
        return [{"role": message.role, "content": "\n\n".join(plain) or WORDING["empty"]}]
    if message.role == "assistant":
        return [_write_answer(message.blocks, dialect)]
    said: list[JsonObject] = []
    words: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ResultBlock):
            said.append({"role": "tool", "tool_call_id": block.id, "content": _write_result(block)})
        else:
            words.append(block)
    if words:
        said.append({"role": "user", "content": _write_words(words, dialect)})
    return said


def _write_result(block: ResultBlock) -> str:
    # The protocol has no mark for errors, so the words have to say it.
    return f"Error: {block.text}" if block.outcome == "failed" else block.text


def _write_words(blocks: Sequence[Block], dialect: Dialect) -> str | list[JsonObject]:
    parts = [part for block in blocks if (part := _write_part(block, dialect)) is not None]
    if not dialect.parts and all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _write_part(block: Block, dialect: Dialect) -> JsonObject | None:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if not isinstance(block, FileBlock):
        return None
    if dialect.hears and (sound := sound_of(block)):
        return {"type": "input_audio", "input_audio": {"data": block.data, "format": sound}}
    kind = media_type_of(block)
    if kind not in dialect.files:
        return {"type": "text", "text": text_in(block)}
    url = f"data:{kind};base64,{block.data}"
    if kind in PICTURES:
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": block.name or "file.pdf", "file_data": url}}


def _write_answer(blocks: Sequence[Block], dialect: Dialect) -> JsonObject:
    words = [block.text for block in blocks if isinstance(block, TextBlock)]
    calls = [_write_call(block) for block in blocks if isinstance(block, CallBlock)]
    message: JsonObject = {"role": "assistant"}
    message |= _write_thoughts([block for block in blocks if isinstance(block, ReasoningBlock)], dialect)
    if dialect.needs_thought and calls and dialect.thought:
        message.setdefault(dialect.thought, "")
    # Servers refuse empty words, and none at all unless there are calls.
    message["content"] = "\n\n".join(words) or (None if calls else WORDING["empty"])
    if calls:
        message["tool_calls"] = calls
    return message


def _write_thoughts(blocks: Sequence[ReasoningBlock], dialect: Dialect) -> JsonObject:
    if not blocks or dialect.thought is None:
        return {}
    if dialect.thought == "reasoning_details":
        details: list[Any] = []
        for block in blocks:
            given = block.signature.get("details")
            details.extend(given if isinstance(given, list) else [])
        return {"reasoning_details": details} if details else {}
    return {dialect.thought: "\n\n".join(block.text for block in blocks)}


def _write_call(block: CallBlock) -> JsonObject:
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": block.text}}
