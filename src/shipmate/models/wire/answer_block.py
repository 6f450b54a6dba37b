"""Keep the blocks of an answer while they come, and tell each in its turn.

Protocols that number their blocks may mix them. What is told of an answer stays in order: the events of a
block wait until every block that began before it has ended.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from shipmate.models.port import (
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from shipmate.models.wire.wire import WireError
from shipmate.models.wire.wire_json import decode_json
from shipmate.models.wording import say
from shipmate.values.message import JsonObject

BlockKind: TypeAlias = Literal["text", "reasoning", "call", "other"]

# What one answer may make us keep: arguments, signatures and what waits, in characters; and how many blocks.
KEPT_LIMIT = 32_000_000
BLOCK_LIMIT = 10_000
# More tokens than anybody ever read; what keeps the counts takes no larger numbers.
COUNT_LIMIT = 10**15
# Endings of an answer that was not written to its end.
CUT = frozenset[FinishReason](("length", "content-filter"))


def read_event(data: bytes) -> JsonObject:
    """Return the object that an event holds; raise `WireError` for anything else."""
    try:
        value = decode_json(data)
    except msgspec.DecodeError as error:
        raise WireError(say("event-not-json"), code="not-json") from error
    if not isinstance(value, dict):
        raise WireError(say("event-no-object"), code="not-json")
    return value


def text_of(holder: JsonObject, key: str) -> str:
    """Return a text, empty where there is something else."""
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def object_of(holder: JsonObject, key: str) -> JsonObject:
    """Return an object, empty where there is something else."""
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def count_of(holder: JsonObject, key: str) -> int:
    """Return a number of tokens, 0 where there is something else."""
    value = holder.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < COUNT_LIMIT:
        return int(value)
    return 0


class AnswerBlock:
    """One block of an answer: words, reasoning, a call, or something nobody asked for."""

    def __init__(self, kind: BlockKind) -> None:
        self.kind: BlockKind = kind
        self.is_done = False
        self.waiting: list[ModelEvent] = []
        # The texts that make up a call's arguments, or what the provider wants back of reasoning.
        self.pieces: list[str] = []
        self.call_id = ""
        self.name = ""
        # Arguments that came at once, in case they do not come piece by piece.
        self.whole = ""
        # How much of each of its parts was told, by the list the part is in and its place there.
        self.parts: dict[tuple[str, int], int] = {}
        self.has_spoken = False

    @property
    def text(self) -> str:
        """Return what was kept, joined."""
        return "".join(self.pieces)


class AnswerBlocks:
    """The blocks of one answer in the order in which they began; `gap` stands between blocks of words."""

    def __init__(self, gap: str = "") -> None:
        self._gap = gap
        self._has_words = False
        self._blocks: dict[Hashable, AnswerBlock] = {}
        self._order: list[AnswerBlock] = []
        self._front = 0
        self._kept = 0
        self._ids: set[str] = set()
        # Arguments that came before the call they are of.
        self._early: dict[Hashable, list[str]] = {}

    def get(self, key: Hashable) -> AnswerBlock | None:
        """Return the block that has this place."""
        return self._blocks.get(key)

    def places(self) -> list[Any]:
        """Return the places of all blocks, in the order in which they were first taken."""
        return list(self._blocks)

    def begin(self, key: Hashable, kind: BlockKind) -> AnswerBlock:
        """Begin a block; one that had the same place before has ended with that."""
        if len(self._order) >= BLOCK_LIMIT:
            raise _too_long()
        if (former := self._blocks.get(key)) is not None:
            former.is_done = True
        block = AnswerBlock(kind)
        self._blocks[key] = block
        self._order.append(block)
        return block

    def begin_call(self, key: Hashable, call_id: str, name: str) -> AnswerBlock:
        """Begin a call under an id of its own."""
        block = self.begin(key, "call")
        block.pieces = self._early.pop(key, [])
        block.name = name
        block.call_id = call_id or f"call_{len(self._ids) + 1}"
        while block.call_id in self._ids:
            block.call_id += "_"
        self._ids.add(block.call_id)
        return block

    def keep(self, block: AnswerBlock, piece: str) -> None:
        """Keep a text for the end of the block."""
        self._kept += len(piece)
        if self._kept > KEPT_LIMIT:
            raise _too_long()
        block.pieces.append(piece)

    def keep_early(self, key: Hashable, piece: str) -> None:
        """Keep arguments for a call that has not begun: without them it would be another one."""
        self._kept += len(piece) + 1
        if self._kept > KEPT_LIMIT:
            raise _too_long()
        self._early.setdefault(key, []).append(piece)

    def tell(self, block: AnswerBlock, event: ModelEvent) -> Iterator[ModelEvent]:
        """Tell an event of a block, now or when its turn has come."""
        yield from self._advance()
        if self._front < len(self._order) and self._order[self._front] is block:
            yield self._space(block, event)
            return
        self._kept += _size(event)
        if self._kept > KEPT_LIMIT:
            raise _too_long()
        block.waiting.append(event)

    def tell_call(self, block: AnswerBlock, arguments: str) -> Iterator[ModelEvent]:
        """Keep an addition to a call's arguments, and tell it."""
        self.keep(block, arguments)
        yield from self.tell(block, ToolCallDelta(block.call_id, block.name, arguments))

    def end(self, block: AnswerBlock) -> Iterator[ModelEvent]:
        """End a block, and tell what waited for that."""
        block.is_done = True
        yield from self._advance()

    def close(self) -> Iterator[ModelEvent]:
        """Tell everything that still waits."""
        for block in self._order:
            block.is_done = True
        yield from self._advance()

    def calls(self, *, is_cut: bool) -> Iterator[ToolCall]:
        """Return the complete calls in their order; `is_cut` says that the answer reached a limit."""
        blocks = [block for block in self._order if block.kind == "call"]
        for block in blocks:
            arguments = block.text or block.whole
            if is_cut and block is self._order[-1] and not arguments.strip():
                # No arguments mean none wanted, which this call did not come to say: it must not run.
                arguments = "{"
            yield ToolCall(block.call_id, block.name, arguments)

    def _space(self, block: AnswerBlock, event: ModelEvent) -> ModelEvent:
        """Keep the words of two blocks apart."""
        if isinstance(event, TextDelta) and not block.has_spoken:
            block.has_spoken = True
            if self._has_words:
                event = TextDelta(self._gap + event.text)
            self._has_words = True
        return event

    def _advance(self) -> Iterator[ModelEvent]:
        while self._front < len(self._order):
            block = self._order[self._front]
            waiting, block.waiting = block.waiting, []
            for event in waiting:
                self._kept -= _size(event)
                yield self._space(block, event)
            if not block.is_done:
                return
            self._front += 1


def _size(event: ModelEvent) -> int:
    match event:
        case TextDelta(text) | ReasoningDelta(text):
            return len(text) + 1
        case ReasoningEnd(signature):
            return len(str(signature)) + 1
        case ToolCallDelta(arguments=arguments):
            return len(arguments) + 1
        case _:
            return 1


def _too_long() -> WireError:
    return WireError(say("answer-too-long"), code="too-long")
