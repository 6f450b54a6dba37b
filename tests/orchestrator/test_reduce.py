"""The reducer builds the message the real AI SDK client builds, and rows merge to the same message."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.orchestrator.reduce import Reducer
from shipmate.thread.row import merge_rows
from shipmate.values.chunk import Chunk
from shipmate.values.message import UIMessage
from tests.support.chunk_strategy import streams
from tests.support.node import node_command
from tests.support.search import examples

EMPTY: UIMessage = {"id": "msg_1", "role": "assistant", "parts": []}


def reduce(chunks: list[Chunk]) -> UIMessage:
    reducer = Reducer(EMPTY)
    for chunk in chunks:
        reducer.apply(chunk)
    return reducer.message


@given(streams(), st.sets(st.integers(0, 60)))
def test_rows_taken_anywhere_between_texts_merge_to_the_message(chunks: list[Chunk], cuts: set[int]) -> None:
    reducer = Reducer(EMPTY)
    rows: list[UIMessage] = []
    for place, chunk in enumerate(chunks):
        reducer.apply(chunk)
        # A text is written to disk once, when it is whole; between its chunks no row is taken.
        is_inside_text = any(part.get("state") == "streaming" for part in reducer.message["parts"])
        if (place in cuts or place == len(chunks) - 1) and not is_inside_text and (row := reducer.take_row()):
            rows.append(row)
    merged = merge_rows(rows)
    if merged:
        assert merged[0]["parts"] == reducer.message["parts"]
        assert len(merged) == 1


@given(streams())
def test_a_row_is_taken_once(chunks: list[Chunk]) -> None:
    reducer = Reducer(EMPTY)
    for chunk in chunks:
        reducer.apply(chunk)
    reducer.take_row()
    assert reducer.take_row() is None


def test_a_chunk_of_an_unknown_type_changes_nothing() -> None:
    assert reduce([{"type": "hologram"}]) == EMPTY


def test_a_call_whose_arguments_never_came_is_left_out_of_the_row() -> None:
    reducer = Reducer(EMPTY)
    reducer.apply({"type": "start-step"})
    reducer.apply({"type": "tool-input-start", "toolCallId": "c", "toolName": "read"})
    row = reducer.take_row()
    assert row is not None
    assert [part["type"] for part in row["parts"]] == ["step-start"]


@pytest.mark.node
@pytest.mark.parametrize("version", ["ai6", "ai7"])
def test_the_real_client_builds_the_same_message(version: str) -> None:
    drawn: list[list[Chunk]] = []

    @settings(max_examples=examples(150))
    @given(streams())
    def draw(chunks: list[Chunk]) -> None:
        drawn.append(chunks)

    draw()
    lines = "\n".join(json.dumps({"message": EMPTY, "chunks": chunks}) for chunks in drawn)
    node, folder = node_command()
    result = subprocess.run(
        [node, "reduce.mjs", version], cwd=folder, input=lines, capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in result.stdout.strip().split("\n")]
    assert len(answers) == len(drawn) > 100
    for chunks, answer in zip(drawn, answers, strict=True):
        theirs, ours = newer(answer["message"]), as_json(reduce(chunks))
        assert theirs == ours, [
            pair for pair in zip(theirs["parts"], ours["parts"], strict=False) if pair[0] != pair[1]
        ]
        assert answer["valid"], answer["error"]


def newer(message: UIMessage) -> UIMessage:
    """Give a message as v7 writes it and we store it: unreadable input in `input`; v6 has `rawInput`."""
    for part in message["parts"]:
        if "rawInput" in part:
            part["input"] = part.pop("rawInput")
    return message


def as_json(message: UIMessage) -> UIMessage:
    """Compare as JSON, the form both sides store."""
    return json.loads(json.dumps(message))
