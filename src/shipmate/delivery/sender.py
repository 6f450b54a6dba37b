"""Send what the outbox holds: each thread's messages in order, no chat waiting for another."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from weakref import WeakValueDictionary

import msgspec

from shipmate.delivery.adapter import Adapter, Button, OutgoingFile, OutgoingMessage
from shipmate.delivery.compose import make_send
from shipmate.delivery.delivery_wording import say
from shipmate.delivery.press import command_data
from shipmate.errors import (
    ConfigError,
    EditGoneError,
    SendLaterError,
    SendRefusedError,
    StorageError,
)
from shipmate.orchestrator.lane.ingress import PRIVATE
from shipmate.store.port import Outbox, OutboxRow
from shipmate.tools.file.sharing import SHARE_ID, Shares
from shipmate.values.event import Attachment
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.upload import ADDRESS, Uploads, is_voice

# How long a platform may take to answer; after that nobody knows.
SEND_SECONDS = 120.0
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
# So many sends of one adapter are under way at once.
AT_ONCE = 16
# How long a process that ends waits for what is under way.
LAST_SECONDS = 5.0
# How often a process that ends looks whether all that is left was told to wait.
IDLE_SECONDS = 0.1
# How long a disk that refused is left alone.
RECORD_SECONDS = 2.0
MEGABYTE = 1024 * 1024
log = logging.getLogger(__name__)


class Sender:
    """The sending of one keeper."""

    def __init__(
        self,
        outbox: Outbox,
        find: Callable[[str], Adapter],
        uploads: Uploads,
        shares: Shares,
        *,
        language: str,
        oldest: timedelta,
        mask: Callable[[str], str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._outbox = outbox
        self._find = find
        self._uploads = uploads
        self._shares = shares
        self._language = language
        self._oldest = oldest
        self._mask = mask
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._slots: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # Until when a whole adapter was told to wait, by the loop's clock.
        self._paused: dict[str, float] = {}
        self._pauses: dict[str, float] = {}
        self.is_closing = False
        # Chats that were told to wait, or wait for a disk.
        self._pausing: set[str] = set()

    @property
    def is_here(self) -> bool:
        """Return whether this process sends; in a fleet one does for all."""
        return True

    async def begin(self) -> None:
        """Take up what a process before this one left."""
        for row in await self._outbox.doubt():
            if row.status == "uncertain":
                log.warning("send %d to %s may have arrived: %s", row.id, row.message.thread_id, row.error)

    def lock(self, thread_id: str) -> asyncio.Lock:
        """Return what holds a chat: one message is sent or changed in it at a time."""
        return self._locks.setdefault(thread_id, asyncio.Lock())

    def wake(self, thread_id: str) -> None:
        """Send what waits in a thread."""
        if thread_id not in self._tasks:
            task = self._tasks[thread_id] = asyncio.create_task(self._work(thread_id))
            task.add_done_callback(lambda _: self._end(thread_id))

    def _end(self, thread_id: str) -> None:
        self._tasks.pop(thread_id, None)
        self._pausing.discard(thread_id)

    async def idle(self) -> None:
        """Wait until nothing is being sent; what was told to wait is not waited for."""
        while busy := [task for thread_id, task in self._tasks.items() if thread_id not in self._pausing]:
            await asyncio.wait(busy, timeout=IDLE_SECONDS)

    async def close(self) -> None:
        """Send nothing more; what is under way may come to its end, since nobody would know it otherwise."""
        self.is_closing = True
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                for lock in list(self._locks.values()):
                    async with lock:
                        pass
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def sweep(self) -> None:
        """Ask about what is uncertain, and send what waits and nobody works on."""
        for row in await self._outbox.list("uncertain"):
            await self._ask_about(row)
        for thread_id in await self._outbox.threads():
            self.wake(thread_id)

    async def _work(self, thread_id: str) -> None:
        try:
            while rows := await self._outbox.open(thread_id):
                pause = await self._deliver(rows[0])
                if pause is None:
                    return
                if pause:
                    self._pausing.add(thread_id)
                    await asyncio.sleep(pause)
                    self._pausing.discard(thread_id)
        except StorageError as error:
            log.warning("what waits for %s is sent later: %s", thread_id, error)

    async def _deliver(self, row: OutboxRow) -> float | None:
        """Send one message; return for how long the chat has to wait, None when it cannot go on now."""
        try:
            adapter = self._find(row.platform)
        except ConfigError as error:
            log.warning("what waits for %s cannot be sent: %s", row.platform, error)
            return None
        if (left := self._paused.get(row.platform, 0.0) - asyncio.get_running_loop().time()) > 0:
            return left
        async with self.lock(row.message.thread_id), self._slots[row.platform]:
            # The whole of a preview may have come, and its receipt, while the chat was held.
            row = await self._outbox.get(row.id) or row
            if self.is_closing:
                return None
            if row.status != "waiting":
                return 0.0
            if self._is_stale(row):
                await self._hold(row)
                return 0.0
            return await self._send(adapter, row)

    async def _send(self, adapter: Adapter, row: OutboxRow) -> float:
        message = self.render(row, adapter)
        try:
            async with asyncio.timeout(SEND_SECONDS):
                receipt = await self._place(adapter, row, message)
        except SendLaterError as error:
            return await self._later(row, error)
        except SendRefusedError as error:
            words = self._mask(str(error))
            await self.record(lambda: self._outbox.failed(row, words, retry=False))
        except (StorageError, asyncio.CancelledError):
            raise
        # The edge of an adapter: whatever else it raises leaves it open whether the message arrived. A change
        # can be made again.
        except Exception as error:  # noqa: BLE001
            log.warning("send %d: %s", row.id, self._mask(f"{type(error).__name__}: {error}"))
            words = self._mask(str(error) or type(error).__name__)
            if ((await self._outbox.get(row.id)) or row).receipt is not None:
                return await self._later(row, SendLaterError(words))
            await self.record(lambda: self._outbox.mark(row, "uncertain", words))
            await self._ask_about(await self._outbox.get(row.id) or row)
        else:
            await self.record(lambda: self._outbox.sent(row, receipt))
        self._pauses.pop(row.message.thread_id, None)
        return 0.0

    async def record(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write down what became of a send; a disk that refuses is waited for, as nobody else knows it."""
        while True:
            try:
                return await write()
            except StorageError as error:
                log.warning("what became of a send cannot be written down yet: %s", error)
                await asyncio.sleep(RECORD_SECONDS)

    async def _place(self, adapter: Adapter, row: OutboxRow, message: OutgoingMessage) -> str:
        """Send a message, or change the one that is there."""
        receipt = row.receipt
        if receipt is None and row.attempts and adapter.capabilities.can_find_sends:
            receipt = await adapter.find(message)
            if row.has_stray:
                # Now it is known whether a preview is there.
                await self._outbox.shown(row, receipt)
        if receipt is not None:
            with suppress(EditGoneError):
                await adapter.edit(receipt, message)
                return receipt
            if row.message.extra.get("edits"):
                raise SendRefusedError("the message that was to be changed is gone")
            message = self.render(row := await self._outbox.gone(row), adapter)
        await self._outbox.begin(row)
        sent_id = await adapter.send(message)
        if row.attempts and adapter.capabilities.keeps_keys_seconds and adapter.capabilities.supports_edits:
            # What the platform knew the key of may have been a preview.
            await adapter.edit(sent_id, message)
            if row.has_stray:
                await self._outbox.shown(row, sent_id)
        return sent_id

    async def _later(self, row: OutboxRow, error: SendLaterError) -> float:
        words = self._mask(str(error))
        await self.record(lambda: self._outbox.failed(row, words, retry=True))
        thread_id = row.message.thread_id
        grown = min(2 * self._pauses.get(thread_id, FIRST_PAUSE_SECONDS / 2), LONGEST_PAUSE_SECONDS)
        self._pauses[thread_id] = grown
        pause = grown if error.retry_after is None else max(0.0, error.retry_after)
        if error.everywhere:
            self._paused[row.platform] = asyncio.get_running_loop().time() + pause
        return pause

    async def _ask_about(self, row: OutboxRow) -> None:
        """Find out what became of a send, where the platform can be asked; else it stays uncertain."""
        try:
            adapter = self._find(row.platform)
        except ConfigError:
            return
        capabilities = adapter.capabilities
        if capabilities.can_find_sends:
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    receipt = await adapter.find(self.render(row, adapter))
            # Whoever cannot be asked now is asked again by the next sweep.
            except Exception as error:  # noqa: BLE001
                log.warning("send %d: %s", row.id, self._mask(f"{type(error).__name__}: {error}"))
                return
            if receipt is not None and not capabilities.supports_edits:
                await self._outbox.sent(row, receipt)
                return
            if receipt is not None:
                # What is there may be a preview: it is changed to what it should be.
                await self._outbox.shown(row, receipt)
                self.wake(row.message.thread_id)
                return
        elif not self._is_keyed(row, capabilities.keeps_keys_seconds):
            return
        await self._outbox.failed(row, row.error or "", retry=True)
        self.wake(row.message.thread_id)

    def _is_keyed(self, row: OutboxRow, seconds: float) -> bool:
        """Return whether the platform still knows the key of a send, with some time to spare."""
        begun = row.begun_at or row.created_at
        return bool(seconds) and begun > timestamp(self._clock() - timedelta(seconds=0.8 * seconds))

    def _is_stale(self, row: OutboxRow) -> bool:
        if row.is_wanted or row.receipt is not None or row.message.extra.get("kind") == "held":
            return False
        return row.created_at < timestamp(self._clock() - self._oldest)

    async def _hold(self, row: OutboxRow) -> None:
        """Ask before something old goes: once, however much there is."""
        await self._outbox.mark(row, "held")
        waiting = [
            row,
            *[each for each in await self._outbox.open(row.message.thread_id) if self._is_stale(each)],
        ]
        for each in waiting[1:]:
            await self._outbox.mark(each, "held")
        language = self._language
        words = say(language, "held", count=len(waiting), at=f"{row.created_at[:16].replace('T', ' ')} UTC")
        labels = [[[say(language, name), command_data(name, str(row.id))] for name in ("release", "drop")]]
        text = f"{words}\n\n{say(language, 'held-words')}"
        ask = make_send(row.message.thread_id, f"held.{row.id}", "held", text, labels)
        await self._outbox.intend("", f"held {row.id}", [ask])

    def render(self, row: OutboxRow, adapter: Adapter) -> OutgoingMessage:
        """Return a send as its adapter takes it."""
        message, capabilities = row.message, adapter.capabilities
        kind = message.extra.get("kind", "words")
        thread_id = ThreadId.parse(message.thread_id)
        # Between two people everybody knows what is answered.
        is_reply = capabilities.supports_threaded_replies and thread_id.scope_type != PRIVATE
        outgoing = OutgoingMessage(
            thread_id=thread_id,
            text=message.text or "",
            reply_to=message.reply_to_message_id if is_reply else None,
            key=key_of(row),
            kind="preview" if row.is_preview else "question" if kind == "held" else kind,
        )
        if capabilities.supports_buttons or capabilities.supports_rich_cards:
            rows = message.extra.get("buttons", ())
            outgoing = msgspec.structs.replace(
                outgoing, buttons=tuple(tuple(Button(*button) for button in row) for row in rows)
            )
        if message.attachments:
            return self._attach(outgoing, message.attachments[0], adapter)
        return outgoing

    def _attach(self, outgoing: OutgoingMessage, attachment: Attachment, adapter: Adapter) -> OutgoingMessage:
        file_id = attachment.url.removeprefix(ADDRESS)
        if SHARE_ID.fullmatch(file_id):
            return msgspec.structs.replace(outgoing, text=self._tell_share(file_id, attachment))
        found = self._uploads.find(file_id)
        name = attachment.filename or (found[0].filename if found else "file")
        capabilities, size = adapter.capabilities, found[0].bytes if found else 0
        if found is None or not capabilities.supports_files:
            return msgspec.structs.replace(outgoing, text=say(self._language, "no-files", name=name))
        if size > capabilities.max_file_bytes:
            limit = f"{capabilities.max_file_bytes / MEGABYTE:.0f}"
            words = say(
                self._language, "file-not-sent", name=name, size=f"{size / MEGABYTE:.1f}", limit=limit
            )
            return msgspec.structs.replace(outgoing, text=words)
        file = OutgoingFile(
            path=found[1],
            filename=name,
            media_type=found[0].media_type,
            size=size,
            is_voice=capabilities.supports_voice and is_voice(found[0]),
        )
        return msgspec.structs.replace(outgoing, file=file)

    def _tell_share(self, share_id: str, attachment: Attachment) -> str:
        """Say where a shared file is fetched: here alone its address is written."""
        share = self._shares.find(share_id)
        address = self._shares.address(share) if share else None
        if share is None or address is None:
            return say(self._language, "file-unshared", name=attachment.filename or "file")
        until = f"{share.expires_at[:16].replace('T', ' ')} UTC"
        size = f"{share.size / MEGABYTE:.1f}"
        return say(
            self._language, "file-shared", name=share.filename, size=size, address=address, until=until
        )


def key_of(row: OutboxRow) -> str:
    """Return what names a send to its platform: the same at each attempt, and no other's."""
    name = f"{row.id} {row.run_id} {row.segment} {row.created_at}{' again' if row.is_gone else ''}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]
