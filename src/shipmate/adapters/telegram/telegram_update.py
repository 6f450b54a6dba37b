"""Read Telegram's updates: what was said, edited or pressed, as the core hears it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from shipmate.values.adapter_event import AdapterEvent, Chat, RemoteFile, Speaker
from shipmate.values.message import timestamp

# Everything else Telegram keeps to itself.
KINDS = ("message", "edited_message", "channel_post", "edited_channel_post", "callback_query")
CHATS: dict[str, Literal["dm", "group", "channel"]] = {
    "private": "dm",
    "group": "group",
    "supergroup": "group",
    "channel": "channel",
}

# Seconds that a calendar can hold.
Moment: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10**11)]


class TelegramUser(msgspec.Struct, frozen=True):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class TelegramChat(msgspec.Struct, frozen=True):
    """A chat; a channel or a group can also be who speaks."""

    id: int
    type: str = ""
    title: str = ""


class TelegramEntity(msgspec.Struct, frozen=True):
    """A stretch of a text that means something; counted in UTF-16."""

    type: str
    offset: int
    length: int
    user: TelegramUser | None = None


class TelegramFile(msgspec.Struct, frozen=True):
    """A file that lies with Telegram."""

    file_id: str
    file_name: str = ""
    mime_type: str = ""
    file_size: int | None = None


class TelegramMessage(msgspec.Struct, frozen=True):
    """A message, as far as it is read."""

    message_id: int
    chat: TelegramChat
    date: Moment = 0
    edit_date: Moment = 0
    sender: TelegramUser | None = msgspec.field(default=None, name="from")
    # Who speaks in the place of a person: a channel, or a group whose administrator hides.
    sender_chat: TelegramChat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    forum_topic_created: dict[str, Any] | None = None
    reply_to_message: TelegramMessage | None = None
    media_group_id: str | None = None
    text: str = ""
    caption: str = ""
    entities: tuple[TelegramEntity, ...] = ()
    caption_entities: tuple[TelegramEntity, ...] = ()
    photo: tuple[TelegramFile, ...] = ()
    document: TelegramFile | None = None
    voice: TelegramFile | None = None
    audio: TelegramFile | None = None
    video: TelegramFile | None = None
    video_note: TelegramFile | None = None
    animation: TelegramFile | None = None
    sticker: TelegramFile | None = None

    @property
    def id(self) -> str:
        """Return what names it among all messages of the bot."""
        return name_message(self.chat.id, self.message_id)


class TelegramPress(msgspec.Struct, frozen=True):
    """A button that was pressed."""

    id: str
    sender: TelegramUser = msgspec.field(name="from")
    message: TelegramMessage | None = None
    data: str = ""


class TelegramUpdate(msgspec.Struct, frozen=True):
    """Something that happened; one of its kinds is there, or none that is known."""

    update_id: int
    message: TelegramMessage | None = None
    edited_message: TelegramMessage | None = None
    channel_post: TelegramMessage | None = None
    edited_channel_post: TelegramMessage | None = None
    callback_query: TelegramPress | None = None

    @property
    def said(self) -> TelegramMessage | None:
        """Return a message that is new."""
        return self.message or self.channel_post

    @property
    def album(self) -> str | None:
        """Return the album that a new message is part of."""
        return self.said.media_group_id if self.said else None


def name_message(chat_id: int | str, message_id: int) -> str:
    """Return the id of a message; its number alone is one of a chat."""
    return f"{chat_id}.{message_id}"


def read_update(value: Any) -> TelegramUpdate | None:
    """Return an update; None for what is none."""
    try:
        return msgspec.convert(value, TelegramUpdate)
    except msgspec.ValidationError:
        return None


def make_event(platform: str, me: TelegramUser, updates: Sequence[TelegramUpdate]) -> AdapterEvent | None:
    """Return what updates tell, which are one or an album; None where they tell nothing."""
    first = updates[0]
    if first.callback_query is not None:
        return _read_press(platform, first.callback_query)
    if _is_for_another(first, me):
        return None
    if edited := first.edited_message or first.edited_channel_post:
        event = _read_message(platform, me, [edited])
        return msgspec.structs.replace(
            event, message_id=f"{edited.id}.edit.{first.update_id}", changes=edited.id
        )
    said = [each.said for each in updates if each.said is not None]
    return _read_message(platform, me, said) if said else None


def _is_for_another(update: TelegramUpdate, me: TelegramUser) -> bool:
    """Return whether a command names another bot; whoever answers everything hears it, too."""
    message = update.said or update.edited_message or update.edited_channel_post
    first = message.entities[0] if message and message.entities else None
    if message is None or first is None or first.type != "bot_command" or first.offset:
        return False
    _, at, name = message.text[: first.length].partition("@")
    return bool(at) and name.lower() != me.username.lower()


def _read_press(platform: str, press: TelegramPress) -> AdapterEvent | None:
    message = press.message
    if message is None:
        return None
    return AdapterEvent(
        platform=platform,
        chat=_read_chat(message),
        speaker=_read_user(press.sender),
        message_id=f"{message.id}.press.{press.id}",
        # When it was pressed is not told.
        timestamp=timestamp(),
        reply_to=message.id,
        pressed=press.data,
    )


def _read_message(platform: str, me: TelegramUser, messages: Sequence[TelegramMessage]) -> AdapterEvent:
    message = messages[0]
    answered = message.reply_to_message
    if answered is not None and answered.forum_topic_created is not None:
        # Whatever is said in a topic counts as an answer to its beginning.
        answered = None
    texts = [_read_text(each, me) for each in messages]
    is_meant = any(each[1] for each in texts) or bool(
        answered and answered.sender and answered.sender.id == me.id
    )
    return AdapterEvent(
        platform=platform,
        chat=_read_chat(message),
        speaker=_read_speaker(message),
        message_id=message.id,
        timestamp=timestamp(datetime.fromtimestamp(message.edit_date or message.date, UTC)),
        text="\n\n".join(text for text, _ in texts if text),
        files=tuple(file for each in messages for file in _list_files(each)),
        voice=_name_file(message.voice, "voice.ogg", "audio/ogg") if message.voice else None,
        is_addressed=message.chat.type == "private" or is_meant,
        reply_to=answered.id if answered else None,
    )


def _read_chat(message: TelegramMessage) -> Chat:
    # What answers to one message has a number too, and is no topic. The General topic has none.
    topic = message.message_thread_id if message.is_topic_message else None
    return Chat(
        id=str(message.chat.id),
        kind=CHATS.get(message.chat.type, "group"),
        topic=str(topic) if topic is not None else None,
        title=message.chat.title,
    )


def _read_speaker(message: TelegramMessage) -> Speaker:
    if message.sender_chat is not None:
        return Speaker(id=str(message.sender_chat.id), name=message.sender_chat.title)
    return _read_user(message.sender) if message.sender else Speaker(id="")


def _read_user(user: TelegramUser) -> Speaker:
    name = f"{user.first_name} {user.last_name}".strip() or user.username
    return Speaker(id=str(user.id), name=name, is_bot=user.is_bot)


def _read_text(message: TelegramMessage, me: TelegramUser) -> tuple[str, bool]:
    """Return the words without a leading call of the bot, and whether the bot is called in them."""
    text = message.text or message.caption
    units = text.encode("utf-16-le", "surrogatepass")
    is_meant, start = False, 0
    for entity in message.entities or message.caption_entities:
        end = entity.offset + entity.length
        words = units[2 * entity.offset : 2 * end].decode("utf-16-le", "replace").lower()
        is_name = words == f"@{me.username}".lower() or (entity.user is not None and entity.user.id == me.id)
        if entity.type in ("mention", "text_mention") and is_name:
            is_meant = True
            start = end if entity.offset == 0 else start
        elif entity.type == "bot_command" and entity.offset == 0:
            _, at, bot = words.partition("@")
            is_meant = is_meant or not at or bot == me.username.lower()
    return units[2 * start :].decode("utf-16-le", "replace").strip() if start else text, is_meant


def _list_files(message: TelegramMessage) -> list[RemoteFile]:
    found: dict[str, RemoteFile] = {}
    if message.photo:
        # The last is the largest.
        found[message.photo[-1].file_id] = _name_file(message.photo[-1], "photo.jpg", "image/jpeg")
    named = (
        (message.animation, "animation.mp4", "video/mp4"),
        (message.document, "document", "application/octet-stream"),
        (message.audio, "audio.mp3", "audio/mpeg"),
        (message.video, "video.mp4", "video/mp4"),
        (message.video_note, "video.mp4", "video/mp4"),
        (message.sticker, "sticker.webp", "image/webp"),
    )
    for file, name, media_type in named:
        # An animation comes as a document as well.
        if file is not None and file.file_id not in found:
            found[file.file_id] = _name_file(file, name, media_type)
    return list(found.values())


def _name_file(file: TelegramFile, name: str, media_type: str) -> RemoteFile:
    return RemoteFile(
        id=file.file_id,
        media_type=file.mime_type or media_type,
        filename=file.file_name or name,
        size=file.file_size,
    )
