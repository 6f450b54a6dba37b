"""Build a provider's message history in order, and remember the part of it that no longer changes."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from operator import is_
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from shipmate.models.provider.content import describe_file, read_image, settle_call, write_arguments
from shipmate.models.provider.wording import WORDING
from shipmate.thread.pin import has_words
from shipmate.values.message import JsonObject, UIMessage, is_tool, tool_name

# The same thread must give the same messages, so nothing here carries the time of day.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What every provider accepts: OpenAI allows 40 characters, Anthropic these letters.
CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# How many messages are remembered over all threads.
REMEMBERED = 20_000


class ProviderHistory:
    """What a provider is sent, one request or response after the other."""

    def __init__(self) -> None:
        self.messages: list[ModelMessage] = []
        self._ids: dict[str, int] = {}

    def fork(self) -> ProviderHistory:
        """Return a history that can grow without touching this one."""
        copy = ProviderHistory()
        copy.messages = self.messages.copy()
        copy._ids = self._ids.copy()
        if copy.messages:
            last = copy.messages[-1]
            copy.messages[-1] = (
                ModelRequest(list(last.parts))
                if isinstance(last, ModelRequest)
                else ModelResponse(list(last.parts), timestamp=EPOCH)
            )
        return copy

    def add(
        self, message: UIMessage, *, images: bool = False, signed: Sequence[JsonObject | None] = ()
    ) -> None:
        """Add one message; `signed` lets its reasoning go along, `images` its pictures."""
        parts = [part for part in _parts(message) if isinstance(part, dict)]
        match message.get("role"):
            case "assistant":
                self._add_assistant(parts, signed)
            case "system":
                self._add_summary(parts)
            case _:
                self._add_user(parts, images)

    def _add_user(self, parts: list[JsonObject], images: bool) -> None:
        said: list[UserContent] = []
        for part in parts:
            if text := _text(part):
                said.append(text)
            elif part.get("type") == "file":
                said.append((read_image(part) if images else None) or describe_file(part))
        words = [each for each in said if isinstance(each, str)]
        if said:
            content = "\n\n".join(words) if len(words) == len(said) else said
            self._request([UserPromptPart(content, timestamp=EPOCH)])

    def _add_summary(self, parts: list[JsonObject]) -> None:
        """Add what was pinned, whose words say so themselves; all other words sum up what came before."""
        pinned: list[str] = []
        summary: list[str] = []
        for before, part in pairwise([{}, *parts]):
            if text := _text(part):
                (pinned if has_words(before) else summary).append(text)
        if summary:
            summary = [WORDING["summary"], *summary, WORDING["summary-end"]]
        if words := "\n\n".join([*pinned, *summary]):
            self._request([UserPromptPart(words, timestamp=EPOCH)])

    def _add_assistant(self, parts: list[JsonObject], signed: Sequence[JsonObject | None]) -> None:
        answer: list[ModelResponsePart] = []
        results: list[ModelRequestPart] = []
        thoughts = 0
        for part in parts:
            if text := _text(part):
                answer.append(TextPart(text))
            elif is_tool(part):
                self._add_call(part, answer, results)
            elif part.get("type") == "reasoning":
                if thoughts < len(signed) and (signature := signed[thoughts]):
                    answer.append(_thinking(part, signature))
                thoughts += 1
            elif part.get("type") == "step-start":
                self._step(answer, results)
                answer, results = [], []
        self._step(answer, results)

    def _add_call(
        self, part: JsonObject, answer: list[ModelResponsePart], results: list[ModelRequestPart]
    ) -> None:
        if part.get("state") == "input-streaming":
            return
        call_id = self._unique(part["toolCallId"])
        name = tool_name(part)
        if not TOOL_NAME.fullmatch(name):
            name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "tool"
        text, outcome = settle_call(part)
        answer.append(ToolCallPart(name, write_arguments(part), call_id))
        results.append(ToolReturnPart(name, text, call_id, timestamp=EPOCH, outcome=outcome))

    def _unique(self, raw: Any) -> str:
        """Keep a call's id where a provider takes it and no other call has it; else make one from it."""
        known = isinstance(raw, str) and CALL_ID.fullmatch(raw)
        wanted = raw if known else f"call_{hashlib.blake2b(repr(raw).encode(), digest_size=12).hexdigest()}"
        free = wanted
        while free in self._ids:
            self._ids[wanted] += 1
            free = f"{wanted[:32]}_{self._ids[wanted]}"
        self._ids[free] = 1
        return free

    def _step(self, answer: list[ModelResponsePart], results: list[ModelRequestPart]) -> None:
        if answer:
            self._respond(answer)
        if results:
            self._request(results)

    def _request(self, parts: list[ModelRequestPart]) -> None:
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ModelRequest) and isinstance(last.parts, list):
            add_parts(last.parts, parts)
        else:
            self.messages.append(ModelRequest(parts))

    def _respond(self, parts: list[ModelResponsePart]) -> None:
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ModelResponse) and isinstance(last.parts, list):
            last.parts.extend(parts)
        else:
            self.messages.append(ModelResponse(parts, timestamp=EPOCH))


def add_parts(known: list[ModelRequestPart], parts: Sequence[ModelRequestPart]) -> None:
    """Add parts to a request; words that follow words become one with them: some providers want turns."""
    for part in parts:
        if known and isinstance(last := known[-1], UserPromptPart) and isinstance(part, UserPromptPart):
            known[-1] = UserPromptPart(_join(last.content, part.content), timestamp=EPOCH)
        else:
            known.append(part)


def _join(first: str | Sequence[UserContent], second: str | Sequence[UserContent]) -> str | list[UserContent]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    pieces = [[each] if isinstance(each, str) else each for each in (first, second)]
    return [*pieces[0], *pieces[1]]


class _Stretch:
    """The settled beginning of one thread and the history made of it."""

    def __init__(self) -> None:
        self.history = ProviderHistory()
        self.messages: list[UIMessage] = []
        self._parts: list[list[Any]] = []
        self._sizes: list[int] = []

    def begins(self, messages: Sequence[UIMessage], end: int) -> bool:
        """Return whether `messages` still begin with what is kept here."""
        return (
            len(self.messages) <= end
            and all(map(is_, self.messages, messages))
            and self._sizes == list(map(len, self._parts))
        )

    def grow(self, messages: Sequence[UIMessage]) -> None:
        """Keep further messages."""
        for message in messages:
            self.history.add(message)
            self.messages.append(message)
            self._parts.append(_parts(message))
            self._sizes.append(len(self._parts[-1]))


class _Memory:
    """The settled beginnings of threads, the least used forgotten first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[int, _Stretch] = OrderedDict()

    def recall(self, messages: Sequence[UIMessage], end: int) -> ProviderHistory:
        """Return the history of the first `end` messages, grown from what is remembered of them."""
        if end == 0:
            return ProviderHistory()
        # The stretch keeps its messages alive, so this id cannot come to mean another one.
        key = id(messages[0])
        stretch = self._kept.pop(key, None)
        if stretch is None or not stretch.begins(messages, end):
            stretch = _Stretch()
        stretch.grow(messages[len(stretch.messages) : end])
        self._kept[key] = stretch
        self._forget()
        return stretch.history

    def _forget(self) -> None:
        total = sum(len(stretch.messages) for stretch in self._kept.values())
        while total > self._limit and len(self._kept) > 1:
            total -= len(self._kept.popitem(last=False)[1].messages)


_memory = _Memory(REMEMBERED)
recall = _memory.recall


def _parts(message: UIMessage) -> list[Any]:
    parts: Any = message.get("parts")
    return parts if isinstance(parts, list) else []


def _text(part: JsonObject) -> str | None:
    """Return a text part's words; blank ones count as none, because providers refuse them."""
    if part.get("type") != "text":
        return None
    text = part.get("text")
    return text if isinstance(text, str) and text and not text.isspace() else None


def _thinking(part: JsonObject, signature: JsonObject) -> ThinkingPart:
    return ThinkingPart(
        content=str(part.get("text") or ""),
        id=signature.get("id"),
        signature=signature.get("signature"),
        provider_name=signature.get("provider"),
        provider_details=signature.get("details"),
    )
