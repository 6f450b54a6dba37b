"""Hold back a text that may be a call until it is known what it is, so that nobody sees it flash by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from shipmate.models.port import Finish, ModelEvent, TextDelta, ToolCall, ToolCallDelta, ToolSpec
from shipmate.models.wire.text_call import ARGUMENTS, BESIDE, LONGEST, NAMES, WRAPPERS, find_calls
from shipmate.models.wire.wire import AnswerReader, WireError

# How much of a text tells whether it can be a call.
BEGINNING = 400
KEYS = frozenset((*NAMES, *ARGUMENTS, *WRAPPERS, *BESIDE))
# The tags that calls begin with, as far as they are the same for all.
TAGS = ("<tool", "<function", "<invoke", "<|tool", "<|python_tag|>", "<|channel|>", "<|start|>", "<｜tool")
FENCE = re.compile(r"```[ \t]*([\w+-]*)[ \t]*(?:\n(.*))?", re.DOTALL)
FENCES = ("", "json", "tool_call", "tool_calls", "tool", "tool_code", "xml", "plaintext", "text")
FIRST_KEY = re.compile(r"\{\s*(?:([\"'])(\w*)(\1)?)?")
WORD = re.compile(r"[\w.-]+")


class TextCallReader:
    """A reader whose text becomes calls where it consists of nothing else."""

    def __init__(self, inner: AnswerReader, tools: Sequence[ToolSpec]) -> None:
        self._inner = inner
        self._tools = {tool.name: tool.schema for tool in tools}
        self._held: list[str] = []
        self._size = 0
        self._is_plain = False

    @property
    def done(self) -> bool:
        """Return whether nothing more is to come."""
        return self._inner.done

    @property
    def finished(self) -> bool:
        """Return whether the end was told."""
        return self._inner.finished

    def take(self, event: str, data: bytes) -> Iterator[ModelEvent]:
        """Read one server-sent event."""
        yield from self._pass(self._inner.take(event, data))

    def close(self) -> Iterator[ModelEvent]:
        """End the answer; what was held back is a call or is told."""
        yield from self._pass(self._inner.close())

    def release(self) -> Iterator[ModelEvent]:
        """Tell what is held back, for an answer that ends here."""
        yield from self._flush()
        yield from getattr(self._inner, "release", tuple)()

    def _flush(self) -> Iterator[ModelEvent]:
        held, self._held = self._held, []
        self._is_plain = True
        if held:
            yield TextDelta("".join(held))

    def _pass(self, events: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
        try:
            for event in events:
                if isinstance(event, TextDelta) and not self._is_plain:
                    yield from self._hold(event.text)
                    continue
                if isinstance(event, ToolCallDelta | ToolCall):
                    yield from self._flush()
                if isinstance(event, Finish):
                    yield from self._finish(event)
                else:
                    yield event
        except WireError:
            yield from self._flush()
            raise

    def _hold(self, text: str) -> Iterator[ModelEvent]:
        self._held.append(text)
        self._size += len(text)
        # The beginning decides; to look at all of it again with every piece would be quadratic.
        is_open = self._size - len(text) < BEGINNING
        if self._size > LONGEST or (is_open and not may_be_call("".join(self._held).lstrip(), self._tools)):
            yield from self._flush()

    def _finish(self, finish: Finish) -> Iterator[ModelEvent]:
        is_whole = finish.reason in ("stop", "tool-calls", "other")
        calls = find_calls("".join(self._held), self._tools) if is_whole else []
        if not calls:
            yield from self._flush()
            yield finish
            return
        written = [(f"call_{n}", call.name, _write(call.arguments)) for n, call in enumerate(calls)]
        for each in written:
            yield ToolCallDelta(*each)
        for each in written:
            yield ToolCall(*each)
        yield msgspec.structs.replace(finish, reason="tool-calls")


def may_be_call(start: str, tools: Iterable[str]) -> bool:
    """Return whether a text that begins so can still turn out to be a call."""
    if not start:
        return True
    if start[0] == "{":
        return _may_be_object(start)
    if start[0] == "[":
        return _may_be_list(start[1:].lstrip(), tools)
    if start[0] == "<":
        return any(tag.startswith(start.lower()) or start.lower().startswith(tag) for tag in TAGS)
    if start[0] == "`":
        return _may_be_fence(start, tools)
    return False


def _may_be_object(start: str) -> bool:
    match = FIRST_KEY.match(start)
    assert match is not None
    if match[1] is None:
        return not start[1:].strip()
    return match[2] in KEYS if match[3] else any(key.startswith(match[2]) for key in KEYS)


def _may_be_list(rest: str, tools: Iterable[str]) -> bool:
    if not rest or rest[0] == "{":
        return not rest or _may_be_object(rest)
    if "TOOL_CALLS]".startswith(rest[:11]):
        return True
    word = WORD.match(rest)
    if word is None:
        return False
    after = rest[word.end() : word.end() + 1]
    return word[0] in tools and after == "(" if after else any(name.startswith(word[0]) for name in tools)


def _may_be_fence(start: str, tools: Iterable[str]) -> bool:
    if len(start) < 3:
        return "```".startswith(start)
    match = FENCE.fullmatch(start)
    if match is None:
        return False
    if match[2] is None:
        return any(each.startswith(match[1]) for each in FENCES)
    inner = match[2].lstrip()
    return match[1] in FENCES and (match[1] == "tool_code" or may_be_call(inner, tools))


def _write(arguments: object) -> str:
    return msgspec.json.encode(arguments).decode()
