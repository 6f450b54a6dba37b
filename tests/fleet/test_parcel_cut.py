"""What is said is joined below the size of a notification, and what is longer is cut and put together."""

from __future__ import annotations

import msgspec
import pytest

from shipmate.fleet import fleet_frame as frames
from shipmate.fleet.parcel_cut import LIMIT, MOST_PIECES, Unpacking, pack
from shipmate.orchestrator.feed import FeedEvent
from shipmate.values import chunk as chunks


def news(text: str) -> frames.FeedNews:
    event = FeedEvent(run_id="r", message_id="m", chunk=chunks.text("text-delta", "t", text))
    return frames.FeedNews(thread_id="cli:dm:ann", event=event)


def send(*said: frames.Said) -> list[frames.Said]:
    payloads = pack("one", 1, [frames.encode_one(each) for each in said])
    assert all(len(each.encode()) < 8_000 for each in payloads)
    unpacking, heard = Unpacking(), list[frames.Said]()
    for payload in payloads:
        sender, found = unpacking.take(payload)
        assert sender == "one"
        heard += found
    return heard


@pytest.mark.parametrize("text", ["short", "x" * (3 * LIMIT), "好" * LIMIT, "🚢\0\n" * 2_000])
def test_everything_arrives_whole_and_in_order_whatever_its_size(text: str) -> None:
    said = [news("before"), news(text), news("after"), frames.StopWish(thread_id="cli:dm:ann")]
    assert send(*said) == said


def test_many_small_things_take_few_notifications() -> None:
    payloads = pack("one", 1, [frames.encode_one(news(f"word {number}")) for number in range(200)])
    assert len(payloads) < 8


def test_what_is_far_too_long_is_left_to_the_stored_row() -> None:
    assert send(news("x" * (MOST_PIECES * LIMIT))) == []


def test_a_piece_that_was_lost_spoils_nothing_else() -> None:
    unpacking = Unpacking()
    for payload in pack("one", 1, [frames.encode_one(news("x" * (3 * LIMIT)))])[1:]:
        assert unpacking.take(payload)[1] == []
    (whole,) = pack("one", 9, [frames.encode_one(news("next"))])
    assert unpacking.take(whole)[1] == [news("next")]


def test_what_a_newer_version_says_is_left_out() -> None:
    unknown = msgspec.json.encode({"is": "dance", "threadId": "cli:dm:ann"})
    assert frames.decode(frames.encode([unknown, frames.encode_one(news("known"))])) == [news("known")]
