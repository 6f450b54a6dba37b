"""What Telegram tells is heard as it was meant."""

from __future__ import annotations

from typing import Any

import pytest

from shipmate.adapters.telegram.telegram_update import TelegramUser, make_event, read_update
from shipmate.values.adapter_event import AdapterEvent
from tests.support.bot_api import CHANNEL, GROUP, PERSON, PRIVATE, Json

ME = TelegramUser(id=7000, is_bot=True, first_name="Helper", username="Helper_bot")
BOT: Json = {"id": 7000, "is_bot": True, "first_name": "Helper", "username": "Helper_bot"}


def message(chat: Json = GROUP, **values: Any) -> Json:
    return {"message_id": 5, "date": 1_800_000_000, "chat": chat, "from": PERSON, **values}


def hear(*updates: Json) -> AdapterEvent:
    read = [read_update({"update_id": 9, **each}) for each in updates]
    event = make_event("helper", ME, [each for each in read if each is not None])
    assert event is not None
    return event


def mark(kind: str, offset: int, length: int, **more: Any) -> Json:
    return {"entities": [{"type": kind, "offset": offset, "length": length, **more}]}


def test_words_in_private_are_for_the_bot() -> None:
    event = hear({"message": message(PRIVATE, text="hi")})
    assert (event.chat.id, event.chat.kind, event.chat.topic, event.is_addressed) == ("1", "dm", None, True)
    assert (event.speaker.id, event.speaker.name, event.message_id) == ("1", "Ann Lee", "1.5")
    assert event.timestamp == "2027-01-15T08:00:00.000Z"


@pytest.mark.parametrize(
    ("values", "is_addressed", "text"),
    [
        ({"text": "hi"}, False, "hi"),
        ({"text": "@helper_bot hi", **mark("mention", 0, 11)}, True, "hi"),
        ({"text": "😀 hi @HELPER_bot", **mark("mention", 6, 11)}, True, "😀 hi @HELPER_bot"),
        ({"text": "@helper_bot_2 hi", **mark("mention", 0, 13)}, False, "@helper_bot_2 hi"),
        ({"text": "@helper_bot hi"}, False, "@helper_bot hi"),
        ({"text": "Bot, hi", **mark("text_mention", 0, 3, user=BOT)}, True, ", hi"),
        ({"text": "/stop@helper_bot", **mark("bot_command", 0, 16)}, True, "/stop@helper_bot"),
        ({"text": "/stop", **mark("bot_command", 0, 5)}, True, "/stop"),
        ({"text": "yes", "reply_to_message": message(**{"from": BOT})}, True, "yes"),
        ({"text": "yes", "reply_to_message": message()}, False, "yes"),
        (
            {
                "text": "yes",
                "reply_to_message": message(**{"from": BOT, "forum_topic_created": {"name": "x"}}),
            },
            False,
            "yes",
        ),
    ],
)
def test_in_a_group_it_is_meant_by_name_command_or_answer(
    values: Json, is_addressed: bool, text: str
) -> None:
    event = hear({"message": message(**values)})
    assert (event.is_addressed, event.text) == (is_addressed, text)
    assert (event.chat.kind, event.chat.title) == ("group", "Harbour")


def test_a_topic_is_a_conversation_of_its_own_and_the_general_one_has_no_number() -> None:
    topic = hear({"message": message(text="a", message_thread_id=42, is_topic_message=True)})
    answers = hear({"message": message(text="a", message_thread_id=42)})
    assert (topic.chat.topic, answers.chat.topic) == ("42", None)


def test_channels_and_hidden_administrators_speak_as_what_they_are() -> None:
    post = {"message_id": 5, "date": 1, "chat": CHANNEL, "sender_chat": CHANNEL, "text": "news"}
    event = hear({"channel_post": post})
    assert (event.chat.kind, event.speaker.id, event.is_addressed) == ("channel", "-100300", False)
    hidden = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    event = hear({"message": message(text="a", sender_chat=GROUP, **{"from": hidden})})
    assert (event.speaker.id, event.speaker.is_bot) == ("-100200", False)
    assert hear({"message": message(text="a", **{"from": BOT})}).speaker.is_bot


def test_an_edit_and_a_press_have_ids_of_their_own() -> None:
    edit = hear({"edited_message": message(PRIVATE, text="b", edit_date=1_800_000_001)})
    assert (edit.message_id, edit.changes, edit.text) == ("1.5.edit.9", "1.5", "b")
    assert edit.timestamp.startswith("2027-01-15T08:00:01")
    asked = message(text="?", message_thread_id=42, is_topic_message=True, **{"from": BOT})
    press = hear({"callback_query": {"id": "77", "from": PERSON, "message": asked, "data": "a:x:once"}})
    assert (press.message_id, press.pressed, press.reply_to) == (
        "-100200.5.press.77",
        "a:x:once",
        "-100200.5",
    )
    assert (press.chat.topic, press.speaker.id) == ("42", "1")


def test_files_are_named_and_an_album_is_one() -> None:
    sizes = [{"file_id": "small", "width": 1, "height": 1}, {"file_id": "large", "width": 9, "height": 9}]
    document = {"file_id": "doc", "file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 7}
    event = hear(
        {"message": message(PRIVATE, photo=sizes, caption="both", media_group_id="m")},
        {"message": message(PRIVATE, document=document, media_group_id="m", message_id=6)},
    )
    assert [(each.id, each.filename, each.media_type) for each in event.files] == [
        ("large", "photo.jpg", "image/jpeg"),
        ("doc", "a.pdf", "application/pdf"),
    ]
    assert (event.text, event.message_id) == ("both", "1.5")
    moving = {"file_id": "gif", "file_name": "g.mp4", "mime_type": "video/mp4"}
    assert len(hear({"message": message(animation=moving, document=moving)}).files) == 1
    spoken = hear({"message": message(PRIVATE, voice={"file_id": "v", "mime_type": "audio/ogg"})})
    assert spoken.voice is not None
    assert (spoken.voice.id, spoken.voice.media_type, spoken.files) == ("v", "audio/ogg", ())


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"update_id": "9"},
        {"update_id": 9, "message": []},
        {"update_id": 9, "message": message(date=10**30)},
        {"update_id": 9, "message": message(text={"a": 1})},
    ],
)
def test_what_is_no_update_is_none(value: object) -> None:
    assert read_update(value) is None


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"poll": {"id": "1"}},
        {"callback_query": {"id": "1", "from": PERSON}},
        # Two bots in one group, both of which answer everything.
        {"message": message(text="/stop@other_bot now", **mark("bot_command", 0, 15))},
        {"edited_message": message(text="/stop@other_bot", **mark("bot_command", 0, 15))},
    ],
)
def test_what_nobody_knows_tells_nothing(values: Json) -> None:
    update = read_update({"update_id": 9, **values})
    assert update is not None
    assert make_event("helper", ME, [update]) is None
