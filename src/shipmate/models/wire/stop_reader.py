"""End an answer at the words a request wants it to stop at, where the provider does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shipmate.models.port import Finish, ModelEvent, ReasoningDelta, ReasoningEnd, TextDelta
from shipmate.models.wire.wire import AnswerReader, WireError


class StopReader:
    """A reader whose text ends before the first of some words; whatever follows them is nobody's."""

    def __init__(self, inner: AnswerReader, words: Sequence[str]) -> None:
        self._inner = inner
        self._words = [word for word in words if word]
        # The end of the text so far, as long as one of the words may have begun in it.
        self._held = ""
        self._is_over = False

    @property
    def done(self) -> bool:
        """Return whether nothing more is wanted."""
        return self._is_over or self._inner.done

    @property
    def finished(self) -> bool:
        """Return whether the end was told."""
        return self._is_over or self._inner.finished

    def take(self, event: str, data: bytes) -> Iterator[ModelEvent]:
        """Read one server-sent event."""
        if not self._is_over:
            yield from self._pass(self._inner.take(event, data))

    def close(self) -> Iterator[ModelEvent]:
        """End the answer; one that was stopped by us is complete, and what it used is not known."""
        if self._is_over:
            yield Finish("stop")
            return
        yield from self._pass(self._inner.close())

    def release(self) -> Iterator[ModelEvent]:
        """Tell what is held back, for an answer that ends here."""
        if not self._is_over:
            yield from self._pass(self._inner.release())
            yield from self._flush()

    def _flush(self) -> Iterator[ModelEvent]:
        held, self._held = self._held, ""
        if held:
            yield TextDelta(held)

    def _pass(self, events: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
        try:
            for event in events:
                if isinstance(event, TextDelta):
                    yield from self._say(self._held + event.text)
                else:
                    if not isinstance(event, ReasoningDelta | ReasoningEnd):
                        yield from self._flush()
                    yield event
                if self._is_over:
                    return
        except WireError:
            yield from self._flush()
            raise

    def _say(self, text: str) -> Iterator[ModelEvent]:
        ends = [place for word in self._words if (place := text.find(word)) >= 0]
        if ends:
            self._is_over, self._held = True, ""
            text = text[: min(ends)]
        else:
            kept = max((_count_begun(text, word) for word in self._words), default=0)
            text, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if text:
            yield TextDelta(text)


def _count_begun(text: str, word: str) -> int:
    """Return how much of a word stands at the end of a text."""
    sizes = range(min(len(word) - 1, len(text)), 0, -1)
    return next((size for size in sizes if text.endswith(word[:size])), 0)
