"""Frames are read and written as Feishu's own library does."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.adapters.feishu.feishu_frame import Frame, read_frame, write_frame

# As lark-oapi 1.7.5 writes them.
EVENT = bytes.fromhex(
    "080110ffffffffffffffffff01180720012a0d0a047479706512056576656e742a100a0a6d6573736167655f69641202"
    "6d3132046a736f6e420b7b2261223a22e4bda0227d4a0178"
)
PING = bytes.fromhex("0800100018ac0220002a0c0a0474797065120470696e67")
NUMBER = st.integers(0, 2**64 - 1)


def test_a_frame_is_written_as_the_official_library_writes_it() -> None:
    event = Frame(
        seq=1,
        log=2**64 - 1,
        service=7,
        method=1,
        headers=[("type", "event"), ("message_id", "m1")],
        encoding="json",
        payload='{"a":"你"}'.encode(),
        new_log="x",
    )
    ping = Frame(service=300, headers=[("type", "ping")])
    assert (write_frame(event), write_frame(ping)) == (EVENT, PING)
    assert (read_frame(EVENT), read_frame(PING)) == (event, ping)
    assert event.find("message_id") == "m1"
    assert event.find("trace_id") == ""


@given(NUMBER, NUMBER, st.lists(st.tuples(st.text(), st.text())), st.binary(), st.text())
def test_what_is_written_is_read(
    seq: int, service: int, headers: list[tuple[str, str]], payload: bytes, text: str
) -> None:
    frame = Frame(seq=seq, service=service, headers=headers, payload=payload, type=text)
    assert read_frame(write_frame(frame)) == frame


@given(st.binary())
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        read_frame(data)


def test_what_is_newer_is_passed_over_and_what_is_cut_off_is_refused() -> None:
    newer = b"\x50\x01" + b"\x5a\x01x" + b"\x61" + b"\0" * 8 + b"\x6d" + b"\0" * 4
    assert read_frame(PING + newer) == read_frame(PING)
    for cut in (EVENT[:-1], EVENT[:1], b"\x08" + b"\xff" * 11, b"\x0b"):
        with pytest.raises(ValueError, match=r"cut off|not in use"):
            read_frame(cut)
