"""Server-sent events are read the same however their bytes are cut, and as the openai SDK reads them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

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
