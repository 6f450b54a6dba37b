"""Read the messages of a request: what was said before, and what is new."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, TypeAlias

import msgspec

from shipmate.server.guard.error import ApiError
from shipmate.server.routes.v1.body import ClientCall, ClientMessage
from shipmate.server.routes.v1.refusal import bad
from shipmate.values.event import Attachment
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting

PICTURE = re.compile(r"data:(image/(?:png|jpe?g|gif|webp));base64,", re.IGNORECASE)
SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said, or a program told the model beforehand."""

    text: str
    files: tuple[Attachment, ...] = ()
    is_instruction: bool = False


class SettledCall(msgspec.Struct, frozen=True):
    """A call of the history and what it brought."""

    id: str
    name: str
    arguments: Any
    result: str


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What an assistant said and called."""

    text: str
    calls: tuple[SettledCall, ...] = ()


Entry: TypeAlias = Words | Answered


class ClientHistory(msgspec.Struct, frozen=True):
    """A request's messages: all but the new, and the new, which is words or an answer with results."""

    before: tuple[Entry, ...]
    new: Words | Answered

    @property
    def instructions(self) -> str:
        """Return what the program told the model beforehand."""
        told = [each.text for each in self.before if isinstance(each, Words) and each.is_instruction]
        return "\n\n".join(told)


def read_history(messages: list[ClientMessage]) -> ClientHistory:
    """Read messages in order; every call must have one result before anything else is said."""
    entries: list[Entry] = []
    place = 0
    while place < len(messages):
        message = messages[place]
        if message.role == "tool":
            raise bad(f"messages[{place}]", "no call of that id stands in the message before.")
        if message.role == "assistant":
            results = _results(messages, place)
            entries.append(_answered(message, place, results))
            place += len(results)
        else:
            entries.append(_words(message, place))
        place += 1
    last = entries[-1]
    if isinstance(last, Answered) and not last.calls:
        raise bad("messages", "the last one must be of the user, or the result of a tool.")
    if isinstance(last, Words) and not last.text.strip() and not last.files:
        raise bad(f"messages[{len(messages) - 1}].content", "the last message is empty.")
    return ClientHistory(tuple(entries[:-1]), last)


def _results(messages: list[ClientMessage], place: int) -> dict[str, str]:
    """Return the results that follow an assistant's message: one for each of its calls."""
    calls = messages[place].tool_calls or []
    ids = [call.id for call in calls]
    if len(set(ids)) < len(ids):
        raise bad(f"messages[{place}].tool_calls", "two calls have one id.")
    found: dict[str, str] = {}
    for number in range(place + 1, len(messages)):
        message = messages[number]
        if message.role != "tool":
            break
        if message.tool_call_id not in ids:
            raise bad(f"messages[{number}].tool_call_id", "no call of that id stands in the message before.")
        if message.tool_call_id in found:
            raise bad(f"messages[{number}].tool_call_id", "this call has a result already.")
        found[message.tool_call_id] = _text(message, number)
    if len(found) < len(ids):
        raise bad(f"messages[{place}].tool_calls", "each call needs a message of role `tool` behind it.")
    return found


def _answered(message: ClientMessage, place: int, results: dict[str, str]) -> Answered:
    text = "" if message.content is None else _text(message, place)
    calls = tuple(_settled(call, place, results[call.id]) for call in message.tool_calls or ())
    return Answered(text=text or message.refusal or "", calls=calls)


def _settled(call: ClientCall, place: int, result: str) -> SettledCall:
    try:
        arguments = msgspec.json.decode(check_nesting(call.function.arguments.strip() or "{}"))
    except msgspec.ValidationError as error:
        raise bad(f"messages[{place}].tool_calls", f"the arguments are {error}.") from error
    except msgspec.DecodeError:
        # Models write such; the history says what was written.
        arguments = call.function.arguments
    return SettledCall(call.id, call.function.name, arguments, result)


def _words(message: ClientMessage, place: int) -> Words:
    if message.role in ("system", "developer"):
        return Words(text=_text(message, place), is_instruction=True)
    if not isinstance(message.content, list):
        return Words(text=_text(message, place))
    texts: list[str] = []
    files: list[Attachment] = []
    for number, part in enumerate(message.content):
        where = f"messages[{place}].content[{number}]"
        if part.get("type") == "image_url":
            files.append(_picture(part, where))
        elif part.get("type") == "input_audio":
            files.append(_recording(part, where))
        else:
            texts.append(_part_text(part, where))
    return Words(text="\n\n".join(texts), files=tuple(files))


def _text(message: ClientMessage, place: int) -> str:
    where = f"messages[{place}].content"
    if isinstance(message.content, str):
        return message.content
    if message.content is None:
        raise bad(where, "a text or a list of parts is expected.")
    return "\n\n".join(_part_text(part, f"{where}[{n}]") for n, part in enumerate(message.content))


def _part_text(part: JsonObject, where: str) -> str:
    kind = part.get("type")
    text = part.get(kind) if kind in ("text", "refusal") else None
    if not isinstance(text, str):
        raise bad(
            where,
            "only parts of type `text`, and `image_url` and `input_audio` in a user's message, are read.",
        )
    return text


def _picture(part: JsonObject, where: str) -> Attachment:
    holder = part.get("image_url")
    url = holder.get("url") if isinstance(holder, dict) else None
    if not isinstance(url, str):
        raise bad(f"{where}.image_url", "an object with a `url` is expected.")
    head = PICTURE.match(url)
    if head is None:
        raise _not_fetched(where)
    try:
        base64.b64decode(url[head.end() :], validate=True)
    except binascii.Error as error:
        raise bad(f"{where}.image_url.url", f"this is no base64: {error}.") from error
    kind = head[1].lower().replace("image/jpg", "image/jpeg")
    return Attachment(url=f"data:{kind};base64,{url[head.end() :]}", media_type=kind)


def _recording(part: JsonObject, where: str) -> Attachment:
    holder = part.get("input_audio")
    given: JsonObject = holder if isinstance(holder, dict) else {}
    kind, data = SOUNDS.get(str(given.get("format"))), given.get("data")
    if kind is None or not isinstance(data, str) or not data:
        raise bad(
            f"{where}.input_audio", "an object with `data` in base64 and `format` wav or mp3 is expected."
        )
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise bad(f"{where}.input_audio.data", f"this is no base64: {error}.") from error
    return Attachment(url=f"data:{kind};base64,{data}", media_type=kind)


def _not_fetched(where: str) -> ApiError:
    # Fetching an address a client names would let it look around in the server's own network.
    return bad(
        f"{where}.image_url.url",
        "a PNG, JPEG, GIF or WebP as a `data:` address in base64 is expected; nothing is fetched.",
    )
