"""Read what Feishu tells: messages, messages taken back, and clicks on cards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeGuard

from shipmate.errors import ThreadIdError
from shipmate.values.adapter_event import AdapterEvent, Chat, RemoteFile, Speaker
from shipmate.values.message import JsonObject, timestamp
from shipmate.values.thread_id import ThreadId

RECEIVED, RECALLED, CLICKED = "im.message.receive_v1", "im.message.recalled_v1", "card.action.trigger"
MENTION = re.compile(r"@_user_\d+|@_all\b")
# Between a message and what was pressed under it; no id of Feishu's holds a dot.
PRESS = ".press."


def kind_of(payload: JsonObject) -> str:
    """Return what sort of event this is."""
    return str(_object(payload, "header").get("event_type") or "")


def read_message(platform: str, payload: JsonObject, bot_id: str) -> AdapterEvent | None:
    """Return a message as the core takes it, without names; None for one that has no sense to it."""
    event = _object(payload, "event")
    message, sender = _object(event, "message"), _object(event, "sender")
    message_id, chat_id = message.get("message_id"), message.get("chat_id")
    speaker_id = _object(sender, "sender_id").get("open_id") or ""
    if not (_is_id(message_id) and _is_id(chat_id)):
        return None
    is_private = message.get("chat_type") == "p2p"
    people = {str(each.get("key")): each for each in _list(message, "mentions") if isinstance(each, dict)}
    text, files, voice = _read_content(message_id, str(message.get("message_type")), message, people, bot_id)
    return AdapterEvent(
        platform=platform,
        chat=Chat(
            id=chat_id,
            kind="dm" if is_private else "group",
            topic=str(message.get("thread_id") or "") or None,
        ),
        speaker=Speaker(id=str(speaker_id), is_bot=sender.get("sender_type") != "user"),
        message_id=message_id,
        timestamp=_read_time(message.get("create_time")),
        text=text,
        files=files,
        voice=voice,
        is_addressed=is_private or any(_id_of(each) == bot_id for each in people.values()),
        reply_to=str(message.get("parent_id") or "") or None,
    )


def read_recall(payload: JsonObject) -> str | None:
    """Return the id of a message that was taken back."""
    found = _object(payload, "event").get("message_id")
    return found if _is_id(found) else None


def read_click(platform: str, payload: JsonObject) -> AdapterEvent | None:
    """Return a click on a card of ours; None on any other, also on one that was forwarded elsewhere."""
    event = _object(payload, "event")
    value, context = _object(_object(event, "action"), "value"), _object(event, "context")
    message_id, data = context.get("open_message_id"), value.get("data")
    try:
        thread_id = ThreadId.parse(str(value.get("thread")))
    except ThreadIdError:
        return None
    if (
        not (_is_id(message_id) and isinstance(data, str))
        or context.get("open_chat_id") != thread_id.scope_id
    ):
        return None
    header = _object(payload, "header")
    return AdapterEvent(
        platform=platform,
        chat=Chat(id=thread_id.scope_id, kind=_read_kind(thread_id.scope_type), topic=thread_id.topic),
        speaker=Speaker(id=str(_object(event, "operator").get("open_id") or "")),
        message_id=f"{message_id}{PRESS}{header.get('event_id')}",
        timestamp=timestamp(),
        pressed=data,
        reply_to=message_id,
    )


def _read_content(
    message_id: str, kind: str, message: JsonObject, people: Mapping[Any, JsonObject], bot_id: str
) -> tuple[str, tuple[RemoteFile, ...], RemoteFile | None]:
    """Return the words, files and voice of a message."""
    try:
        content = json.loads(str(message.get("content") or ""))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        return "", (), None

    def name(found: re.Match[str]) -> str:
        person = people.get(found[0])
        if person is None:
            return "@all" if found[0] == "@_all" else found[0]
        return "" if _id_of(person) == bot_id else f"@{person.get('name') or ''}"

    match kind:
        case "text":
            return MENTION.sub(name, str(content.get("text") or "")).strip(), (), None
        case "post":
            text, keys = _read_post(content)
            files = tuple(_name_file(message_id, key, sort) for key, sort in keys)
            return MENTION.sub(name, text).strip(), files, None
        case "image":
            return "", (_name_file(message_id, content.get("image_key"), "image"),), None
        case "audio":
            voice = _name_file(message_id, content.get("file_key"), "file", "voice.ogg", "audio/ogg")
            return "", (), voice
        case "file" | "media":
            filename = str(content.get("file_name") or "file")
            return "", (_name_file(message_id, content.get("file_key"), "file", filename),), None
        case _:
            return "", (), None


def _read_post(content: JsonObject) -> tuple[str, list[tuple[Any, str]]]:
    """Return the words of a post and the keys of what lies in it."""
    if "content" not in content:
        # By language.
        content = next((each for each in content.values() if isinstance(each, dict)), {})
    keys: list[tuple[Any, str]] = []
    lines = [str(content.get("title") or "")]
    for line in _list(content, "content"):
        lines.append("".join(_read_pieces(line, keys)))
    return "\n".join(lines).strip(), keys


def _read_pieces(line: Any, keys: list[tuple[Any, str]]) -> Iterator[str]:
    for piece in line if isinstance(line, list) else ():
        if not isinstance(piece, dict):
            continue
        match piece.get("tag"):
            case "at":
                yield str(piece.get("user_id") or "")
            case "a":
                yield f"[{piece.get('text') or ''}]({piece.get('href') or ''})"
            case "code_block":
                yield f"```{str(piece.get('language') or '').lower()}\n{piece.get('text') or ''}\n```"
            case "img":
                keys.append((piece.get("image_key"), "image"))
            case "media":
                keys.append((piece.get("file_key"), "file"))
            case "hr":
                yield "---"
            case "emotion":
                yield f":{piece.get('emoji_type') or ''}:"
            case _:
                yield str(piece.get("text") or "")


def _name_file(
    message_id: str, key: Any, sort: str, filename: str = "", media_type: str = "application/octet-stream"
) -> RemoteFile:
    is_image = sort == "image"
    return RemoteFile(
        id=f"{message_id}/{key}/{sort}",
        filename=filename or ("image.png" if is_image else "file"),
        media_type="image/png" if is_image else media_type,
    )


def _read_time(text: Any) -> str:
    try:
        return timestamp(datetime.fromtimestamp(int(text) / 1000, UTC))
    except (ValueError, TypeError, OverflowError, OSError):
        return timestamp()


def _read_kind(word: str) -> Any:
    return word if word in ("dm", "group") else "group"


def _id_of(mention: JsonObject) -> str:
    return str(_object(mention, "id").get("open_id") or "")


def _is_id(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and value.replace("_", "").isalnum() and len(value) < 100


def _list(value: JsonObject, key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _object(value: Any, key: str) -> JsonObject:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
