"""Call methods of Telegram's Bot API.

The token is part of every address, so no address ever reaches an error or a log.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from shipmate.adapters.file_form import make_form
from shipmate.delivery.adapter import OutgoingFile
from shipmate.errors import ShipmateError
from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.http_answer import HttpAnswer
from shipmate.models.wire.http.outgoing import Patience, StreamedContent
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.wire_json import decode_json

API_URL = "https://api.telegram.org"
ANSWER_LIMIT = 16 * 1024 * 1024
PATIENCE = Patience(connect=20.0, write=60.0, first=60.0, stall=60.0)
TOO_MANY = 429


class TelegramError(ShipmateError):
    """Telegram did not do what it was asked. Its words say why."""

    def __init__(
        self,
        words: str,
        *,
        code: int = 0,
        retry_after: float | None = None,
        moved_to: int | None = None,
        is_unsent: bool = False,
    ) -> None:
        super().__init__(words)
        # Telegram's own number, as those of HTTP; 0 where it did not answer.
        self.code = code
        self.retry_after = retry_after
        # The id of a group that became a supergroup since.
        self.moved_to = moved_to
        # Nothing of what was asked has left.
        self.is_unsent = is_unsent

    @property
    def is_refused(self) -> bool:
        """Return whether Telegram read the request and surely did nothing."""
        return 400 <= self.code < 500

    @property
    def is_passing(self) -> bool:
        """Return whether it may work in a while, without anybody mending anything."""
        return self.code == TOO_MANY or not self.is_refused


class TelegramApi:
    """The methods of one bot."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._client = HttpClient(os.environ, PATIENCE)

    async def call(self, method: str, *, patience: Patience | None = None, **values: Any) -> Any:
        """Call a method; return its result, raise TelegramError when there is none."""
        return await self._post(method, "application/json", msgspec.json.encode(_given(values)), patience)

    async def upload(self, method: str, field: str, file: OutgoingFile, **values: Any) -> Any:
        """Call a method that takes a file."""
        return await self._post(method, *make_form(field, file, _given(values)), None)

    async def download(self, path: str) -> AsyncGenerator[bytes]:
        """Go over the bytes of a file whose path `getFile` told."""
        async with self._ask("GET", f"file/bot{self._token}/{path}") as answer:
            if answer.status != 200:
                raise TelegramError("the file is not there any more", code=answer.status)
            async for piece in answer.pieces():
                yield piece

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    async def _post(
        self, method: str, media_type: str, content: bytes | StreamedContent, patience: Patience | None
    ) -> Any:
        more = {"headers": {"content-type": media_type}, "content": content, "patience": patience}
        async with self._ask("POST", f"bot{self._token}/{method}", **more) as answer:
            return self._read(answer.status, await answer.read(ANSWER_LIMIT))

    @asynccontextmanager
    async def _ask(self, method: str, path: str, **more: Any) -> AsyncGenerator[HttpAnswer]:
        try:
            async with self._client.send(method, f"{self._url}/{path}", **more) as answer:
                yield answer
        except HttpFault as fault:
            raise TelegramError(self._mask(fault.words), is_unsent=fault.is_unsent) from None

    def _read(self, status: int, data: bytes) -> Any:
        try:
            answer = decode_json(data)
        except msgspec.DecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise TelegramError(f"Telegram answered {status} and nothing that can be read", code=status)
        if answer.get("ok") is True:
            return answer.get("result")
        parameters = answer.get("parameters")
        if not isinstance(parameters, dict):
            parameters = {}
        after, moved_to = parameters.get("retry_after"), parameters.get("migrate_to_chat_id")
        code = answer.get("error_code")
        raise TelegramError(
            self._mask(str(answer.get("description") or f"Telegram answered {status}")[:500]),
            code=code if isinstance(code, int) else status,
            retry_after=float(after) if isinstance(after, int | float) else None,
            moved_to=moved_to if isinstance(moved_to, int) else None,
        )

    def _mask(self, words: str) -> str:
        return words.replace(self._token, "***")


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
