"""Show an answer while it is written: one message, changed at a steady pace, that becomes the answer."""

from __future__ import annotations

import asyncio
import logging

from msgspec.structs import replace

from shipmate.delivery.adapter import Adapter
from shipmate.delivery.compose import make_send, words_of
from shipmate.delivery.sender import SEND_SECONDS, Sender
from shipmate.delivery.splitting import clip
from shipmate.errors import EditGoneError, SendError, SendLaterError, SendRefusedError, StorageError
from shipmate.orchestrator.feed import FeedEvent, LocalFeed
from shipmate.store.port import Outbox, OutboxRow
from shipmate.values.event import EgressMessage
from shipmate.values.thread_id import ThreadId

# Most answers are whole by then, and are sent once.
FIRST_SECONDS = 1.5
# How long a platform shows that somebody writes.
WORKING_SECONDS = 5.0
# What a preview ends with.
UNFINISHED = " …"
UNKNOWN = "nobody knows whether the preview arrived"
log = logging.getLogger(__name__)


class Preview:
    """The preview of one run's answer, up to the next question or the end."""

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        answered: str,
        reply_to: str | None,
        *,
        outbox: Outbox,
        sender: Sender,
        feed: LocalFeed,
    ) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._answered = answered
        self._reply_to = reply_to
        self._outbox = outbox
        self._sender = sender
        self._feed = feed
        self._shown = ""
        self._is_lost = False
        self._pause = 0.0

    async def follow(self, adapter: Adapter) -> None:
        """Show the answer until its run ends."""
        loop = asyncio.get_running_loop()
        pace = adapter.capabilities.edit_seconds
        began, worked = loop.time(), -WORKING_SECONDS
        async with self._feed.subscribe(self._thread_id) as queue:
            while not _has_ended(queue, self._run_id):
                if loop.time() - worked >= WORKING_SECONDS:
                    worked = loop.time()
                    await self._show_working(adapter)
                # Not begun anew with each chunk: a model that writes fast would never be shown.
                await asyncio.sleep(max(pace, self._pause))
                self._pause = 0.0
                if loop.time() - began >= FIRST_SECONDS and adapter.capabilities.supports_edits:
                    await self._show(adapter)

    async def _show_working(self, adapter: Adapter) -> None:
        try:
            await adapter.show_working(ThreadId.parse(self._thread_id))
        # The edge of an adapter: nothing depends on this.
        except Exception as error:  # noqa: BLE001
            log.debug("%s: %s", adapter.name, type(error).__name__)

    async def _show(self, adapter: Adapter) -> None:
        words = self._words()
        if not words or words == self._shown or self._is_lost:
            return
        text = clip(words, adapter.capabilities)
        message = replace(
            make_send(self._thread_id, "words.0", "words", f"{text}{UNFINISHED}"),
            reply_to_message_id=self._reply_to,
        )
        async with self._sender.lock(self._thread_id):
            if self._sender.is_closing or (not self._shown and await self._outbox.open(self._thread_id)):
                # What was said before comes first.
                return
            row = await self._outbox.preview(self._run_id, self._answered, message)
            if row is None:
                self._is_lost = True
            elif row.receipt is not None:
                await self._change(adapter, row, message)
            elif row.status == "sending":
                await self._send(adapter, row)
            else:
                self._is_lost = True
        self._shown = words

    async def _send(self, adapter: Adapter, row: OutboxRow) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                receipt = await adapter.send(self._sender.render(row, adapter))
        except (SendRefusedError, SendLaterError):
            # The whole is sent as any message, and tells what is wrong.
            await self._sender.record(lambda: self._outbox.shown(row, None))
        except (StorageError, asyncio.CancelledError):
            raise
        # The edge of an adapter: the whole follows, and the outbox says that this may be there besides.
        except Exception as error:  # noqa: BLE001
            log.warning("a preview in %s: %s", self._thread_id, type(error).__name__)
            await self._sender.record(lambda: self._outbox.shown(row, None, UNKNOWN))
        else:
            await self._sender.record(lambda: self._outbox.shown(row, receipt))

    async def _change(self, adapter: Adapter, row: OutboxRow, message: EgressMessage) -> None:
        assert row.receipt is not None
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await adapter.edit(row.receipt, self._sender.render(replace(row, message=message), adapter))
        except SendLaterError as error:
            self._pause = error.retry_after or 0.0
        except (EditGoneError, SendError) as error:
            log.info("a preview in %s: %s", self._thread_id, type(error).__name__)
            self._is_lost = True
        except (StorageError, asyncio.CancelledError):
            raise
        # The edge of an adapter: the whole follows in any case.
        except Exception as error:  # noqa: BLE001
            log.warning("a preview in %s: %s", self._thread_id, type(error).__name__)

    def _words(self) -> str:
        stands = [
            event.snapshot for event in self._feed.look(self._thread_id) if event.run_id == self._run_id
        ]
        return words_of(stands[-1].message) if stands and stands[-1] is not None else ""


def _has_ended(queue: asyncio.Queue[FeedEvent], run_id: str) -> bool:
    """Look through what was told since the last time for the end of a run."""
    has_ended = False
    while not queue.empty():
        event = queue.get_nowait()
        has_ended = has_ended or (event.outcome is not None and event.outcome.run_id in ("", run_id))
    return has_ended
