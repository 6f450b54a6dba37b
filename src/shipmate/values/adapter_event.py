"""Describe what an adapter hears on its platform, before the core has found its thread and its person."""

from __future__ import annotations

from typing import Literal

import msgspec

# What a person of ship.json's `people` is called in events; no platform's own id may begin with it.
PERSON = "person:"


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    """Where something was said."""

    id: str
    kind: Literal["dm", "group", "channel", "room", "ticket"] = "dm"
    # A forum topic or reply thread that is a conversation of its own.
    topic: str | None = None
    title: str = ""


class Speaker(msgspec.Struct, frozen=True, kw_only=True):
    """Who said it, by the platform's own id; the name is only shown."""

    id: str
    name: str = ""
    # Another bot, or this one: its words start nothing.
    is_bot: bool = False


class RemoteFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that still lies with the platform. `id` is whatever the adapter needs to fetch it later."""

    id: str
    media_type: str = "application/octet-stream"
    filename: str = ""
    # As far as the platform says.
    size: int | None = None


class AdapterEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One message, edit, deletion or pressed button on a platform."""

    # The adapter's name in ship.json.
    platform: str
    chat: Chat
    speaker: Speaker
    # Unique on the platform and the same at each redelivery, such as `<chat>.<message>`.
    message_id: str
    # When it was said, as `values.message.timestamp` writes it.
    timestamp: str
    text: str = ""
    files: tuple[RemoteFile, ...] = ()
    # A spoken message; its words are found later.
    voice: RemoteFile | None = None
    # Said to the bot: in private, by mention, or in reply to it.
    is_addressed: bool = True
    # The message this is an answer to, by its id on the platform as `send` returned it.
    reply_to: str | None = None
    # What a pressed button carries: the `data` of its Button, unchanged.
    pressed: str | None = None
    # The `message_id` of the message that this one changes, or takes back when `is_deletion`.
    changes: str | None = None
    is_deletion: bool = False


class HeardEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an event. Whatever it is, the platform may be told that the event arrived."""

    status: Literal["accepted", "repeated", "ignored", "refused"]
    # Words for whoever pressed a button, for platforms that show such; else empty.
    told: str = ""
