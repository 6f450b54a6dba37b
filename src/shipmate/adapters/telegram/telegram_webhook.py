"""Let Telegram call: who does not know the secret is refused before anything is read."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from shipmate.adapters.telegram.telegram_api import TelegramApi
from shipmate.adapters.telegram.telegram_update import KINDS, TelegramUpdate, read_update
from shipmate.delivery.adapter import HookAnswer, HookRequest
from shipmate.errors import ConfigError
from shipmate.models.wire.wire_json import decode_json

HEADER = "x-telegram-bot-api-secret-token"
SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")
log = logging.getLogger(__name__)


class Webhook:
    """The webhook of one bot; without a secret it is not made."""

    def __init__(self, name: str, url: str, secret: str) -> None:
        if not SECRET.fullmatch(secret):
            raise ConfigError(
                f"adapters.{name}.secret: a webhook needs a secret of 16 to 256 letters, digits, _ and -; "
                "make one with `openssl rand -hex 32` and write it as ${VARIABLE}."
            )
        if not url:
            raise ConfigError(
                f"adapters.{name}.webhookUrl: write the address at which Telegram reaches this server, "
                f"such as https://ship.example/hooks/{name}."
            )
        self._name = name
        self._url = url
        self._secret = secret.encode()

    async def announce(self, api: TelegramApi) -> None:
        """Tell Telegram where to call, and stay until cancelled; what waits is kept."""
        await api.call(
            "setWebhook",
            url=self._url,
            secret_token=self._secret.decode(),
            allowed_updates=KINDS,
            # What is said first comes first.
            max_connections=1,
            drop_pending_updates=False,
        )
        await asyncio.get_running_loop().create_future()

    async def answer(
        self, request: HookRequest, take: Callable[[Sequence[TelegramUpdate]], Awaitable[None]]
    ) -> HookAnswer:
        """Take the update of a request; it is answered once the update is on disk."""
        given = request.headers.get(HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._secret):
            return HookAnswer(status=401)
        try:
            value = decode_json(request.body)
        except msgspec.DecodeError:
            return HookAnswer(status=400)
        update = read_update(value)
        if update is None:
            # Sent again it would be no better.
            log.warning("%s: an update cannot be read", self._name)
        else:
            await take([update])
        return HookAnswer()
