"""Read what a chat client sends: one new message, or answers to approvals. The rest of it is not believed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from shipmate.errors import ThreadIdError
from shipmate.server.error import invalid
from shipmate.server.security import SLASH
from shipmate.values.event import ApprovalReplyEvent, Attachment, RetryEvent, TextEvent
from shipmate.values.message import JsonObject, UIMessage, new_id, timestamp, tool_parts
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.upload import ADDRESS

# Whoever holds the workspace's token is its owner; the server knows no other person.
OWNER = "owner"
PLATFORM = "web"
ID_LIMIT = 200
REASON_LIMIT = 4000
RETRY = "regenerate-message"


class ChatBody(msgspec.Struct):
    """Hold a request of `DefaultChatTransport`; messages but the last are never decoded."""

    id: str
    messages: list[msgspec.Raw] = []
    trigger: str | None = None
    member: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """Hold a person's answer to one approval, as the client sent it."""

    approval_id: str
    approved: bool
    reason: str | None


def read_chat(raw: bytes) -> ChatBody:
    """Decode a chat request."""
    try:
        return msgspec.json.decode(raw, type=ChatBody)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"The body is not a chat request: {error}"[:300]) from error


def thread_of(text: str) -> ThreadId:
    """Read a thread id; any other id names a room of the web."""
    try:
        return ThreadId.parse(text)
    except ThreadIdError:
        return ThreadId(PLATFORM, "room", text)


def thread_at(segment: str) -> ThreadId:
    """Read a thread id from a segment of an address, where a slash is written as the guard keeps it."""
    return thread_of(segment.replace(SLASH, "/"))


def new_room() -> ThreadId:
    """Name a new thread of the web."""
    return ThreadId(PLATFORM, "room", uuid.uuid4().hex)


def last_message(body: ChatBody) -> JsonObject:
    """Decode the one message that counts."""
    if not body.messages:
        raise invalid("There is no message.")
    message = msgspec.json.decode(body.messages[-1])
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        raise invalid("messages: the last one is no user or assistant message.")
    if not isinstance(message.get("parts"), list):
        raise invalid("messages: the last one has no parts.")
    return message


def text_event(thread_id: ThreadId, message: JsonObject, member: str | None) -> TextEvent:
    """Take the words and files of a user message."""
    message_id = message.get("id")
    if not isinstance(message_id, str) or not 0 < len(message_id) <= ID_LIMIT or not message_id.isprintable():
        raise invalid(f"messages: the id must be a text of at most {ID_LIMIT} characters.")
    parts = [part for part in message["parts"] if isinstance(part, dict)]
    texts = [
        part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)
    ]
    files = tuple(_attachment(part) for part in parts if part.get("type") == "file")
    text = "\n\n".join(texts)
    if not text.strip() and not files:
        raise invalid("The message is empty.", "Write something or attach a file.")
    return TextEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=OWNER,
        message_id=message_id,
        timestamp=timestamp(),
        member=member,
        text=text,
        attachments=files,
    )


def said_event(thread_id: ThreadId, text: str, message_id: str | None, *, steer: bool = False) -> TextEvent:
    """Make an event of plain words."""
    return TextEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=OWNER,
        message_id=message_id or new_id("web"),
        timestamp=timestamp(),
        text=text,
        steer=steer,
    )


def retry_event(thread_id: ThreadId) -> RetryEvent:
    """Ask for another answer."""
    return RetryEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=OWNER,
        message_id=new_id("retry"),
        timestamp=timestamp(),
    )


def read_answers(message: JsonObject) -> list[Answer]:
    """Find the answers to approvals in the client's copy of an assistant message."""
    parts: list[Any] = message["parts"]
    found = [part for part in parts if isinstance(part, dict) and part.get("state") == "approval-responded"]
    if not found:
        raise invalid("There is no new message and no answer to an approval.")
    return [_answer(part.get("approval")) for part in found]


def reply_event(thread_id: str, answer: Answer, scope: str = "once") -> ApprovalReplyEvent:
    """Make the event of a pressed button."""
    return ApprovalReplyEvent(
        platform=PLATFORM,
        thread_id=thread_id,
        user_id=OWNER,
        message_id=new_id("reply"),
        timestamp=timestamp(),
        text=answer.reason or "",
        approval_id=answer.approval_id,
        approved=answer.approved,
        scope=scope,
    )


def joint_reply_event(
    thread_id: str, approval_ids: Sequence[str], approved: bool, reason: str | None
) -> ApprovalReplyEvent:
    """Make the event of a button pressed for several approvals at once."""
    return ApprovalReplyEvent(
        platform=PLATFORM,
        thread_id=thread_id,
        user_id=OWNER,
        message_id=new_id("reply"),
        timestamp=timestamp(),
        text=reason or "",
        approval_ids=tuple(approval_ids),
        approved=approved,
    )


def waiting_approvals(messages: list[UIMessage]) -> dict[str, str]:
    """Map the approvals that wait in a thread to the messages they are in."""
    return {
        part["approval"]["id"]: message["id"]
        for message in messages
        if message["role"] == "assistant"
        for part in tool_parts(message)
        if part.get("state") == "approval-requested"
    }


def _answer(approval: object) -> Answer:
    if not isinstance(approval, dict):
        raise invalid("approval: an object with id and approved is expected.")
    approval_id, approved, reason = approval.get("id"), approval.get("approved"), approval.get("reason")
    # Strictly a boolean: "false" and 0 must never pass for anything.
    if not isinstance(approval_id, str) or not isinstance(approved, bool):
        raise invalid("approval: id must be a text and approved must be true or false.")
    return Answer(
        approval_id, approved, reason[:REASON_LIMIT] if isinstance(reason, str) and reason else None
    )


def _attachment(part: JsonObject) -> Attachment:
    url, media_type, name = part.get("url"), part.get("mediaType"), part.get("filename")
    if not isinstance(url, str) or not isinstance(media_type, str):
        raise invalid("file: url and mediaType must be texts.")
    if not url.startswith(("data:", ADDRESS)):
        # Fetching an address a client names would let it look around in the server's own network.
        raise invalid("file: the url must be a data: address or one given by /api/uploads.")
    return Attachment(url=url, media_type=media_type, filename=name if isinstance(name, str) else None)
