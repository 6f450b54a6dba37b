"""Commands in a platform's chat are whole messages; everything else is something to say."""

from __future__ import annotations

import pytest

from shipmate.delivery.reception.chat_command import read_command
from shipmate.values.event import (
    ApprovalReplyEvent,
    Attachment,
    CommandEvent,
    CourseEvent,
    ModelSwitchEvent,
    PinEvent,
)
from tests.support.workspace import pressed, said

GROUP = "telegram:group:7"


def test_compact_is_a_course_with_a_summary() -> None:
    found = read_command(said("/compact@ship_bot the mast"))
    assert isinstance(found, CourseEvent)
    assert (found.summarise, found.focus) == (True, "the mast")


@pytest.mark.parametrize("text", ["/new", "/NEW", "  /new\n", "/new@ship_bot"])
def test_m6_new_opens_a_course(text: str) -> None:
    event = said(
        text, platform="telegram", thread_id=GROUP, message_id="9", user_id="ann", correlation_id="x"
    )
    read = read_command(event)
    assert isinstance(read, CourseEvent)
    kept = ("platform", "thread_id", "user_id", "message_id", "timestamp", "correlation_id")
    assert [getattr(read, name) for name in kept] == [getattr(event, name) for name in kept]


@pytest.mark.parametrize(
    ("text", "pinned", "number"),
    [
        ("/pin The port is 8022.", "The port is 8022.", None),
        ("/pin@ship_bot two\nlines", "two\nlines", None),
        ("/pin", "", None),
        ("/pins", "", None),
        ("/unpin 12", "", 12),
        ("/unpin", "", 0),
        ("/unpin ²", "", 0),
        ("/unpin -1", "", 0),
    ],
)
def test_m6_pins_are_made_listed_and_taken_off(text: str, pinned: str, number: int | None) -> None:
    read = read_command(said(text, platform="telegram"))
    assert isinstance(read, PinEvent)
    assert (read.text, read.number) == (pinned, number)


@pytest.mark.parametrize(
    "text",
    [
        "new",
        "/newer",
        "say /new",
        "/new and then some",
        "//new",
        "/new/",
        "/pins 3",
        "／new",
        "> /new",
        "/stop now",
        "/foo",
    ],
)
def test_other_words_stay_what_they_are(text: str) -> None:
    event = said(text, platform="telegram")
    assert read_command(event) is event


def test_what_was_heard_or_came_with_a_file_or_is_no_text_is_no_command() -> None:
    picture = (Attachment(url="data:,", media_type="image/png"),)
    for event in (said("/new", spoken=True), said("/new", attachments=picture), pressed("a", approved=True)):
        assert read_command(event) is event


@pytest.mark.parametrize(
    ("words", "name", "scope"),
    [
        ("/model", "", "thread"),
        ("/model@ada_bot gpt-5.5", "gpt-5.5", "thread"),
        ("/MODEL ollama:qwen3:8b", "ollama:qwen3:8b", "thread"),
        ("/model --member gpt-5.5", "gpt-5.5", "member"),
        ("/model default", "default", "thread"),
    ],
)
def test_5_a_model_is_chosen_from_a_chat(words: str, name: str, scope: str) -> None:
    event = read_command(said(words, platform="telegram"))
    assert isinstance(event, ModelSwitchEvent)
    assert (event.name, event.scope) == (name, scope)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/stop", "stop"),
        ("/help", "help"),
        ("/start x", "help"),
        ("/context@bot", "context"),
        ("/drop", "drop"),
    ],
)
def test_commands_that_no_member_answers_are_events_of_their_own(text: str, name: str) -> None:
    read = read_command(said(text, platform="telegram"))
    assert isinstance(read, CommandEvent)
    assert read.name == name


@pytest.mark.parametrize(
    ("text", "words", "approval_id", "approved"),
    [
        ("/approve", "approve", None, None),
        ("/approve 2", "approve 2", None, None),
        ("/deny", "deny", None, None),
        ("/approve apr_0a1b", "", "apr_0a1b", True),
        ("/deny apr_0a1b", "", "apr_0a1b", False),
    ],
)
def test_approve_and_deny_answer_questions(
    text: str, words: str, approval_id: str | None, approved: bool | None
) -> None:
    read = read_command(said(text, platform="telegram"))
    assert isinstance(read, ApprovalReplyEvent)
    assert (read.text, read.approval_id, read.approved) == (words, approval_id, approved)
