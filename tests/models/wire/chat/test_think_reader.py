from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.models.port import Finish, ModelEvent, ReasoningDelta, ReasoningEnd, TextDelta
from shipmate.models.wire.chat.chat_reader import ChatReader
from shipmate.models.wire.chat.dialect import COMMON
from shipmate.models.wire.chat.think_reader import ThinkReader
from shipmate.models.wire.wire import WireError
from tests.support.chat_stream import choice, chunk


def read(text: str, size: int) -> list[ModelEvent]:
    reader = ThinkReader(ChatReader(COMMON))
    events: list[ModelEvent] = []
    for place in range(0, len(text), size):
        events += reader.take("", json.dumps(chunk(choice({"content": text[place : place + size]}))).encode())
    events += reader.take("", json.dumps(chunk(choice({}, "stop"))).encode())
    return [*events, *reader.close()]


def sum_up(events: list[ModelEvent]) -> tuple[str, str, int]:
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    words = "".join(event.text for event in events if isinstance(event, TextDelta))
    return thought, words, sum(isinstance(event, ReasoningEnd) for event in events)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    ("text", "thought", "words"),
    [
        ("<think>\nHm.\n</think>\n\nOk.", "Hm.\n", "Ok."),
        ("\n<think>a < b</think>Ok.", "a < b", "Ok."),
        ("<think></think>Ok.", "", "Ok."),
        ("<think>Hm.", "Hm.", ""),
        ("Ok. <think>no</think>", "", "Ok. <think>no</think>"),
        ("<thin", "", "<thin"),
        ("<div>Ok.</div>", "", "<div>Ok.</div>"),
        ("<think>one</think><think>two</think>", "one", "<think>two</think>"),
    ],
)
def test_thinking_at_the_start_is_told_apart(text: str, thought: str, words: str, size: int) -> None:
    events = read(text, size)
    assert sum_up(events) == (thought, words, 1 if "<think>" in text[:8] else 0)
    assert events[-1] == Finish("stop")


@given(st.text(alphabet="<think>/ a", max_size=30), st.integers(1, 4))
def test_nothing_is_lost(text: str, size: int) -> None:
    assert sum_up(read(text, size)) == sum_up(read(text, 1000))


def test_what_was_thought_is_told_before_trouble() -> None:
    reader = ThinkReader(ChatReader(COMMON))
    events = list(reader.take("", json.dumps(chunk(choice({"content": "<think>Hm</th"}))).encode()))
    with pytest.raises(WireError):
        events.extend(reader.close())
    assert sum_up(events) == ("Hm</th", "", 1)


def test_blanks_without_end_are_words_and_not_kept() -> None:
    reader = ThinkReader(ChatReader(COMMON))
    event = json.dumps({"choices": [{"index": 0, "delta": {"content": " " * 400}}]}).encode()
    told = [each for _ in range(10) for each in reader.take("", event)]
    assert "".join(each.text for each in told if isinstance(each, TextDelta)) == " " * 4000
