"""Ask Telegram for updates, and tell that they arrived once they are on disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby

from shipmate.adapters.telegram.telegram_api import TelegramApi, TelegramError
from shipmate.adapters.telegram.telegram_update import KINDS, TelegramUpdate, read_update
from shipmate.models.wire.http.outgoing import Patience

# How long Telegram holds a question to which there is no answer yet.
HOLD_SECONDS = 50
PATIENCE = Patience(first=HOLD_SECONDS + 15.0, stall=30.0)
# Within this time all messages of an album arrive.
ALBUM_SECONDS = 0.5
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
log = logging.getLogger(__name__)


class Poller:
    """The polling of one bot."""

    def __init__(self, name: str, api: TelegramApi) -> None:
        self._name = name
        self._api = api
        # The first update that is not on disk; asking from it on tells that all before it arrived.
        self._offset: int | None = None

    async def poll(self, take: Callable[[Sequence[TelegramUpdate]], Awaitable[None]]) -> None:
        """Hand over update by update, an album at once, until cancelled."""
        # What waits stays: a webhook of before and polling exclude each other.
        await self._api.call("deleteWebhook", drop_pending_updates=False)
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                found = await self._look(HOLD_SECONDS)
            except TelegramError as fault:
                if not fault.is_passing:
                    raise
                if pause == FIRST_PAUSE_SECONDS:
                    log.warning("%s hears nothing for now: %s", self._name, fault)
                await asyncio.sleep(fault.retry_after or pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                continue
            pause = FIRST_PAUSE_SECONDS
            for _, updates in groupby(found, key=lambda each: each.album or each.update_id):
                group = list(updates)
                await take(group)
                self._offset = group[-1].update_id + 1

    async def _look(self, seconds: int) -> list[TelegramUpdate]:
        found = await self._ask(seconds)
        if found and found[-1].album:
            # The rest of it is on its way. Nothing was confirmed, so all of it comes again.
            await asyncio.sleep(ALBUM_SECONDS)
            found = await self._ask(0)
        return found

    async def _ask(self, seconds: int) -> list[TelegramUpdate]:
        values = await self._api.call(
            "getUpdates", patience=PATIENCE, offset=self._offset, timeout=seconds, allowed_updates=KINDS
        )
        found: list[TelegramUpdate] = []
        for value in values if isinstance(values, list) else ():
            update = read_update(value)
            number = value.get("update_id") if isinstance(value, dict) else None
            if update is None and isinstance(number, int):
                log.warning("%s: update %d cannot be read", self._name, number)
                update = TelegramUpdate(number)
            if update is not None:
                found.append(update)
        return found
