"""Send the chunks of a run as server-sent events. A watcher that leaves, or is slow, never holds up a run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.orchestrator.feed import FeedEvent
from shipmate.values.chunk import DONE, STREAM_HEADERS, Chunk, encode_sse, error

# One write carries what came within this time; a person sees no difference, two hundred streams do.
GAP_SECONDS = 0.02
KEEP_ALIVE_SECONDS = 15.0
KEEP_ALIVE = b": still here\n\n"
# A reader this far behind is cut off; it comes back and gets the running message whole.
BACKLOG = 20_000
DELTAS = frozenset({"text-delta", "reasoning-delta"})
HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    **STREAM_HEADERS,
}
CLOSING = "The server stops. The answer goes on when it is back."
# Put into a watcher's own queue to wake it: nothing happened in any run.
WAKE = FeedEvent(run_id="")

Events: TypeAlias = asyncio.Queue[FeedEvent]
# Chooses what a watcher sends of what happened, and tells whether the stream is over with that.
Chooser: TypeAlias = Callable[[Sequence[FeedEvent]], Awaitable[tuple[list[Chunk], bool]]]


class Streams:
    """The open streams of one server, and a count of what went through them."""

    def __init__(self) -> None:
        self.open: set[OpenResponse] = set()
        self.chunks = 0

    def leave(self) -> None:
        """End every open stream, so that a stopping server need not wait for long answers."""
        for wire in list(self.open):
            wire.leave()


class OpenResponse:
    """One open response. `encode` makes the bytes of a chunk; the default is the AI SDK's stream."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        streams: Streams,
        encode: Callable[[Chunk], bytes] = encode_sse,
        done: bytes = DONE,
    ) -> None:
        self._receive = receive
        self._send = send
        self._streams = streams
        self._encode = encode
        self._done = done
        self._is_gone = False
        self._queue: Events | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._is_quiet = False

    async def open(self, headers: dict[str, str] | None = None) -> None:
        """Send the head of the response."""
        raw = [(name.encode(), value.encode()) for name, value in {**HEADERS, **(headers or {})}.items()]
        await self._send({"type": "http.response.start", "status": 200, "headers": raw})

    async def write(self, chunks: Iterable[Chunk]) -> None:
        """Send chunks in one write; neighbouring deltas of one text become one."""
        await self._body(self._bytes(chunks))

    async def finish(self, chunks: Iterable[Chunk]) -> None:
        """Send the last chunks and say that this is all."""
        body = self._bytes(chunks) + self._done
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    def _bytes(self, chunks: Iterable[Chunk]) -> bytes:
        joined = join_deltas(chunks)
        self._streams.chunks += len(joined)
        return b"".join(map(self._encode, joined))

    async def follow(self, queue: Events, choose: Chooser) -> None:
        """Send what `choose` takes from the queue until it ends the stream or the reader is gone."""
        self._queue = queue
        self._streams.open.add(self)
        leaving = asyncio.create_task(self._watch(queue))
        self._beat_later()
        try:
            while True:
                events = [await queue.get(), *drain(queue)]
                if self._is_gone or len(events) > BACKLOG:
                    return
                if self not in self._streams.open:
                    await self.finish([error(CLOSING)])
                    return
                chosen, is_over = await choose(events)
                if is_over:
                    await self.finish(chosen)
                    return
                if chosen:
                    await self.write(chosen)
                    await asyncio.sleep(GAP_SECONDS)
                elif self._is_quiet:
                    await self._body(KEEP_ALIVE)
                self._is_quiet = False
        finally:
            self._streams.open.discard(self)
            if self._beat is not None:
                self._beat.cancel()
            leaving.cancel()

    def leave(self) -> None:
        """End the stream because the server stops; the client comes back for the rest."""
        self._streams.open.discard(self)
        if self._queue is not None:
            self._queue.put_nowait(WAKE)

    def _beat_later(self) -> None:
        self._beat = asyncio.get_running_loop().call_later(KEEP_ALIVE_SECONDS, self._wake)

    def _wake(self) -> None:
        """Let the reader hear something, also while nothing happens."""
        self._is_quiet = True
        if self._queue is not None:
            self._queue.put_nowait(WAKE)
        self._beat_later()

    async def _watch(self, queue: Events) -> None:
        """Notice that the reader left, also while nothing happens."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True
        queue.put_nowait(WAKE)

    async def _body(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


class Streamed(Response):
    """A response that writes itself."""

    def __init__(self, play: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        super().__init__()
        self._play = play

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._play(scope, receive, send)


def drain(queue: Events) -> list[FeedEvent]:
    """Take everything that already waits."""
    return [queue.get_nowait() for _ in range(queue.qsize())]


def join_deltas(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Make one delta of neighbouring deltas of the same text."""
    joined: list[Chunk] = []
    for chunk in chunks:
        last = joined[-1] if joined else {}
        if chunk["type"] in DELTAS and (chunk["type"], chunk["id"]) == (last.get("type"), last.get("id")):
            joined[-1] = {**last, "delta": last["delta"] + chunk["delta"]}
        else:
            joined.append(chunk)
    return joined
