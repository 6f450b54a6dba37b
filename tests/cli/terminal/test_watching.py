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


def written(text: str) -> FeedEvent:
    """Tell where a message stands whose text is still being written."""
    part = {"type": "text", "text": text, "state": "streaming"}
    now = MessageSnapshot(message={**message(), "parts": [part]}, open={"text 1-1": 0})
    return FeedEvent(run_id="run_1", message_id="msg_1", snapshot=now)


def happened(**chunk: str) -> FeedEvent:
    return FeedEvent(run_id="run_1", message_id="msg_1", chunk=chunk)


def test_what_the_thread_told_already_is_not_told_by_what_was_queued_before() -> None:
    watching = Watching()
    watching.take(written("One"))
    assert words(watching.complete(message("One. Two."))) == [". Two."]
    late = [
        happened(type="text-delta", id="1-1", delta=". Two."),
        happened(type="text-end", id="1-1"),
        written("One"),
        happened(type="text-end", id="1-1"),
    ]
    assert [watching.take(each) for each in late] == [[], [], [], []]
    # A run that goes on with the message says more than the thread did.
    assert words(watching.take(seen("One. Two.", "Three."))) == ["Three."]
    more = [happened(type="text-start", id="2-1"), happened(type="text-delta", id="2-1", delta="Four.")]
    assert words([chunk for each in more for chunk in watching.take(each)]) == ["Four."]


def test_a_question_the_thread_told_is_not_asked_again_by_what_was_queued_before() -> None:
    call = {"type": "tool-seal", "toolCallId": "call_1", "input": {}}
    asked = {**call, "state": "approval-requested", "approval": {"id": "apr_1"}}
    watching = Watching()
    told = watching.complete({**message(), "parts": [asked]})
    assert [chunk["type"] for chunk in told].count("tool-approval-request") == 1
    begun = MessageSnapshot(message={**message(), "parts": [{**call, "state": "input-available"}]})
    late = [
        FeedEvent(run_id="run_1", message_id="msg_1", snapshot=begun),
        happened(type="tool-approval-request", toolCallId="call_1", approvalId="apr_1"),
    ]
    assert [watching.take(each) for each in late] == [[], []]
    done = {**asked, "state": "output-available", "output": "sealed"}
    goes_on = MessageSnapshot(message={**message(), "parts": [done]})
    told = watching.take(FeedEvent(run_id="run_2", message_id="msg_1", snapshot=goes_on))
    assert [chunk["type"] for chunk in told] == ["tool-output-available"]
