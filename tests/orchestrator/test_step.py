"""A model's answer is bounded: its words, its calls, their arguments."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from shipmate.errors import ModelStreamError
from shipmate.models.port import Finish, ModelEvent, TextDelta, ToolCall, ToolCallDelta
from shipmate.orchestrator.step import ANSWER_LIMIT, CALL_LIMIT, ID_LIMIT, StepReader
from shipmate.values.chunk import Chunk


async def endless(event: ModelEvent) -> AsyncIterator[ModelEvent]:
    while True:
        yield event


async def several(*events: ModelEvent) -> AsyncIterator[ModelEvent]:
    for event in events:
        yield event


def reader() -> tuple[StepReader, list[Chunk]]:
    told: list[Chunk] = []
    return StepReader(told.append, set(), "t"), told


@pytest.mark.parametrize(
    "event",
    [TextDelta("x" * 100_000), ToolCallDelta("c", "write", "x" * 100_000), ToolCall("c", "write", "{}")],
    ids=["words", "arguments", "calls"],
)
async def test_an_answer_without_end_is_broken_off(event: ModelEvent) -> None:
    step, told = reader()
    with pytest.raises(ModelStreamError, match="longer than"):
        await step.read(endless(event))
    assert len(step.calls) <= CALL_LIMIT + 1
    assert len(told) <= ANSWER_LIMIT // 100_000 + CALL_LIMIT + 5


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"a":' * 100_000, '{"a":' * 500 + "1" + "}" * 500])
async def test_arguments_nested_without_end_are_no_arguments(arguments: str) -> None:
    step, _ = reader()
    await step.read(several(ToolCall("c", "write", arguments), Finish("stop")))
    assert "nested more than 128 deep" in (step.calls[0].error or "")


async def test_an_id_too_long_for_a_file_is_replaced() -> None:
    step, _ = reader()
    await step.read(several(ToolCall("c" * 5_000, "read", "{}"), Finish("stop")))
    assert len(step.calls[0].call_id) <= ID_LIMIT
