"""A model behind a wire: what the loop asks goes out as the wire writes it, and comes back as events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from shipmate.errors import ModelAuthError
from shipmate.models.failure import explain
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
)
from shipmate.models.price import find_cost
from shipmate.models.to_model import messages_of
from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.model_endpoint import Endpoint, join_path
from shipmate.models.wire.provider_fault import find_fault, read_markup, read_refusal
from shipmate.models.wire.sse import BOM, EventParser, EventTooLongError, ServerEvent
from shipmate.models.wire.wire import AnswerReader, Wire, WireError, WireSettings
from shipmate.models.wire.wire_json import decode_json
from shipmate.models.wording import say
from shipmate.values.message import JsonObject
from shipmate.workspace.secret.setting import address_secrets

if TYPE_CHECKING:
    from shipmate.models.wire.http.http_answer import HttpAnswer

REFUSAL_LIMIT = 65_536

# A whole answer in one piece, and all that may come in pieces.
WHOLE_LIMIT = 32_000_000
ANSWER_LIMIT = 256_000_000
# What server-sent events begin with; a type that a header names says little.
EVENT_STARTS = (b":", b"id:", b"data:", b"event:", b"retry:")
BLANK = b" \t\r\n"
LONGEST_BLANK = 1024


async def read_answer(answer: HttpAnswer, reader: AnswerReader) -> AsyncGenerator[ModelEvent]:
    """Yield what an answer says until it ends, or until the reader is done."""
    try:
        async with (
            aclosing(answer.pieces()) as pieces,
            aclosing(_read_pieces(pieces, reader)) as events,
        ):
            async for event in events:
                yield event
    except EventTooLongError:
        raise HttpFault("too-large", say("event-too-long")) from None
    except HttpFault:
        # What breaks after the end was told takes nothing from the answer.
        if not reader.finished:
            raise


async def _read_pieces(pieces: AsyncGenerator[bytes], reader: AnswerReader) -> AsyncGenerator[ModelEvent]:
    head = await _read_head(pieces)
    if not _strip(head).startswith(EVENT_STARTS):
        for event in _read_whole(await _read_rest(head, pieces), reader):
            yield event
        return
    parser = EventParser()
    for event in _join(_take(parser.feed(head), reader)):
        yield event
    size = len(head)
    if not reader.done:
        async for piece in pieces:
            size += len(piece)
            if size > ANSWER_LIMIT:
                raise HttpFault("too-large", say("kept-too-long"))
            for event in _join(_take(parser.feed(piece), reader)):
                yield event
            if reader.done:
                return
    for event in _take(parser.close(), reader):
        yield event


async def _read_head(pieces: AsyncGenerator[bytes]) -> bytes:
    """Return enough of the beginning to tell what it is."""
    head = b""
    async for piece in pieces:
        head += piece
        start = _strip(head)
        if BOM.startswith(head):
            continue
        if len(head) > LONGEST_BLANK or not any(each.startswith(start[: len(each)]) for each in EVENT_STARTS):
            break
        if start.startswith(EVENT_STARTS):
            break
    return head


async def _read_rest(head: bytes, pieces: AsyncGenerator[bytes]) -> bytes:
    found, size = [head], len(head)
    async for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size > WHOLE_LIMIT:
            raise HttpFault("too-large", say("kept-too-long"))
    return b"".join(found)


def _read_whole(body: bytes, reader: AnswerReader) -> Iterator[ModelEvent]:
    """Yield what an answer says that came whole, from a server that does not stream."""
    if not body.strip():
        return
    try:
        found = decode_json(body)
    except msgspec.DecodeError:
        raise WireError(read_markup(body), code="no-json") from None
    if (fault := find_fault(found)) is not None:
        raise fault
    for each in found if isinstance(found, list) else [found]:
        yield from reader.take("", msgspec.json.encode(each))


def _take(events: Iterable[ServerEvent], reader: AnswerReader) -> Iterator[ModelEvent]:
    for name, data in events:
        # Some servers send empty events to keep a connection open.
        if data and not data.isspace():
            yield from reader.take(name, data)
            if reader.done:
                return


def _join(events: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
    """Join words that came together: whoever hears them one by one hears them no sooner."""
    held: list[TextDelta] = []
    try:
        for event in events:
            if isinstance(event, TextDelta):
                held.append(event)
                continue
            if held:
                yield _join_words(held)
                held.clear()
            yield event
    except (WireError, EventTooLongError):
        # What was said before a fault stays said.
        if held:
            yield _join_words(held)
        raise
    if held:
        yield _join_words(held)


def _join_words(words: list[TextDelta]) -> TextDelta:
    return words[0] if len(words) == 1 else TextDelta("".join(each.text for each in words))


def _strip(head: bytes) -> bytes:
    return head.removeprefix(BOM).lstrip(BLANK)


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


class WireModel:
    """One model of one provider, spoken to directly."""

    def __init__(
        self, wire: Wire, settings: WireSettings, endpoint: Endpoint, client: HttpClient | None = None
    ) -> None:
        self._wire = wire
        self._settings = settings
        self._endpoint = endpoint
        self._client = client or HttpClient(endpoint.environ, endpoint.patience)
        self._secrets = [endpoint.key, *endpoint.headers.values(), *address_secrets(endpoint.base_url)]

    @property
    def name(self) -> str:
        """Return the provider's and the model's name."""
        return f"{self._settings.provider}:{self._settings.model}"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request; trouble is raised as a `ModelError`."""
        if self._endpoint.lacks:
            raise ModelAuthError(self._endpoint.lacks)
        begun = False
        try:
            async with aclosing(self._ask(request)) as events:
                async for event in events:
                    begun = True
                    yield self._sign(event)
        except (WireError, HttpFault) as fault:
            raise explain(fault, self.name, self._secrets, begun=begun) from None

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._client.close()

    async def _ask(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        reader = self._make_reader(request)
        try:
            async with aclosing(self._receive(request, reader)) as events:
                async for event in events:
                    yield event
        except (HttpFault, WireError):
            # What was held back was said all the same.
            for event in reader.release():
                yield event
            raise

    def _make_reader(self, request: ModelRequest) -> AnswerReader:
        reader = self._wire.reader(self._settings)
        if words := _list_stops(request):
            from shipmate.models.wire.model import StopReader

            reader = StopReader(reader, words)
        if self._settings.text_calls and request.tools:
            from shipmate.models.wire.text_call_reader import TextCallReader

            reader = TextCallReader(reader, request.tools)
        return reader

    async def _receive(self, request: ModelRequest, reader: AnswerReader) -> AsyncGenerator[ModelEvent]:
        async with self._client.send(
            "POST",
            join_path(self._endpoint.base_url, self._wire.path(self._settings)),
            headers=self._write_headers(),
            content=self.write_body(request),
            may_repeat=True,
        ) as answer:
            if answer.status >= 300:
                body = await answer.read(REFUSAL_LIMIT, cut=True)
                raise read_refusal(answer.status, answer.headers, body)
            async with aclosing(read_answer(answer, reader)) as events:
                async for event in events:
                    yield event
            # Before the end is told, for whoever hears it leaves.
            await answer.rest()
            for event in reader.close():
                yield event

    def _write_headers(self) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "user-agent": "shipmate",
        }
        return {**headers, **self._wire.headers(self._endpoint.key), **self._endpoint.headers}

    def write_body(self, request: ModelRequest) -> bytes:
        """Return the bytes that a request is sent as."""
        messages = messages_of(request, self.name)
        return msgspec.json.encode(self._wire.body(request, messages, self._settings))

    def _sign(self, event: ModelEvent) -> ModelEvent:
        if isinstance(event, ReasoningEnd | ToolCall) and event.signature:
            signature: JsonObject = {**event.signature, "by": self.name}
            return msgspec.structs.replace(event, signature=signature)
        return self._price(event) if isinstance(event, Finish) else event

    def _price(self, finish: Finish) -> Finish:
        usage = finish.usage
        if usage.cost is None:
            cost = find_cost(self._settings.provider, self._settings.model, usage)
            usage = msgspec.structs.replace(usage, cost=cost)
        return msgspec.structs.replace(finish, usage=usage, model=self.name)


def _list_stops(request: ModelRequest) -> list[str]:
    stop = request.sampling.get("stop")
    given = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    return [word for word in given if isinstance(word, str) and word]
