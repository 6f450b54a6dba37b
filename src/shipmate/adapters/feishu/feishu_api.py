"""Ask Feishu's open platform: sign in, keep the token, and tell a limit from a refusal and from silence."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlencode

from shipmate.adapters.file_form import make_form
from shipmate.adapters.passing_token import PassingToken
from shipmate.delivery.adapter import OutgoingFile
from shipmate.errors import NotFoundError, SendError, SendLaterError, SendRefusedError
from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.http_answer import HttpAnswer
from shipmate.models.wire.http.outgoing import Patience, StreamedContent
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.values.message import JsonObject

DOMAINS = {"feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com"}
PATIENCE = Patience(connect=10.0, first=30.0, stall=30.0)
ANSWER_LIMIT = 2_000_000
# The token is not, or no longer, good: nothing was done.
TOKEN_CODES = frozenset({99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 99991677})
# Too much at once: of the whole app, or in one chat.
APP_LIMIT_CODES = frozenset({99991400, 11232, 11247})
CHAT_LIMIT_CODES = frozenset({230020, 11233, 11248})
# The same message is on its way: nobody knows yet.
UNDER_WAY = 230049
RESET_HEADER = "x-ogw-ratelimit-reset"
LONGEST_REASON = 300
Content: TypeAlias = bytes | StreamedContent | None
# How often one call may be made in a second and a minute; the platform's own limits are 50 and 1000.
SECOND, MINUTE = 45, 950
# Which share of that previews may take: answers have room besides them.
PREVIEW_SHARE = 0.75


class FeishuRefusedError(SendRefusedError):
    """Feishu refused this. Look its code up in the documentation of the open platform."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(f"Feishu refused it: {words[:LONGEST_REASON]} ({code})")
        self.code = code
        self.words = words


class FeishuPace:
    """The calls of one kind in the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=MINUTE)

    def step(self, *, is_preview: bool = False) -> None:
        """Count a call; raise SendLaterError with how long to wait when it would be one too many."""
        now = self._clock()
        wait = 0.0
        share = PREVIEW_SHARE if is_preview else 1.0
        for limit, seconds in ((SECOND, 1.0), (MINUTE, 60.0)):
            count = int(share * limit)
            if len(self._times) >= count:
                wait = max(wait, self._times[-count] + seconds - now)
        if wait > 0:
            raise SendLaterError("Feishu takes no more for now", retry_after=wait)
        self._times.append(now)


class FeishuApi:
    """The open platform, as one app speaks to it."""

    def __init__(
        self, domain: str, app_id: str, app_secret: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._base = DOMAINS.get(domain, domain).rstrip("/")
        self._app = {"app_id": app_id, "app_secret": app_secret}
        self._client = HttpClient(os.environ, PATIENCE)
        self._token = PassingToken(self._sign_in, clock)

    @property
    def is_encrypted(self) -> bool:
        """Return whether the platform is spoken to over TLS."""
        return self._base.startswith("https:")

    async def call(
        self, method: str, path: str, body: JsonObject | None = None, query: Mapping[str, str] | None = None
    ) -> JsonObject:
        """Ask for something; return the answer when its code is 0.

        Raise SendLaterError or FeishuRefusedError when surely nothing was done, SendError when nobody knows.
        """
        content = None if body is None else encode(body)
        return await self._ask(method, path, query, content, "application/json; charset=utf-8")

    async def upload(self, path: str, fields: Mapping[str, str], name: str, file: OutgoingFile) -> Any:
        """Upload a file, read while it is sent; return the `data` of the answer."""
        media_type, content = make_form(name, file, fields)
        return (await self._ask("POST", path, None, content, media_type))["data"]

    async def pieces(self, path: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Go over the bytes of something; raise NotFoundError when it cannot be had."""
        headers = {"authorization": f"Bearer {await self._token.get()}"}
        async with self._client.send("GET", self._url(path, query), headers=headers) as answer:
            if answer.status != 200:
                words = _read(await answer.read(ANSWER_LIMIT, cut=True)).get("msg")
                raise NotFoundError(f"Feishu does not hand it out: {words or answer.status}.")
            async for piece in answer.pieces():
                yield piece

    async def endpoint(self) -> JsonObject:
        """Return where the long connection is to be made, and at which pace."""
        body = {"AppID": self._app["app_id"], "AppSecret": self._app["app_secret"]}
        return (await self._exchange("POST", self._url("/callback/ws/endpoint"), {}, encode(body)))["data"]

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None, content: Content, kind: str
    ) -> JsonObject:
        url = self._url(path, query)
        for is_last in (False, True):
            token = await self._token.get()
            headers = {"authorization": f"Bearer {token}", "content-type": kind}
            try:
                return await self._exchange(method, url, headers, content)
            except FeishuRefusedError as error:
                if is_last or error.code not in TOKEN_CODES:
                    raise
                self._token.drop(token)
        raise AssertionError("the second answer is returned or raised")

    async def _sign_in(self) -> tuple[str, float]:
        url = self._url("/open-apis/auth/v3/tenant_access_token/internal")
        try:
            answer = await self._exchange("POST", url, {}, encode(self._app))
        except FeishuRefusedError as error:
            words = f"Feishu does not let the app in ({error.code}). Check appId and appSecret."
            raise SendLaterError(words, everywhere=True) from None
        return str(answer.get("tenant_access_token") or ""), float(answer.get("expire") or 0)

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], content: Content
    ) -> JsonObject:
        headers = {"content-type": "application/json; charset=utf-8", **headers}
        try:
            async with self._client.send(method, url, headers=headers, content=content) as answer:
                found = _read(await answer.read(ANSWER_LIMIT))
        except HttpFault as fault:
            if fault.is_unsent:
                raise SendLaterError(fault.words) from None
            raise SendError(fault.words) from None
        if answer.status < 300 and found.get("code") == 0:
            return found
        raise _explain(answer, found)

    def _url(self, path: str, query: Mapping[str, str] | None = None) -> str:
        return f"{self._base}{path}{f'?{urlencode(query)}' if query else ''}"


def encode(value: Any) -> bytes:
    """Write JSON as short as it can be: the platform counts its bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _read(body: bytes) -> JsonObject:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _explain(answer: HttpAnswer, found: JsonObject) -> SendError:
    """Return what an answer that is no success means."""
    code = found.get("code")
    if answer.status == 429 or code in APP_LIMIT_CODES or code in CHAT_LIMIT_CODES:
        return SendLaterError(
            "Feishu takes no more for now",
            retry_after=_read_seconds(answer.headers.get(RESET_HEADER) or answer.headers.get("retry-after")),
            everywhere=code not in CHAT_LIMIT_CODES,
        )
    if answer.status >= 500 or not isinstance(code, int) or code in (0, UNDER_WAY):
        return SendError(f"Feishu answered {answer.status}, and nobody knows what came of it")
    return FeishuRefusedError(code, str(found.get("msg") or ""))


def _read_seconds(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
