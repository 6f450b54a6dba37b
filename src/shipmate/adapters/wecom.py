"""Speak to WeCom as an app of one's own: it calls when somebody writes, and is answered through its API."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Meta

from shipmate.adapters.file_form import make_form
from shipmate.adapters.passing_token import PassingToken
from shipmate.adapters.platform_link import PlatformLink
from shipmate.delivery.adapter import (
    Adapter,
    Hear,
    HookAnswer,
    HookRequest,
    OutgoingFile,
    OutgoingMessage,
)
from shipmate.errors import ConfigError, NotFoundError, SendError, SendLaterError, SendRefusedError
from shipmate.models.wire.http.outgoing import StreamedContent
from shipmate.models.wire.wire_json import decode_json
from shipmate.values.adapter_event import AdapterEvent, Chat, RemoteFile, Speaker
from shipmate.values.event import AdapterCapabilities
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.config import AdapterSettings

API_URL = "https://qyapi.weixin.qq.com"
# A message holds 2048 bytes, files 20 MB, pictures 10 MB of two kinds.
MESSAGE_BYTES, FILE_BYTES, PICTURE_BYTES = 2000, 20 * 1024 * 1024, 10 * 1024 * 1024
PICTURES = frozenset({"image/png", "image/jpeg"})
BLOCK, NONCE, LENGTH = 32, 16, 4
# WeCom tries again within seconds; clocks may differ. Within that time nothing is taken twice.
FRESH_SECONDS = 600
REMEMBERED = 10_000
# The token is not, or no longer, good: nothing was done.
TOKEN_CODES = frozenset({40001, 40014, 42001, 42007, 42009})
# Too much at once; WeCom counts by the minute and does not say how long to wait.
LIMIT_CODES = frozenset({45009, 45011, 45033, 45047})
LIMIT_SECONDS = 60.0
BUSY = -1
REFUSAL = b'{"errcode"'
NESTING = 8
TRIAL = re.compile(rb"[0-9A-Za-z_-]{1,64}")
MARKUP = re.compile(r"(?m)\*\*\S|`|^#{1,6} |^> |\[[^\]\n]+\]\(")
# What is not words, and what it is called.
MEDIA = {
    "image": ("image.jpg", "image/jpeg"),
    "voice": ("voice.amr", "audio/amr"),
    "video": ("video.mp4", "video/mp4"),
    "file": ("file", "application/octet-stream"),
}
log = logging.getLogger(__name__)


class WecomSettings(AdapterSettings, frozen=True, kw_only=True):
    """The keys of an adapter of this kind."""

    corp_id: str
    agent_id: int
    secret: Annotated[str, Meta(description="the app's Secret")]
    token: Annotated[str, Meta(description="the Token of API receiving")]
    encoding_aes_key: Annotated[str, Meta(description="the EncodingAESKey of API receiving")]
    api_url: str = API_URL


class WecomAdapter(Adapter):
    """The adapter of one app."""

    kind: ClassVar[str] = "wecom"
    settings_type: ClassVar[type[AdapterSettings]] = WecomSettings

    def __init__(self, name: str, settings: WecomSettings) -> None:
        super().__init__(name, settings)
        self.capabilities = AdapterCapabilities(
            supports_files=True, max_file_bytes=FILE_BYTES, max_message_chars=MESSAGE_BYTES, counts="bytes"
        )
        self._seal = WecomSeal(name, settings)
        self._api = WecomApi(settings)
        self._agent = settings.agent_id

    async def listen(self, hear: Hear) -> None:
        """Wait: WeCom calls, and the server hears it."""
        del hear
        await asyncio.get_running_loop().create_future()

    async def answer_hook(self, request: HookRequest, hear: Hear) -> HookAnswer:
        """Take a message; whatever is not surely WeCom's own, or comes again, is refused."""
        is_trial = request.method == "GET"
        sealed = request.query.get("echostr", "") if is_trial else read_xml(request.body).get("Encrypt", "")
        found = self._seal.open(request.query, sealed)
        # Nothing but the digits of a trial is ever handed back: what people wrote is sealed in the same way.
        if found is None or (is_trial and not TRIAL.fullmatch(found)):
            return HookAnswer(status=403)
        if not is_trial:
            event = read_event(self.name, read_xml(found))
            if event is not None:
                await hear(event)
            self._seal.note(request.query)
        # An empty answer says that nothing is answered at once; the answer goes through the API.
        return HookAnswer(body=found if is_trial else b"", media_type="text/plain")

    async def send(self, message: OutgoingMessage) -> str:
        """Send words, as Markdown where they have markup, or a file."""
        if message.file is not None:
            return await self._send_file(message, message.file)
        return await self._post(message.chat_id, *_render(message.text))

    async def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of what was sent to the app; WeCom keeps it for three days."""
        async for piece in self._api.download(file.id):
            yield piece

    async def close(self) -> None:
        """Let go of connections."""
        await self._api.close()

    async def _send_file(self, message: OutgoingMessage, file: OutgoingFile) -> str:
        is_picture = file.media_type in PICTURES and file.size <= PICTURE_BYTES
        kind = "image" if is_picture else "file"
        try:
            media_id = await self._api.upload(kind, file)
        except (SendLaterError, SendRefusedError):
            raise
        except SendError as error:
            # Nothing is sent by an upload.
            raise SendLaterError(str(error)) from None
        sent_id = await self._post(message.chat_id, kind, {"media_id": media_id})
        if message.text:
            try:
                await self._post(message.chat_id, *_render(message.text))
            except SendError as error:
                # The file is there: sending both again would double it.
                raise SendError(f"the file was sent, its words were not: {error}") from None
        return sent_id

    async def _post(self, user: str, kind: str, content: JsonObject) -> str:
        body = {"touser": user, "msgtype": kind, "agentid": self._agent, kind: content}
        answer = await self._api.call("/cgi-bin/message/send", body)
        if answer.get("invaliduser") or answer.get("unlicenseduser"):
            raise SendRefusedError(f"WeCom does not let the app write to {user}")
        return str(answer.get("msgid") or "sent")


class WecomSeal:
    """What proves that WeCom calls: a signature over everything, and encryption that names the company."""

    def __init__(self, name: str, settings: WecomSettings, clock: Callable[[], float] = time.time) -> None:
        place = f"adapters.{name}"
        self._token, self._corp = settings.token, settings.corp_id.encode()
        if not (settings.token and settings.corp_id and settings.secret):
            raise ConfigError(f"{place}: corpId, secret and token must not be empty, or anybody could call.")
        try:
            self._key = base64.b64decode(f"{settings.encoding_aes_key}=", validate=True)
        except (binascii.Error, ValueError):
            self._key = b""
        if len(self._key) != 32:
            raise ConfigError(f"{place}.encodingAesKey: copy all 43 characters from the app's page.")
        if find_spec("cryptography") is None:
            raise ConfigError(f"{place}: cryptography is missing. Install shipmate[wecom].")
        self._clock = clock
        self._seen: OrderedDict[str, float] = OrderedDict()

    def open(self, query: Mapping[str, str], sealed: str) -> bytes | None:
        """Return what was sealed, or None for whatever is not surely WeCom's own or was taken before."""
        at, nonce, signature = (query.get(name, "") for name in ("timestamp", "nonce", "msg_signature"))
        words = "".join(sorted((self._token, at, nonce, sealed)))
        made = hashlib.sha1(words.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
        if not sealed or not hmac.compare_digest(made.encode(), signature.encode("utf-8", "replace")):
            return None
        if not (at.isascii() and at.isdigit() and len(at) < 12):
            return None
        if abs(self._clock() - int(at)) > FRESH_SECONDS or signature in self._seen:
            return None
        try:
            return self._unseal(base64.b64decode(sealed, validate=True))
        except (binascii.Error, ValueError):
            return None

    def note(self, query: Mapping[str, str]) -> None:
        """Take what this request brought no second time."""
        now = self._clock()
        self._seen[query["msg_signature"]] = now
        while self._seen and (
            len(self._seen) > REMEMBERED or now - next(iter(self._seen.values())) > 2 * FRESH_SECONDS
        ):
            self._seen.popitem(last=False)

    def _unseal(self, sealed: bytes) -> bytes | None:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CBC

        cipher = Cipher(AES(self._key), CBC(self._key[:16])).decryptor()
        padded = cipher.update(sealed) + cipher.finalize()
        size = padded[-1] if padded else 0
        if not 1 <= size <= BLOCK or padded[-size:] != bytes([size]) * size:
            return None
        plain = padded[NONCE:-size]
        end = LENGTH + int.from_bytes(plain[:LENGTH], "big")
        is_ours = end <= len(plain) and hmac.compare_digest(plain[end:], self._corp)
        return plain[LENGTH:end] if is_ours else None


class WecomApi:
    """WeCom's API, as one app speaks to it. Its token stands in addresses, which no error names."""

    def __init__(self, settings: WecomSettings) -> None:
        self._app = {"corpid": settings.corp_id, "corpsecret": settings.secret}
        self._link = PlatformLink(settings.api_url)
        self._token = PassingToken(self._sign_in)

    async def call(self, path: str, body: JsonObject) -> JsonObject:
        """Ask for something; raise SendError with what is known of it when it was not done."""
        return await self._ask(path, {}, "application/json", msgspec.json.encode(body))

    async def upload(self, kind: str, file: OutgoingFile) -> str:
        """Upload a file; return under which id it can be sent."""
        answer = await self._ask("/cgi-bin/media/upload", {"type": kind}, *make_form("media", file, {}))
        return str(answer.get("media_id") or "")

    async def download(self, media_id: str) -> AsyncIterator[bytes]:
        """Go over the bytes of a file; raise NotFoundError when it cannot be had."""
        query = {"access_token": await self._token.get(), "media_id": media_id}
        is_first = True
        async for piece in self._link.pieces(_place("/cgi-bin/media/get", query)):
            # A refusal comes as if it were the file.
            if is_first and piece.startswith(REFUSAL) and (found := _read(piece)).get("errcode"):
                raise NotFoundError(f"WeCom does not hand it out: {found.get('errmsg')}.")
            is_first = False
            yield piece

    async def close(self) -> None:
        """Let go of connections."""
        await self._link.close()

    async def _ask(
        self, path: str, query: Mapping[str, str], kind: str, content: bytes | StreamedContent
    ) -> JsonObject:
        for is_last in (False, True):
            token = await self._token.get()
            place = _place(path, {"access_token": token, **query})
            answer = await self._exchange("POST", place, {"content-type": kind}, content)
            code = answer["errcode"]
            if code == 0:
                return answer
            if code == BUSY:
                break
            if code not in TOKEN_CODES or is_last:
                raise SendRefusedError(f"WeCom refuses it: {str(answer.get('errmsg'))[:300]} ({code})")
            self._token.drop(token)
        raise SendError("WeCom is busy, and nobody knows what came of it")

    async def _sign_in(self) -> tuple[str, float]:
        answer = await self._exchange("GET", _place("/cgi-bin/gettoken", self._app), {}, None)
        if not answer.get("access_token"):
            words = f"WeCom does not let the app in ({answer['errcode']}). Check corpId and secret."
            raise SendLaterError(words, everywhere=True)
        return str(answer["access_token"]), float(answer.get("expires_in") or 0)

    async def _exchange(
        self, method: str, place: str, headers: Mapping[str, str], content: bytes | StreamedContent | None
    ) -> JsonObject:
        answer = await self._link.ask(method, place, headers, content)
        found = answer.value if isinstance(answer.value, dict) else {}
        if answer.status == 429 or found.get("errcode") in LIMIT_CODES:
            seconds = LIMIT_SECONDS if answer.retry_after is None else answer.retry_after
            raise SendLaterError("WeCom takes no more for now", retry_after=seconds)
        if answer.status >= 300 or "errcode" not in found:
            raise SendError(f"WeCom answered {answer.status}, and nobody knows what came of it")
        return found


def _place(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query, quote_via=quote)}"


def read_xml(data: bytes) -> dict[str, str]:
    """Return the texts of a flat document; nothing of what is no such, or defines anything."""
    from xml.parsers import expat

    found: dict[str, list[str]] = {}
    path: list[str] = []

    def begin(name: str, _attributes: Any) -> None:
        path.append(name)
        if len(path) > NESTING:
            raise ValueError("nested too deep")

    def say(text: str) -> None:
        if len(path) == 2:
            found.setdefault(path[1], []).append(text)

    def refuse(*_: Any) -> None:
        raise ValueError("definitions have no place here")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.CharacterDataHandler = begin, say
    parser.EndElementHandler = lambda _: path.pop()
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        # Whatever it says of itself: WeCom writes UTF-8.
        parser.Parse(data.decode(), True)
    except (expat.ExpatError, ValueError):
        return {}
    return {name: "".join(texts) for name, texts in found.items()}


def read_event(platform: str, found: Mapping[str, str]) -> AdapterEvent | None:
    """Return what somebody wrote; None for what needs no answer, such as that they opened the app."""
    user, kind, number = (found.get(name, "") for name in ("FromUserName", "MsgType", "MsgId"))
    if not (user and number):
        return None
    text, files, voice = "", (), None
    if kind in MEDIA:
        filename, media_type = MEDIA[kind]
        filename = found.get("FileName") or filename
        file = RemoteFile(id=found.get("MediaId", ""), filename=filename, media_type=media_type)
        files, voice = ((), file) if kind == "voice" else ((file,), None)
    elif kind == "text":
        text = found.get("Content", "")
    elif kind == "link":
        text = f"[{found.get('Title', '')}]({found.get('Url', '')})\n{found.get('Description', '')}".strip()
    elif kind == "location":
        text = f"{found.get('Label', '')} ({found.get('Location_X', '')}, {found.get('Location_Y', '')})"
    at = found.get("CreateTime", "")
    is_time = at.isascii() and at.isdigit() and len(at) < 12
    return AdapterEvent(
        platform=platform,
        chat=Chat(id=user),
        speaker=Speaker(id=user, name=user),
        message_id=f"{user}.{number}",
        timestamp=timestamp(datetime.fromtimestamp(int(at), UTC) if is_time else None),
        text=text,
        files=files,
        voice=voice,
    )


def _render(text: str) -> tuple[str, JsonObject]:
    kind = "markdown" if MARKUP.search(text) else "text"
    return kind, {"content": text}


def _read(body: bytes) -> JsonObject:
    try:
        found = decode_json(body)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
