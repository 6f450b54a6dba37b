"""Generate answers as Gemini streams them, and fold our events into a row as the loop does."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterable
from typing import Any

from hypothesis import strategies as st

from shipmate.models.port import ModelEvent
from shipmate.orchestrator.reduce import Reducer
from shipmate.orchestrator.step import StepReader
from shipmate.values.message import UIMessage
from shipmate.values.sidecar import Sidecar
from tests.support.thread_strategy import json_values

Json = dict[str, Any]
signatures = st.binary(min_size=3, max_size=9).map(lambda raw: base64.b64encode(raw).decode())
words = st.text(st.characters(codec="utf-8"), max_size=6)


@st.composite
def parts(draw: st.DrawFn) -> Json:
    """Make one part of an answer: words, thoughts, a call, each with or without a signature."""
    kind = draw(st.sampled_from(("text", "text", "thought", "call")))
    part: Json
    if kind == "call":
        call: Json = {"name": draw(st.sampled_from(("read", "glob")))}
        call["args"] = draw(st.dictionaries(st.text(max_size=4), json_values, max_size=3))
        if draw(st.booleans()):
            call["id"] = draw(st.sampled_from(("fc_1", "fc_2")))
        part = {"functionCall": call}
    else:
        part = {"text": draw(words), **({"thought": True} if kind == "thought" else {})}
    if draw(st.booleans()):
        part["thoughtSignature"] = draw(signatures)
    return part


@st.composite
def answers(draw: st.DrawFn) -> list[Json]:
    """Make the chunks of one answer that comes to its end."""
    chunks: list[Json] = []
    for _ in range(draw(st.integers(0, 6))):
        candidate: Json = {
            "index": 0,
            "content": {"role": "model", "parts": draw(st.lists(parts(), max_size=3))},
        }
        chunk: Json = {"candidates": [candidate], "modelVersion": "gemini-3-flash", "responseId": "r-1"}
        if draw(st.booleans()):
            chunk["usageMetadata"] = {"promptTokenCount": 9, "totalTokenCount": 9}
        chunks.append(chunk)
    reason = draw(st.sampled_from(("STOP", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")))
    counts = st.integers(0, 10_000)
    usage = {
        key: draw(counts)
        for key in (
            "promptTokenCount",
            "candidatesTokenCount",
            "thoughtsTokenCount",
            "cachedContentTokenCount",
        )
        if draw(st.booleans()) or key == "promptTokenCount"
    }
    chunks.append({"candidates": [{"finishReason": reason, "index": 0}], "usageMetadata": usage})
    return chunks


async def fold(events: Iterable[ModelEvent], model: str) -> tuple[UIMessage, Sidecar]:
    """Make a row of an answer as the loop does, and what stands beside it; every call has run."""

    async def told() -> AsyncIterator[ModelEvent]:
        for event in events:
            yield event

    reducer = Reducer({"id": "a1", "role": "assistant", "parts": []})
    reducer.apply({"type": "start-step"})
    reader = StepReader(reducer.apply, set(), "t")
    await reader.read(told())
    for call in reader.calls:
        reducer.apply({"type": "tool-output-available", "toolCallId": call.call_id, "output": "done"})
    signed = tuple({"by": model, "step": 1, **each} for each in reader.signatures)
    return reducer.message, Sidecar(signatures=signed)
