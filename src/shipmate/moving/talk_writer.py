"""Write a conversation of another program as messages of ours, with ids that are the same each time."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from shipmate.moving.move_wording import say
from shipmate.values.message import (
    JsonObject,
    UIMessage,
    data_part,
    json_text,
    metadata_of,
    text_part,
    timestamp,
)

UNKNOWN = "1970-01-01T00:00:00.000Z"
# What providers take for the name of a tool and the id of a call.
ODD = re.compile(r"[^A-Za-z0-9_-]+")
NAME_LIMIT = 64


def read_moment(value: Any) -> str:
    """Return a moment that is written as a number or as ISO 8601; empty where it is neither."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return timestamp(datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC))
        return timestamp(datetime.fromisoformat(value)) if isinstance(value, str) and value else ""
    except (ValueError, OverflowError, OSError):
        return ""


def read_text(content: Any) -> str:
    """Return the words of a message: a text, or those of its blocks; a picture is named."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    pieces: list[str] = []
    for block in content:
        if isinstance(block, str):
            pieces.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            pieces.append(block["text"])
        elif isinstance(block, dict) and "image" in str(block.get("type")):
            pieces.append("[image]")
    return "\n\n".join(piece for piece in pieces if piece)


class TalkWriter:
    """One conversation, written in the order in which it was held."""

    def __init__(self, program: str, key: str, thread_id: str, mask: Callable[[str], str]) -> None:
        self._program = program
        self._key = key
        self._thread_id = thread_id
        self._mask = mask
        self._seen = Counter[str]()
        self._at = UNKNOWN
        self._messages: list[UIMessage] = []
        self._calls: dict[str, JsonObject] = {}

    def person(self, text: str, at: Any, native: str = "", *, speaker: str = "") -> None:
        """Write what a person said."""
        if not text.strip():
            return
        more = {"speaker": speaker} if speaker else {}
        self._begin("user", at, native or f"user|{at}|{text}", more)["parts"].append(
            {"type": "text", "text": self._mask(text)}
        )

    def answer(self, text: str, at: Any, native: str = "", *, member: str = "") -> None:
        """Write what a member said, in the message that is open if it is that member's."""
        if text.strip():
            self._open(at, native or f"assistant|{at}|{text}", member)["parts"].append(
                text_part(self._mask(text))
            )

    def call(
        self, call_id: str, name: str, given: Any, at: Any, native: str = "", *, member: str = ""
    ) -> None:
        """Write a call of a tool; until its result comes it is one whose outcome nobody knows."""
        told = json_text(given)
        own_id = self._call_id(call_id)
        part: JsonObject = {
            "type": "dynamic-tool",
            "toolName": ODD.sub("_", name)[:NAME_LIMIT] or "tool",
            "toolCallId": own_id,
            "state": "output-error",
            "input": given
            if isinstance(given, dict) and self._mask(told) == told
            else {"given": self._mask(told)},
            "errorText": str(say("interrupted", program=self._program)),
        }
        self._open(at, native or f"call|{at}|{call_id}|{name}|{told}", member)["parts"].append(part)
        self._calls[call_id] = part

    def result(self, call_id: str, output: Any, *, is_error: bool = False) -> bool:
        """Write the result of a call; tell whether there is such a call."""
        part = self._calls.pop(call_id, None)
        if part is None:
            return False
        told = self._mask(output if isinstance(output, str) else read_text(output) or json_text(output))
        if is_error:
            part["errorText"] = told or "failed"
        else:
            part.pop("errorText", None)
            part |= {"state": "output-available", "output": told}
        return True

    def finish(self, began: str = "") -> list[UIMessage]:
        """Return the messages, a row first that says where they come from."""
        if not self._messages:
            return []
        first = str(metadata_of(self._messages[0]).get("timestamp", UNKNOWN))
        told = {"text": str(say("imported", program=self._program)), "tainted": True, "from": self._program}
        opening: UIMessage = {
            "id": self._name("opening"),
            "role": "system",
            "metadata": self._metadata(began or first),
            "parts": [data_part("notice", told, "import")],
        }
        return [opening, *self._messages]

    def _open(self, at: Any, native: str, member: str) -> UIMessage:
        last = self._messages[-1] if self._messages else None
        if last is not None and last["role"] == "assistant" and metadata_of(last).get("member", "") == member:
            return last
        return self._begin("assistant", at, native, {"member": member} if member else {})

    def _begin(self, role: Any, at: Any, native: str, more: JsonObject) -> UIMessage:
        self._at = read_moment(at) or self._at
        # What is said twice at the same moment are two messages.
        self._seen[native] += 1
        number = self._seen[native]
        made: UIMessage = {
            "id": self._name(native if number == 1 else f"{native}|{number}"),
            "role": role,
            "metadata": {**self._metadata(self._at), **more},
            "parts": [],
        }
        self._messages.append(made)
        return made

    def _metadata(self, at: str) -> JsonObject:
        return {
            "timestamp": at,
            "threadId": self._thread_id,
            "course": 1,
            "sourceTag": f"import:{self._program}",
        }

    def _name(self, native: str) -> str:
        return f"{self._program}-{digest(self._key, native)}"

    def _call_id(self, call_id: str) -> str:
        """Return the id of a call as providers take it; one that stands there already gets another."""
        plain = ODD.sub("_", call_id)[:NAME_LIMIT] or "call"
        self._seen[f"id|{plain}"] += 1
        number = self._seen[f"id|{plain}"]
        return (
            plain if number == 1 and plain == call_id else f"call_{digest(self._key, call_id, str(number))}"
        )


def digest(*words: str) -> str:
    """Return a short name that is the same for the same words."""
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:24]
