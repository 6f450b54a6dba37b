"""Streams of OpenAI's Chat protocol: as the service sends them, and as other servers do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from openai import omit
from openai.lib.streaming.chat._completions import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from shipmate.models.wire.sse import EventParser
from shipmate.models.wire.wire import AnswerReader
from tests.support.thread_strategy import json_values
from tests.support.wire_course import Told, read_all

Json = dict[str, Any]
pieces = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4)
counts = st.integers(0, 10_000)


def chunk(*choices: Json, **more: Any) -> Json:
    """Make one chunk."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x"}
    return {**head, "choices": list(choices), **more}


def choice(delta: Json, reason: str | None = None) -> Json:
    """Make the one choice of a chunk."""
    return {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}


@st.composite
def streams(draw: st.DrawFn) -> list[Json]:
    """Make a stream as the service sends it; the last chunk holds what was used."""
    chunks = [chunk(choice({"role": "assistant", "content": ""}))]
    if draw(st.booleans()):
        kind = draw(st.sampled_from(("content", "content", "refusal")))
        chunks += [chunk(choice({kind: text})) for text in draw(pieces)]
    calls = draw(st.integers(0, 3))
    for index in range(calls):
        name = draw(st.sampled_from(("read", "glob")))
        function: Json = {"name": name, "arguments": ""}
        first = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
        chunks.append(chunk(choice({"tool_calls": [first]})))
        for text in draw(pieces):
            more = {"index": index, "function": {"arguments": text}}
            chunks.append(chunk(choice({"tool_calls": [more]})))
    ends = ("tool_calls",) if calls else ("stop", "stop", "length", "content_filter")
    chunks.append(chunk(choice({}, draw(st.sampled_from(ends)))))
    if draw(st.booleans()):
        chunks.append(chunk(usage=draw(usages())))
    return chunks


def usages() -> st.SearchStrategy[Json]:
    """Make what was used."""
    return st.fixed_dictionaries(
        {
            "prompt_tokens": counts,
            "completion_tokens": counts,
            "total_tokens": counts,
            "prompt_tokens_details": st.fixed_dictionaries({"cached_tokens": counts}),
            "completion_tokens_details": st.fixed_dictionaries({"reasoning_tokens": counts}),
        }
    )


def write_chunks(chunks: Iterable[Json], *, end: bool = True) -> bytes:
    """Write a stream as it goes over the wire."""
    lines = [f"data: {json.dumps(each, ensure_ascii=False)}\n\n" for each in chunks]
    return "".join([*lines, "data: [DONE]\n\n" if end else ""]).encode()


def accumulate(chunks: Iterable[Json]) -> ChatCompletion:
    """Read a stream with the SDK's own accumulator."""
    state: Any = ChatCompletionStreamState(input_tools=omit, response_format=omit)
    for each in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate(each))
    return state.current_completion_snapshot


@st.composite
def rubbish(draw: st.DrawFn) -> Json:
    """Make something that has the keys of a chunk, and anything in them."""
    call = st.fixed_dictionaries(
        {},
        optional={
            "index": json_values,
            "id": json_values,
            "function": json_values
            | st.fixed_dictionaries({}, optional={"name": json_values, "arguments": json_values}),
        },
    )
    delta = st.fixed_dictionaries(
        {},
        optional={
            "content": json_values,
            "refusal": json_values,
            "reasoning_content": json_values,
            "reasoning": json_values,
            "reasoning_details": json_values
            | st.lists(st.dictionaries(st.sampled_from(("type", "text", "index")), json_values)),
            "tool_calls": json_values | st.lists(call, max_size=3),
            "function_call": json_values,
        },
    )
    one = st.fixed_dictionaries(
        {},
        optional={
            "index": json_values,
            "delta": json_values | delta,
            "message": json_values | delta,
            "finish_reason": json_values | st.sampled_from(("stop", "tool_calls", "error")),
            "error": json_values,
        },
    )
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                "choices": json_values | st.lists(one | json_values, max_size=3),
                "usage": json_values
                | st.dictionaries(st.sampled_from(("prompt_tokens", "cost")), json_values),
                "x_groq": json_values,
                "error": json_values,
                "object": json_values,
            },
        )
    )


def read_pieces(reader: AnswerReader, *pieces: bytes) -> Told:
    """Read an answer from bytes that come in these pieces."""
    parser = EventParser()
    parsed = [event for piece in pieces for event in parser.feed(piece)]
    return read_all(reader, [*parsed, *parser.close()])
