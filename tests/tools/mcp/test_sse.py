"""A stream gives the same events wherever its pieces are cut (W6)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.mcp.intake import MESSAGE_LIMIT, Intake, IntakeError
from shipmate.tools.mcp.sse import EventReader

STREAM = (
    ": a remark\r\nid: 1\ndata: {\"a\":\r\ndata:  \"é\"}\n\nevent: other\rdata: x\r\r"
    "retry: 250\nid\ndata\n\nid: bad\0mark\nnonsense\ndata: 末\r\n\r\n"
).encode()  # fmt: skip


def read(*pieces: bytes) -> tuple[list[tuple[str, str]], str, float | None]:
    reader = EventReader(Intake())
    events = [(event.name, event.data.decode()) for piece in pieces for event in reader.feed(piece)]
    return events, reader.mark, reader.retry_seconds


WHOLE = ([("message", '{"a":\n "é"}'), ("other", "x"), ("message", ""), ("message", "末")], "", 0.25)


def test_w6_events_are_read_with_all_three_ends_of_lines() -> None:
    assert read(STREAM) == WHOLE


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_w6_events_are_the_same_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in pairwise(places)]
    assert read(*pieces) == WHOLE


@pytest.mark.parametrize("beginning", [b"data: ", b"", b"id: ", b"data: x\ndata: "])
def test_w6_an_event_without_end_is_cut_off(beginning: bytes) -> None:
    reader = EventReader(Intake())

    def feed() -> None:
        list(reader.feed(beginning))
        for _ in range(2 * MESSAGE_LIMIT // 65_536):
            list(reader.feed(b"y" * 65_536))

    with pytest.raises(IntakeError, match="more than 8 MB"):
        feed()


def test_w6_many_lines_of_one_event_are_counted_together() -> None:
    reader = EventReader(Intake())

    def feed() -> None:
        for _ in range(2 * MESSAGE_LIMIT // 60_000):
            list(reader.feed(b"data: " + b"y" * 60_000 + b"\n"))

    with pytest.raises(IntakeError, match="more than 8 MB"):
        feed()
