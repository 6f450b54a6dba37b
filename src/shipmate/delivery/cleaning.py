"""Take out of a member's words what models leave in them by mistake; code is left as it is.

The thread keeps what was said. Every surface, whole or while it is written, shows it through this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import JsonObject, UIMessage

# Thoughts and calls that were written as text, whole or without their end.
_THOUGHT = re.compile(
    r"<(think|thinking|thought|reasoning|reflection|scratchpad|tool_calls?|function_calls?|invoke|tool_result|"
    r"function_results?)\b[^<>]*>.*?(?:</\1>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# Thoughts before all else, which may hold code of their own.
_OPENING = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_LEFT_OVER = re.compile(
    r"</(think|thinking|thought|reasoning|tool_calls?|function_calls?|invoke)>", re.IGNORECASE
)
# Marks between turns, such as <|im_end|>, [/INST] and <s>.
_MARK = re.compile(
    r"<\|[a-z_0-9]{1,40}\|>|</?s>|\[/?INST\]|<<?/?SYS>>?|<(?:start|end)_of_turn>", re.IGNORECASE
)
# The name of the speaker, as in a transcript.
_SPEAKER = re.compile(r"\A\s*(?:assistant|ai|bot|助手)\s*[:\uff1a]\s*", re.IGNORECASE)
_CODE = re.compile(
    r"(^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\2[`~]*[ \t]*$|\Z)|`[^`\n]+`)", re.DOTALL | re.MULTILINE
)
_BLANKS_OR_CODE = re.compile(rf"{_CODE.pattern}|\n[ \t]*(?:\n[ \t]*){{2,}}", re.DOTALL | re.MULTILINE)


# How an artefact may begin: without any of this there is none.
_SUSPECT = re.compile(r"<[a-z/|<]|\[/?I|[<\[]/?\Z", re.IGNORECASE)
# The end of what may still become one: a tag that is not closed, or code on a line that is not.
_UNSURE = re.compile(r"(?:<(?:[a-z/|<][^<>\n]{0,60})?|\[/?I?N?S?T?|`[^`\n]*[<\[][^`\n]*)\Z", re.IGNORECASE)
_SPEAKERS = ("assistant:", "ai:", "bot:", "助手:")
# From here on words are cleaned line by line: that is as fast as people read, and costs less.
_LONG = 4_000


def clean(text: str) -> str:
    """Return words without what no person should read: thoughts, marks of turns, calls written as text."""
    return _BLANKS_OR_CODE.sub(lambda found: found[1] or "\n\n", remove(text)).strip()


def remove(text: str) -> str:
    """Return words without artefacts, and otherwise as they are."""
    if not _SUSPECT.search(text) and not _SPEAKER.match(text):
        return text
    pieces = _CODE.split(_OPENING.sub("", text))
    # Each piece of code is followed by its fence, which the code has already.
    kept = [
        piece if place % 3 == 1 else _remove(piece) for place, piece in enumerate(pieces) if place % 3 != 2
    ]
    return _SPEAKER.sub("", "".join(kept))


def _remove(text: str) -> str:
    return _MARK.sub("", _LEFT_OVER.sub("", _THOUGHT.sub("", text)))


def remove_from(message: UIMessage) -> UIMessage:
    """Return an answer whose words are without artefacts."""
    if message["role"] != "assistant":
        return message
    return {**message, "parts": [_remove_from(part) for part in message["parts"]]}


def _remove_from(part: JsonObject) -> JsonObject:
    text = part.get("text")
    return {**part, "text": remove(text)} if part.get("type") == "text" and isinstance(text, str) else part


class CleanStream:
    """The words of one text while they are written: told as soon as no more can make an artefact of them."""

    def __init__(self) -> None:
        self._raw = ""
        self._told = ""
        self._is_suspect = False

    def push(self, delta: str) -> str:
        """Add to the text; return what can be told now."""
        self._raw += delta
        # Looked for in what is new alone: most texts have none, and some are long.
        self._is_suspect = self._is_suspect or bool(_SUSPECT.search(self._raw[-len(delta) - 2 :]))
        if not self._told and _may_name_speaker(self._raw):
            return ""
        if not self._is_suspect:
            return self._tell(self._raw)
        if len(self._raw) > _LONG and "\n" not in delta:
            return ""
        unsure = _UNSURE.search(self._raw)
        return self._tell(self._raw[: unsure.start()] if unsure else self._raw)

    def end(self) -> str:
        """Return what is left when the text is whole."""
        return self._tell(self._raw)

    def _tell(self, raw: str) -> str:
        words = remove(raw) if self._is_suspect or not self._told else raw
        # What was told cannot be taken back; should more of it have to go, the rest follows as it is.
        if self._told.startswith(words):
            return ""
        if not words.startswith(self._told):
            words = self._told + raw[len(self._told) :]
        new = words[len(self._told) :]
        self._told = words
        return new


def _may_name_speaker(text: str) -> bool:
    head = text.strip().casefold().replace("\uff1a", ":")
    return any(each.startswith(head) for each in _SPEAKERS)


class CleanChunks:
    """The chunks of one message for people: its texts without artefacts, all else as it is."""

    def __init__(self) -> None:
        self._open: dict[str, CleanStream] = {}

    def take(self, told: Iterable[Chunk]) -> list[Chunk]:
        """Return chunks as people shall read them."""
        return [made for chunk in told for made in self._take(chunk)]

    def _take(self, chunk: Chunk) -> list[Chunk]:
        match chunk["type"]:
            case "text-delta":
                words = self._open.setdefault(chunk["id"], CleanStream()).push(chunk["delta"])
                return [{**chunk, "delta": words}] if words else []
            case "text-end":
                return [*self._end(chunk["id"]), chunk]
            case "finish" | "abort" | "error":
                return [*(made for each in list(self._open) for made in self._end(each)), chunk]
            case _:
                return [chunk]

    def _end(self, text_id: str) -> list[Chunk]:
        left = self._open.pop(text_id, None)
        words = left.end() if left is not None else ""
        return [chunks.text("text-delta", text_id, words)] if words else []
