"""Read the body of an answer for a wire: streamed or whole, whatever the server calls it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from shipmate.models.port import ModelEvent, TextDelta
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.provider_fault import find_fault, read_markup
from shipmate.models.wire.sse import BOM, EventParser, EventTooLongError, ServerEvent
from shipmate.models.wire.wire import AnswerReader, WireError
from shipmate.models.wire.wire_json import decode_json
from shipmate.models.wording import say

if TYPE_CHECKING:
    from shipmate.models.wire.http.http_answer import HttpAnswer

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
