"""Define a wire: one protocol as a pure pair, a request's body and the reading of its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from shipmate.models.neutral import ModelMessage
from shipmate.models.port import ModelEvent, ModelRequest
from shipmate.values.message import JsonObject


class WireSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says besides the conversation."""

    provider: str
    model: str
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    # How hard to think: none, minimal, low, medium, high; None leaves it to the provider.
    reasoning: str | None = None
    # Whether calls that the model writes as text are taken for calls.
    text_calls: bool = False


class AnswerReader(Protocol):
    """The reading of one answer, event by event; it keeps state and is used once."""

    @property
    def done(self) -> bool:
        """Return whether nothing more is wanted of the stream."""
        ...

    @property
    def finished(self) -> bool:
        """Return whether the end was told; what breaks after that takes nothing from the answer."""
        ...

    def take(self, event: str, data: bytes) -> Iterable[ModelEvent]:
        """Read one server-sent event; raise `WireError` for an error inside it or for what is no JSON."""
        ...

    def close(self) -> Iterable[ModelEvent]:
        """End the answer: complete calls, then exactly one `Finish`; raise `WireError` if it broke off."""
        ...

    def release(self) -> Iterable[ModelEvent]:
        """Tell what is held back, for an answer that ends here without `close`."""
        ...


class Wire(Protocol):
    """One protocol. Its body ends with tools, system text and the request's messages, in this order."""

    def path(self, settings: WireSettings) -> str:
        """Return where requests go, to be added to the base address."""
        ...

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return what the protocol sends besides the body, the key among it."""
        ...

    def body(
        self, request: ModelRequest, messages: Sequence[ModelMessage], settings: WireSettings
    ) -> JsonObject:
        """Make the body of a streamed request."""
        ...

    def reader(self, settings: WireSettings) -> AnswerReader:
        """Return a reader for one answer."""
        ...


class WireError(Exception):
    """Trouble that a provider tells of: `status` and `code` as it gave them, `words` its own, unmasked."""

    def __init__(
        self,
        words: str = "",
        *,
        status: int | None = None,
        code: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(words)
        self.words = words
        self.status = status
        self.code = code
        self.retry_after = retry_after
