"""An answer ends at the words it was to stop at, whether the provider heeds them or not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.models.port import Finish, ModelEvent, TextDelta, ToolCall
from shipmate.models.wire.chat.chat_reader import ChatReader
from shipmate.models.wire.chat.dialect import COMMON
from shipmate.models.wire.stop_reader import StopReader
from shipmate.models.wire.wire import WireError
from tests.support.chat_stream import choice, chunk
from tests.support.provider_case import ask, collect
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import say
from tests.support.wire_case import connect


def read(pieces: list[str], words: list[str]) -> tuple[str, list[ModelEvent]]:
    reader = StopReader(ChatReader(COMMON), words)
    events: list[ModelEvent] = []
    for piece in pieces:
        events += reader.take("", json.dumps(chunk(choice({"content": piece}))).encode())
        if reader.done:
            break
    else:
        events += reader.take("", json.dumps(chunk(choice({}, "stop"))).encode())
    events += reader.close()
    return "".join(event.text for event in events if isinstance(event, TextDelta)), events


@given(
    st.lists(st.text(alphabet="abE", max_size=4)),
    st.lists(st.text(alphabet="abE", min_size=1, max_size=3), max_size=3),
)
def test_however_it_is_cut_the_text_ends_before_the_first_of_the_words(
    pieces: list[str], words: list[str]
) -> None:
    whole = "".join(pieces)
    ends = [whole.find(word) for word in words if word in whole]
    said, events = read(pieces, words)
    assert said == (whole[: min(ends)] if ends else whole)
    assert events[-1] == Finish("stop")


def test_what_was_held_back_is_told_before_a_call_and_before_trouble() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}}
    chunks = [chunk(choice({"content": "One EN"})), chunk(choice({"tool_calls": [call]}, "tool_calls"))]
    reader = StopReader(ChatReader(COMMON), ["END"])
    events = [event for each in chunks for event in reader.take("", json.dumps(each).encode())]
    events += reader.close()
    assert events[:2] == [TextDelta("One "), TextDelta("EN")]
    assert any(isinstance(event, ToolCall) for event in events)
    broken = StopReader(ChatReader(COMMON), ["END"])
    told = list(broken.take("", json.dumps(chunks[0]).encode()))
    with pytest.raises(WireError):
        told.extend(broken.close())
    assert told == [TextDelta("One "), TextDelta("EN")]


async def test_a_provider_that_ignores_stop_is_stopped() -> None:
    async with ProviderServer() as server, connect("chat", server.url) as model:
        server.script(say("One two END three four " * 20, deltas=50))
        events = await collect(model, ask(sampling={"stop": ["END"]}))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "One two "
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "stop"
