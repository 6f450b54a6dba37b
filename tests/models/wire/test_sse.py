"""Server-sent events are read the same however their bytes are cut, and as the openai SDK reads them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._streaming import SSEDecoder

from shipmate.models.wire.sse import EventParser, EventTooLongError

ENDS = (b"\n", b"\r\n", b"\r")
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12)
LINES = st.one_of(
    TEXT.map(lambda text: f"data: {text}"),
    TEXT.map(lambda text: f"data:{text}"),
    TEXT.map(lambda text: f": {text}"),
    TEXT.map(lambda text: f"event: {text}"),
    st.sampled_from(
        ["", "", "data", "event", "id: 7", "retry: 10", "data: {", "data: }", "DATA: x", " data: x"]
    ),
)


def parse(pieces: Iterable[bytes], *, close: bool = False) -> list[tuple[str, bytes]]:
    parser = EventParser()
    found = [(event.name, event.data) for piece in pieces for event in parser.feed(piece)]
    return found + ([(event.name, event.data) for event in parser.close()] if close else [])


def parse_with_sdk(text: str) -> list[tuple[str, bytes]]:
    decoder = SSEDecoder()
    found: list[tuple[str, bytes]] = []
    for line in text.split("\n")[:-1]:
        event = decoder.decode(line)
        if event is not None:
            found.append((event.event or "", event.data.encode()))
    return found


# The SDK keeps an id for all that follows and then reports blank lines as events.
@given(st.lists(LINES.filter(lambda line: not line.startswith("id")), max_size=12))
def test_reads_what_the_openai_sdk_reads(lines: list[str]) -> None:
    # An event without data is the one thing in which the SDK leaves the standard.
    text = "".join(f"{line}\n" for line in lines)
    blocks = text.split("\n\n")
    ours = parse([text.encode()])
    if all(
        any(line.startswith("data") for line in block.split("\n")) for block in blocks[:-1] if block.strip()
    ):
        assert ours == parse_with_sdk(text)


@given(st.lists(LINES, max_size=12), st.sampled_from(ENDS), st.booleans())
def test_cut_anywhere_it_reads_the_same(lines: list[str], end: bytes, mark: bool) -> None:
    raw = (b"\xef\xbb\xbf" if mark else b"") + b"".join(line.encode() + end for line in lines)
    whole = parse([raw], close=True)
    for place in range(0, len(raw) + 1, max(1, len(raw) // 40)):
        assert parse([raw[:place], raw[place:]], close=True) == whole
    assert parse([raw[at : at + 1] for at in range(len(raw))], close=True) == whole
    plain = b"".join(line.encode() + b"\n" for line in lines)
    assert whole == parse([plain], close=True)


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        (b"data: a\n\n", [("", b"a")]),
        (b"data:a\n\n", [("", b"a")]),
        (b"data:  a\n\n", [("", b" a")]),
        (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", b"a"), ("", b"b")]),
        (b"event: x\n\ndata: b\n\n", [("", b"b")]),
        (b": ping\n\ndata: b\n\n", [("", b"b")]),
        (b"data:\n\n", [("", b"")]),
        (b"\xef\xbb\xbfdata: a\r\n\r\n", [("", b"a")]),
        (b"data: a\r\rdata: b\r\r", [("", b"a"), ("", b"b")]),
        ("data: 你好\n\n".encode(), [("", "你好".encode())]),
        (b"data: a", [("", b"a")]),
        (b"data: a\n", [("", b"a")]),
    ],
)
def test_reads_the_shapes_that_servers_send(raw: bytes, events: list[tuple[str, bytes]]) -> None:
    assert parse([raw], close=True) == events


def test_an_event_comes_as_soon_as_its_blank_line_does() -> None:
    parser = EventParser()
    assert list(parser.feed(b"data: a\r\n\r")) == [("", b"a")]
    assert list(parser.feed(b"\ndata: b\n\n")) == [("", b"b")]


def feed_again_and_again(parser: EventParser, piece: bytes) -> None:
    for _ in range(100_000_000 // len(piece)):
        list(parser.feed(piece))


@pytest.mark.parametrize("piece", [b"x" * 65_536, b"data: x\n" * 8192, b"data: \n" * 8192])
def test_a_line_or_event_of_a_hundred_megabytes_is_not_kept(piece: bytes) -> None:
    parser = EventParser(limit=1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(EventTooLongError):
            feed_again_and_again(parser, b"data: " + piece if piece[:1] == b"x" else piece)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_many_small_events_are_not_one_long_one() -> None:
    parser = EventParser(limit=100)
    assert len([event for _ in range(1000) for event in parser.feed(b"data: 0123456789\n\n")]) == 1000


# Streams that are taken up again: each event has a mark, and the server says how long to wait.

STREAM = (
    ": a remark\r\nid: 1\ndata: {\"a\":\r\ndata:  \"é\"}\n\nevent: other\rdata: x\r\r"
    "retry: 250\nid\ndata\n\nid: bad\0mark\nnonsense\ndata: 末\r\n\r\n"
).encode()  # fmt: skip
Course = tuple[list[tuple[str, str]], str, float | None]
WHOLE: Course = ([("", '{"a":\n "é"}'), ("other", "x"), ("", ""), ("", "末")], "", 0.25)


def read(*pieces: bytes) -> Course:
    parser = EventParser()
    events = [(event.name, event.data.decode()) for piece in pieces for event in parser.feed(piece)]
    return events, parser.mark, parser.retry_seconds


def test_w6_events_are_read_with_all_three_ends_of_lines() -> None:
    assert read(STREAM) == WHOLE


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_w6_events_are_the_same_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert read(*(STREAM[start:end] for start, end in pairwise(places))) == WHOLE


@pytest.mark.parametrize("beginning", [b"data: ", b"", b"id: ", b"data: x\ndata: "])
def test_w6_an_event_without_end_is_cut_off(beginning: bytes) -> None:
    parser = EventParser(limit=1_000_000)
    list(parser.feed(beginning))
    with pytest.raises(EventTooLongError):
        feed_again_and_again(parser, b"y" * 65_536)


def test_w6_many_lines_of_one_event_are_counted_together() -> None:
    with pytest.raises(EventTooLongError):
        feed_again_and_again(EventParser(limit=1_000_000), b"data: " + b"y" * 60_000 + b"\n")


def test_w6_a_mark_counts_when_its_event_has_come_whole() -> None:
    """What broke off in the middle of an event is asked for again from before it."""
    parser = EventParser()
    assert list(parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")) == [("", b"a")]
    assert parser.mark == "1"
    parser.restart()
    assert list(parser.feed(b"\xef\xbb\xbfdata: c\n\n")) == [("", b"c")]
    assert parser.mark == "1", "an event without an id leaves the one before it"
    assert list(parser.feed(b"id: 3\n\n")) == []
    assert parser.mark == "3", "an event without data is none, but its mark counts"


@pytest.mark.parametrize("cut", [b"data: half", b"data: half\n", b"event: x\ndata: half\r", b"id: 9\nda"])
def test_w6_a_stream_that_goes_on_begins_afresh(cut: bytes) -> None:
    parser = EventParser()
    list(parser.feed(b"id: 1\nretry: 20\ndata: a\n\n" + cut))
    parser.restart()
    assert list(parser.feed(b"\ndata: b\n\n")) == [("", b"b")]
    assert (parser.mark, parser.retry_seconds) == ("1", 0.02)


@pytest.mark.parametrize("value", ["a\tb", "ä", "x" * 1001, "\x7f"])
def test_w6_a_mark_that_no_header_can_hold_is_not_kept(value: str) -> None:
    parser = EventParser()
    list(parser.feed(f"id: good\ndata: a\n\nid: {value}\ndata: b\n\n".encode()))
    assert parser.mark == "good"


@pytest.mark.parametrize("value", ["", "x", "-5", "1.5", "²", "9" * 40])
def test_w6_a_wait_that_is_none_is_not_kept(value: str) -> None:
    assert read(f"retry: {value}\n\n".encode()) == ([], "", None)


def test_w6_remarks_without_end_fill_nothing() -> None:
    parser = EventParser(limit=1_000)
    for _ in range(1_000):
        assert list(parser.feed(b": still here\n")) == []
    assert list(parser.feed(b"data: a\n\n")) == [("", b"a")]
