"""Tell thinking from words where a server of one's own sends both as text: <think>…</think> at the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shipmate.models.port import ModelEvent, ReasoningDelta, ReasoningEnd, TextDelta
from shipmate.models.wire.wire import AnswerReader, WireError

OPEN, CLOSE = "<think>", "</think>"
# Blanks that may stand before it; a text with more of them has no thinking.
BLANK_LIMIT = 1_000


class ThinkReader:
    """A reader whose text begins with thinking, if it does."""

    def __init__(self, inner: AnswerReader) -> None:
        self._inner = inner
        self._held = ""
        # Where the text stands: at its start, in the thinking, or among words.
        self._state = "start"
        # Line breaks right behind a tag belong to it.
        self._skips = False

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
        """End the answer."""
        yield from self._pass(self._inner.close())

    def release(self) -> Iterator[ModelEvent]:
        """Tell what is held back, for an answer that ends here."""
        yield from self._pass(self._inner.release())
        yield from self._flush()

    def _flush(self) -> Iterator[ModelEvent]:
        held, self._held = self._held, ""
        if self._state == "thinking":
            yield from (ReasoningDelta(held) for _ in range(bool(held)))
            yield ReasoningEnd()
        elif held:
            yield TextDelta(held)
        self._state = "words"

    def _pass(self, events: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
        try:
            for event in events:
                if not isinstance(event, TextDelta):
                    if self._state != "words":
                        yield from self._flush()
                    yield event
                else:
                    yield from self._read(self._held + self._skip(event.text))
        except WireError:
            yield from self._flush()
            raise

    def _skip(self, text: str) -> str:
        if self._skips:
            text = text.lstrip("\n")
            self._skips = not text
        return text

    def _read(self, text: str) -> Iterator[ModelEvent]:
        if self._state == "words":
            if text:
                yield TextDelta(text)
            return
        self._held = text
        if self._state == "start":
            start = text.lstrip()
            if start.startswith(OPEN):
                self._state, self._skips = "thinking", True
                self._held = self._skip(start[len(OPEN) :])
            elif not OPEN.startswith(start) or len(text) > BLANK_LIMIT:
                yield from self._flush()
                return
        if self._state == "thinking":
            yield from self._think(self._held)

    def _think(self, text: str) -> Iterator[ModelEvent]:
        thought, close, rest = text.partition(CLOSE)
        if close:
            self._held = ""
            if thought:
                yield ReasoningDelta(thought)
            yield ReasoningEnd()
            self._state, self._skips = "words", True
            if words := self._skip(rest):
                yield TextDelta(words)
            return
        kept = next((size for size in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:size])), 0)
        said, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if said:
            yield ReasoningDelta(said)
