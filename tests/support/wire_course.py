"""Courses and answers for tests of wires: what goes out in neutral form, and what was told in short."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from shipmate.models.neutral import Block, ModelMessage, ReasoningBlock
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolSpec,
)
from shipmate.models.to_model import to_model_messages
from shipmate.models.wire.sse import EventParser
from shipmate.models.wire.wire import AnswerReader
from shipmate.values.message import JsonObject
from tests.support.thread_strategy import threads

TOOLS = (
    ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("choose", "Choose.", {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"required": []}]}),
    ToolSpec("now", "", {}),
)
Json = dict[str, Any]


def request(**more: Any) -> ModelRequest:
    """Make a request; wires take its messages in neutral form beside it."""
    fields: JsonObject = {"system": "Be brief.", "tools": TOOLS, "messages": (), **more}
    return ModelRequest(**fields)


@st.composite
def courses(draw: st.DrawFn, sign: Callable[[int], JsonObject]) -> list[ModelMessage]:
    """Make a course of any shape in neutral form, with signed thinking wherever a model may have had some."""
    course: list[ModelMessage] = []
    for place, message in enumerate(to_model_messages(draw(threads()))):
        blocks = list(message.blocks)
        if message.role == "assistant":
            for spot in sorted(draw(st.sets(st.integers(0, len(blocks)), max_size=3)), reverse=True):
                blocks.insert(
                    spot, ReasoningBlock(draw(st.sampled_from(("", "Hm."))), sign(place * 10 + spot))
                )
        course.append(ModelMessage(message.role, blocks))
    return course


def beginnings(course: Sequence[ModelMessage]) -> Iterator[list[ModelMessage]]:
    """Yield each beginning of a course with which a request would be sent."""
    for end, message in enumerate(course, 1):
        if message.role == "user":
            yield list(course[:end])


def blocks_of(course: Iterable[ModelMessage], kind: type[Block]) -> list[Any]:
    """Return all blocks of one kind."""
    return [block for message in course for block in message.blocks if isinstance(block, kind)]


@dataclass
class Told:
    """What a reader told, in short."""

    parts: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    finish: Finish | None = None

    @property
    def words(self) -> str:
        """Return all words, joined."""
        return "".join(text for kind, text in self.parts if kind == "text")


def sum_up(events: Iterable[ModelEvent]) -> Told:
    """Join what was told piece by piece; announced calls must be those that come in the end."""
    told = Told()
    announced: dict[str, str] = {}
    open_kind = ""
    for event in events:
        assert told.finish is None
        kind = "text" if isinstance(event, TextDelta) else "reasoning"
        match event:
            case TextDelta(text) | ReasoningDelta(text):
                if open_kind == kind:
                    told.parts[-1] = (kind, told.parts[-1][1] + text)
                else:
                    told.parts.append((kind, text))
                open_kind = kind
            case ReasoningEnd(signature):
                if open_kind != "reasoning":
                    told.parts.append(("reasoning", ""))
                told.parts[-1] = ("thought", (told.parts[-1][1], signature))
                open_kind = ""
            case ToolCallDelta(call_id, name, arguments):
                if call_id not in announced:
                    told.parts.append(("call", (call_id, name)))
                    open_kind = ""
                announced[call_id] = announced.get(call_id, "") + arguments
            case ToolCall():
                assert call_is_announced(event, announced)
                told.calls.append(event)
            case Finish():
                told.finish = event
            case _:
                raise AssertionError(event)
    return told


def call_is_announced(call: ToolCall, announced: dict[str, str]) -> bool:
    """Return whether what was announced of a call is what it came to, or nothing was of its arguments."""
    return announced.get(call.call_id) in (call.arguments, "")


def read_all(reader: AnswerReader, events: Iterable[tuple[str, Json | bytes]]) -> Told:
    """Read a whole answer."""
    found: list[ModelEvent] = []
    for name, body in events:
        found.extend(reader.take(name, body if isinstance(body, bytes) else json.dumps(body).encode()))
    found.extend(reader.close())
    return sum_up(found)


def write_stream(events: Iterable[tuple[str, Json]]) -> bytes:
    """Write a stream as it goes over the wire."""
    return b"".join(
        f"event: {name}\ndata: {json.dumps(body, ensure_ascii=False)}\n\n".encode() for name, body in events
    )


def read_bytes(reader: AnswerReader, *pieces: bytes) -> Told:
    """Read an answer from bytes that come in these pieces."""
    parser = EventParser()
    parsed = [event for piece in pieces for event in parser.feed(piece)]
    return read_all(reader, [*parsed, *parser.close()])
