"""Make what was said fit to be shared: people become s1, s2, bookkeeping is left out, secrets are masked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from shipmate.values.event import surface_of
from shipmate.values.message import JsonObject, UIMessage, metadata_of
from shipmate.workspace.secret.secret import Mask

Cover: TypeAlias = Callable[[str], str]
# What metadata says of the talk itself. Whatever else it says is of people, places, runs or times.
SHARED = frozenset(
    {"course", "sourceTag", "member", "model", "outcome", "ending", "clientCalls", "guides", "userId"}
)
# What the program's own parts say of the talk. Whatever else they hold names people, threads and runs.
_DATA_KEYS = {
    "data-reply": frozenset({"text", "userId", "steps"}),
    "data-replaced": frozenset({"by"}),
    "data-request": frozenset({"count", "tainted"}),
    "data-resumed": frozenset({"reason"}),
}
# What an approval says of the talk: which question it was, and what a person answered.
_APPROVAL_KEYS = frozenset({"id", "approved", "reason"})
# Names, not words: what is said elsewhere refers to them.
_NAMES = frozenset({"id", "role", "type", "state", "toolCallId", "toolName", "mediaType"})
# Bytes in another form: chance makes a stretch of them look like a key.
_OPAQUE = frozenset({"providerMetadata", "callProviderMetadata"})


@lru_cache(maxsize=1024)
def make_digest(name: str) -> str:
    """Return a digest of a name, the same each time.

    Numbers of chats and people are short enough to try them all, so that this is made slow.
    """
    return hashlib.scrypt(name.encode(), salt=b"priming", n=2**12, r=8, p=1, dklen=8).hex()


def mask_messages(messages: Sequence[UIMessage], mask: Mask) -> list[UIMessage]:
    """Return messages without the secrets in their parts and metadata; names stay as they are."""
    return [_mask_message(message, mask, mask) for message in messages]


def _mask_message(message: UIMessage, mask: Mask, cover: Cover) -> UIMessage:
    masked: JsonObject = {
        key: value if key in _NAMES or key == "parts" else _walk(value, mask, cover)
        for key, value in message.items()
    }
    parts = [
        {
            key: value if key in _NAMES else _walk(value, mask, mask.cover_known if key in _OPAQUE else cover)
            for key, value in part.items()
        }
        for part in message["parts"]
    ]
    return {**masked, "parts": parts}  # pyright: ignore[reportReturnType]  (the keys are those of the message)


def _walk(value: Any, mask: Mask, cover: Cover) -> Any:
    if isinstance(value, str):
        return mask.cover_known(value) if value.startswith("data:") else cover(value)
    if isinstance(value, list):
        return [_walk(each, mask, cover) for each in value]
    if isinstance(value, dict):
        return {_walk(key, mask, cover): _walk(each, mask, cover) for key, each in value.items()}
    return value


def share_messages(messages: Sequence[UIMessage], platform: str) -> list[UIMessage]:
    """Return messages without what tells of people, places, runs and times; what was said stays whole.

    `platform` is that of the thread, for messages that name none.
    """
    speakers = _Speakers()
    return [_share(message, speakers, platform) for message in messages]


class _Speakers:
    """The people of a talk, numbered in the order they first spoke."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def name(self, data: JsonObject, platform: str) -> JsonObject:
        """Return data with the person in it named by number."""
        person = data.get("userId")
        if not isinstance(person, str) or not person:
            return {key: value for key, value in data.items() if key != "userId"}
        return {**data, "userId": self._known.setdefault((platform, person), f"s{len(self._known) + 1}")}


def _share(message: UIMessage, speakers: _Speakers, usual: str) -> UIMessage:
    stated = metadata_of(message)
    named = stated.get("platform")
    platform = named if isinstance(named, str) and named else usual
    metadata = speakers.name({key: value for key, value in stated.items() if key in SHARED}, platform)
    shared: UIMessage = {
        "id": _share_id(message["id"], platform),
        "role": message["role"],
        "parts": [_share_part(part, speakers, platform) for part in message["parts"]],
    }
    return {**shared, "metadata": metadata} if metadata else shared


def _share_id(name: str, platform: str) -> str:
    """Return an id as it is, unless a chat platform made it: those name the chat, and so a person."""
    is_theirs = not surface_of(platform).is_owner and f"{platform}-" in name
    return f"m-{make_digest(name)}" if is_theirs else name


def _share_part(part: JsonObject, speakers: _Speakers, platform: str) -> JsonObject:
    name, data, approval = part.get("id"), part.get("data"), part.get("approval")
    shared = {**part, "id": _share_id(name, platform)} if isinstance(name, str) else dict(part)
    keys = _DATA_KEYS.get(str(part.get("type")))
    if keys is not None and isinstance(data, dict):
        kept = {key: value for key, value in data.items() if key in keys}
        shared["data"] = speakers.name(kept, platform)
    if isinstance(approval, dict):
        shared["approval"] = {key: value for key, value in approval.items() if key in _APPROVAL_KEYS}
    return shared
