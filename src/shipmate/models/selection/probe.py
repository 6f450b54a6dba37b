"""Ask a model one real question, and say what was measured."""

from __future__ import annotations

import time
from contextlib import aclosing
from importlib import import_module

import msgspec

from shipmate.models.port import (
    Finish,
    Model,
    ModelNotice,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from shipmate.models.relay import relay
from shipmate.values.message import new_id, user_message

REPLY_LIMIT = 200
# Models that think before they speak need room for it.
TOKENS = 512
QUESTION = "Answer with one short word: hello"
CALLED = "Call the tool `report` with the word `blue`. Say nothing else."
REPORT = ToolSpec(
    "report",
    "Report a word.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What one request showed: who answered, how fast, and what it took."""

    model: str
    reply: str
    # Until the first piece of the answer, and until its end.
    first_ms: int
    total_ms: int
    usage: Usage
    calls: tuple[ToolCall, ...] = ()


async def ask_once(model: Model, *, with_tool: bool = False) -> Measured:
    """Ask one short question, or for one call of a tool that does nothing; trouble is raised as it comes."""
    words = CALLED if with_tool else QUESTION
    request = ModelRequest(
        system="Answer briefly.",
        messages=[user_message(new_id("test"), words)],
        tools=[REPORT] if with_tool else [],
        sampling={"max_tokens": TOKENS},
    )
    if model.name != "rehearsal":
        # Loaded before the clock starts, which measures the model.
        for name in (
            "httpcore2",
            "shipmate.models.wire.http.http_answer",
            "shipmate.models.wire.http.network",
        ):
            import_module(name)
    began = time.perf_counter()
    first: float | None = None
    said = ""
    calls: list[ToolCall] = []
    finish = Finish("other")
    async with aclosing(relay(model, request)) as events:
        async for event in events:
            if first is None and not isinstance(event, ModelNotice):
                first = time.perf_counter()
            match event:
                case TextDelta():
                    said = (said + event.text)[:REPLY_LIMIT]
                case ToolCall():
                    calls.append(event)
                case Finish():
                    finish = event
                case _:
                    pass
    ended = time.perf_counter()
    return Measured(
        model=finish.model or model.name,
        reply=said.strip(),
        first_ms=round(((first or ended) - began) * 1000),
        total_ms=round((ended - began) * 1000),
        usage=finish.usage,
        calls=tuple(calls),
    )


def is_right_call(measured: Measured) -> bool:
    """Return whether the one tool on offer was called once, with arguments that fit."""
    if len(measured.calls) != 1 or measured.calls[0].name != REPORT.name:
        return False
    try:
        given = msgspec.json.decode(measured.calls[0].arguments, type=dict[str, object])
    except msgspec.DecodeError:
        return False
    return isinstance(given.get("word"), str)
