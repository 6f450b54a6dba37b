"""A client that joins anywhere is told the message once: by our reducer and by the real clients' own."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shipmate.orchestrator.reduce import MessageSnapshot, Reducer
from shipmate.server.stream.projection import Projection, difference
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import JsonObject, UIMessage
from tests.support.chunk_strategy import streams
from tests.support.node import node_command
from tests.support.search import examples

ID = "msg_1"
places = st.integers(0, 80)


def reduced(told: list[Chunk], message: UIMessage | None = None) -> Reducer:
    reducer = Reducer(message or {"id": ID, "role": "assistant", "parts": []})
    for chunk in told:
        reducer.apply(json.loads(json.dumps(chunk)))
    return reducer


@given(streams(), places)
def test_w1_who_joins_anywhere_holds_the_message_once(stream: list[Chunk], place: int) -> None:
    projection = Projection(ID)
    told = projection.meet(reduced(stream[:place]).snapshot())
    for chunk in stream[place:]:
        told += projection.take(chunk)
    assert reduced(told).message == reduced(stream).message
    assert projection.is_finished == (place < len(stream))


@given(streams(), places, places)
def test_w1_a_second_look_tells_only_the_difference(stream: list[Chunk], first: int, second: int) -> None:
    first, second = sorted((first, second))
    projection = Projection(ID)
    told = projection.meet(reduced(stream[:first]).snapshot())
    told += projection.meet(reduced(stream[:second]).snapshot())
    for chunk in stream[second:]:
        told += projection.take(chunk)
    assert projection.is_exact
    assert reduced(told).message == reduced(stream).message


@given(streams(), places, places)
def test_w1_a_message_that_lost_what_was_shown_is_noticed(
    stream: list[Chunk], stored: int, shown: int
) -> None:
    stored, shown = sorted((stored, shown))
    less, more = reduced(stream[:stored]).snapshot(), reduced(stream[:shown]).snapshot()
    projection = Projection(ID)
    projection.meet(more)
    projection.meet(less)
    if len(less.message["parts"]) < len(more.message["parts"]):
        assert not projection.is_exact


@given(streams(), places)
def test_w1_what_a_client_brings_is_not_told_again(stream: list[Chunk], place: int) -> None:
    held = reduced(stream[:place])
    assume(not held.snapshot().open)
    projection = Projection(ID, json.loads(json.dumps(held.message)))
    told = projection.finish(MessageSnapshot(message=reduced(stream).message))
    assert projection.is_exact
    assert reduced(told, json.loads(json.dumps(held.message))).message == reduced(stream).message
    assert difference(MessageSnapshot(message=held.message), MessageSnapshot(message=held.message)) == (
        [],
        True,
    )


def test_w1_a_call_that_was_decided_asks_no_more() -> None:
    projection = Projection(ID)
    told = projection.meet(MessageSnapshot(message=message(decided("approval-responded"))))
    assert reduced(told).call("c")["state"] == "input-available"  # pyright: ignore[reportOptionalSubscript]
    told += projection.take(chunks.tool_output("c", "done"))
    assert reduced(told).call("c")["output"] == "done"  # pyright: ignore[reportOptionalSubscript]


def test_w1_a_call_in_an_earlier_step_is_not_announced_twice() -> None:
    held = message({"type": "step-start"}, decided("approval-responded"))
    later = [{"type": "step-start"}, {"type": "text", "text": "Done.", "state": "done"}]
    projection = Projection(ID, held)
    told = projection.finish(
        MessageSnapshot(
            message=message({"type": "step-start"}, decided("output-available", output=1), *later)
        )
    )
    kinds = [chunk["type"] for chunk in told]
    assert kinds.count("tool-input-available") == kinds.count("tool-approval-request") == 0
    assert kinds.count("start-step") == 1


@pytest.mark.node
@pytest.mark.parametrize("version", ["ai6", "ai7"])
def test_w1_the_real_client_that_joins_anywhere_holds_the_message(version: str) -> None:
    drawn: list[tuple[list[Chunk], UIMessage]] = []

    @settings(max_examples=examples(150))
    @given(streams(), places)
    def draw(stream: list[Chunk], place: int) -> None:
        projection = Projection(ID)
        told = projection.meet(reduced(stream[:place]).snapshot())
        for chunk in stream[place:]:
            told += projection.take(chunk)
        drawn.append((told, reduced(stream).message))

    draw()
    empty: UIMessage = {"id": ID, "role": "assistant", "parts": []}
    lines = "\n".join(json.dumps({"message": empty, "chunks": told}) for told, _ in drawn)
    node, folder = node_command()
    result = subprocess.run(
        [node, "reduce.mjs", version], cwd=folder, input=lines, capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in result.stdout.strip().split("\n")]
    for (_, ours), answer in zip(drawn, answers, strict=True):
        assert newer(answer["message"]) == json.loads(json.dumps(ours))


def newer(held: UIMessage) -> UIMessage:
    """Return a message as v7 writes it and we store it: unreadable input in `input`; v6 has `rawInput`."""
    for part in held["parts"]:
        if "rawInput" in part:
            part["input"] = part.pop("rawInput")
    return held


def message(*parts: JsonObject) -> UIMessage:
    return {"id": ID, "role": "assistant", "parts": list(parts)}


def decided(state: str, **more: object) -> JsonObject:
    approval = {"id": "a", "approved": True}
    return {
        "type": "tool-write",
        "toolCallId": "c",
        "state": state,
        "input": {},
        "approval": approval,
        **more,
    }


@pytest.mark.parametrize("held_open", [{}, {"text 0-1": 0}], ids=["closed", "open under another id"])
def test_w1_a_text_that_is_written_on_under_an_id_the_client_has_not_is_noticed(
    held_open: dict[str, int],
) -> None:
    message: UIMessage = {"id": "msg_1", "role": "assistant", "parts": [{"type": "text", "text": "One"}]}
    held, now = (
        MessageSnapshot(message=message, open=held_open),
        MessageSnapshot(message=message, open={"text 0-2": 0}),
    )
    assert difference(held, now) == ([], False)
    assert difference(held, held) == ([], True)


def test_w1_a_closed_text_that_is_longer_now_is_noticed() -> None:
    held, now = (
        MessageSnapshot(
            message={"id": "msg_1", "role": "assistant", "parts": [{"type": "text", "text": text}]}
        )
        for text in ("One", "One and two")
    )
    assert difference(held, now) == ([], False)
