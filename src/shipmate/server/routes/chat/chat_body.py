"""Read what a chat client sends: one new message, decisions on approvals. The rest is not believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from shipmate.server.guard.error import invalid
from shipmate.server.guard.viewer import viewer
from shipmate.server.routes.consent.approval import reply_event
from shipmate.server.site import ID_LIMIT, PLATFORM
from shipmate.values.event import ApprovalReplyEvent, Attachment, RetryEvent, TextEvent
from shipmate.values.message import JsonObject, UIMessage, timestamp, tool_parts
from shipmate.values.nesting import check_nesting
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.upload import ADDRESS

REASON_LIMIT = 4000
SUBMIT, RETRY = "submit-message", "regenerate-message"
MESSAGES: JsonObject = {"minItems": 1, "items": {"type": "object"}}


class ChatBody(msgspec.Struct, rename="camel"):
    """A request of `DefaultChatTransport`; only its last message and those with decisions are decoded."""

    id: Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 60})]
    messages: Annotated[list[msgspec.Raw], Meta(extra_json_schema=MESSAGES)] = []
    trigger: Annotated[str | None, Meta(extra_json_schema={"enum": [SUBMIT, RETRY, None]})] = None
    # What a retry replaces, or whose approvals were decided.
    message_id: str | None = None
    member: str | None = None
    # Names a retry, so that sending it twice starts it once.
    key: Annotated[str | None, Meta(extra_json_schema={"minLength": 1, "maxLength": ID_LIMIT})] = None


class ClientDecision(msgspec.Struct, frozen=True):
    """A person's decision on one approval, as the client sent it."""

    approval_id: str
    approved: bool
    reason: str | None


def read_chat(raw: bytes) -> ChatBody:
    """Decode a chat request."""
    try:
        return msgspec.json.decode(check_nesting(raw), type=ChatBody)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"The body is not a chat request: {error}"[:300]) from error


def last_message(body: ChatBody) -> JsonObject:
    """Decode the one message that counts."""
    if not body.messages:
        raise invalid("There is no message.")
    message: object = None
    for raw in reversed(body.messages):
        message = msgspec.json.decode(raw)
        # A course that was opened or a pin may stand last; nobody says anything with those.
        if not isinstance(message, dict) or message.get("role") != "system":
            break
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
        user_id=viewer().speaker,
        speaker=viewer().shown,
        message_id=message_id,
        timestamp=timestamp(),
        member=member,
        text=text,
        attachments=files,
    )


def read_key(body: ChatBody, header: str | None) -> str | None:
    """Return the key a client gave its request, in the body or as a header."""
    key = body.key if body.key is not None else header
    if key is not None and (not 0 < len(key) <= ID_LIMIT or not key.isprintable()):
        raise invalid(f"key: a text of at most {ID_LIMIT} characters is expected.")
    return key


def retry_id(key: str) -> str:
    """Return the id of a retry's event, made from its key; a message of the same id is another event."""
    return f"retry-{key}"


def retry_event(thread_id: ThreadId, message_id: str, replaced: UIMessage) -> RetryEvent:
    """Ask for another answer in place of the last one."""
    return RetryEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=viewer().speaker,
        message_id=message_id,
        timestamp=timestamp(),
        replaces=replaced["id"] if replaced["role"] == "assistant" else None,
    )


def held_copy(message: JsonObject) -> UIMessage | None:
    """Return the client's copy of an assistant message, without what is no part of one."""
    message_id = message.get("id")
    if not isinstance(message_id, str) or not message_id or message.get("role") != "assistant":
        return None
    parts: list[JsonObject] = [part for part in message["parts"] if isinstance(part, dict) and _is_part(part)]
    metadata = message.get("metadata")
    return {
        "id": message_id,
        "role": "assistant",
        "metadata": metadata if isinstance(metadata, dict) else {},
        "parts": parts,
    }


def _is_part(part: JsonObject) -> bool:
    kind = part.get("type")
    names = [part[name] for name in ("toolCallId", "id") if name in part]
    if not isinstance(kind, str) or not all(isinstance(name, str) for name in names):
        return False
    if kind in ("text", "reasoning"):
        return isinstance(part.get("text"), str)
    return not kind.startswith("data-") or "data" in part


def decided_reply_event(thread_id: str, decision: ClientDecision) -> ApprovalReplyEvent:
    """Make the event of a decision that a client may send more than once, with every later request."""
    word = "yes" if decision.approved else "no"
    event = reply_event(thread_id, [decision.approval_id], decision.approved, decision.reason)
    return msgspec.structs.replace(event, message_id=f"{word}-{decision.approval_id}")


def waiting_approvals(messages: Sequence[UIMessage]) -> dict[str, str]:
    """Map the approvals that wait in a thread to the messages they are in."""
    return {
        part["approval"]["id"]: message["id"]
        for message in messages
        if message["role"] == "assistant"
        for part in tool_parts(message)
        if part.get("state") == "approval-requested"
    }


def read_decision(approval: object) -> ClientDecision:
    """Read a decision; nothing but a boolean decides."""
    if not isinstance(approval, dict):
        raise invalid("approval: an object with id and approved is expected.")
    approval_id, approved, reason = approval.get("id"), approval.get("approved"), approval.get("reason")
    # Strictly a boolean: "false" and 0 must never pass for anything.
    if not isinstance(approval_id, str) or not isinstance(approved, bool):
        raise invalid("approval: id must be a text and approved must be true or false.")
    return ClientDecision(
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
