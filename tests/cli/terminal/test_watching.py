"""A terminal is shown each message once, and told when it has to see one anew."""

from __future__ import annotations

from shipmate.cli.terminal.watching import AGAIN, Watching
from shipmate.orchestrator.feed import FeedEvent
from shipmate.orchestrator.reduce import MessageSnapshot
from shipmate.values.chunk import Chunk
from shipmate.values.message import UIMessage


def message(*texts: str) -> UIMessage:
    return {"id": "msg_1", "role": "assistant", "parts": [{"type": "text", "text": text} for text in texts]}


def seen(*texts: str) -> FeedEvent:
    return FeedEvent(run_id="run_1", message_id="msg_1", snapshot=MessageSnapshot(message=message(*texts)))


def words(told: list[Chunk]) -> list[str]:
    return [chunk["delta"] for chunk in told if chunk["type"] == "text-delta"]


def notices(told: list[Chunk]) -> list[str]:
    return [chunk["data"]["text"] for chunk in told if chunk["type"] == "data-notice"]


def test_what_was_shown_is_not_shown_again_when_the_keeper_changes() -> None:
    watching = Watching()
    assert words(watching.take(seen("One."))) == ["One."]
    assert words(watching.take(seen("One."))) == []
    assert words(watching.take(seen("One.", "Two."))) == ["Two."]
    assert words(watching.complete(message("One.", "Two.", "Three."))) == ["Three."]


def test_a_message_that_became_another_is_shown_anew_and_it_is_said_why() -> None:
    watching = Watching()
    watching.take(seen("It will rain."))
    told = watching.take(seen("It will snow."))
    assert (notices(told), words(told)) == ([AGAIN], ["It will snow."])
    assert words(watching.take(seen("It will snow.", "Much."))) == ["Much."]


def test_a_stored_message_counts_as_shown() -> None:
    watching = Watching()
    watching.remember(message("One."))
    assert words(watching.take(seen("One.", "Two."))) == ["Two."]
