"""Speak to DingTalk as a robot: its stream tells what is said and needs no address, its API takes answers."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, TypeGuard
from urllib.parse import quote

import msgspec
from msgspec import Meta

from shipmate.adapters.file_form import make_form
from shipmate.adapters.passing_token import PassingToken
from shipmate.adapters.platform_link import PlatformLink, PlatformSocket, check_sockets
from shipmate.delivery.adapter import Adapter, Hear, OutgoingFile, OutgoingMessage
from shipmate.errors import ConfigError, NotFoundError, SendError, SendLaterError, SendRefusedError
from shipmate.models.wire.http.outgoing import StreamedContent
from shipmate.models.wire.wire_json import decode_json
from shipmate.values.adapter_event import AdapterEvent, Chat, RemoteFile, Speaker
from shipmate.values.event import AdapterCapabilities
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.config import AdapterSettings

API_URL, MEDIA_URL = "https://api.dingtalk.com", "https://oapi.dingtalk.com"
TOPIC = "/v1.0/im/bot/messages/get"
MESSAGE_BYTES, FILE_BYTES = 5000, 20 * 1024 * 1024
TITLE_CHARS = 20
# How long whoever was sent away waits before it comes back, so that not all come at once.
BACK_SECONDS = 1.0
# Where DingTalk says that it is too much, but not for how long.
LIMIT_SECONDS = 10.0
TOKEN_CODES = frozenset({"InvalidAuthentication", "invalidauthentication", "40014", "42001"})
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/bmp"})
# What a message is called that is nothing but a file.
FILES = {
    "picture": ("picture.jpg", "image/jpeg"),
    "video": ("video.mp4", "video/mp4"),
    "file": ("file", "application/octet-stream"),
}
log = logging.getLogger(__name__)


class DingTalkSettings(AdapterSettings, frozen=True, kw_only=True):
    """The keys of an adapter of this kind."""

    client_id: Annotated[str, Meta(description="the app's Client ID (AppKey)")]
    client_secret: Annotated[str, Meta(description="the app's Client Secret (AppSecret)")]
    robot_code: Annotated[str, Meta(description="the robot's code; the Client ID when not set")] = ""
    api_url: str = API_URL
    media_url: Annotated[str, Meta(description="where files are brought to")] = MEDIA_URL


class DingTalkAdapter(Adapter):
    """The adapter of one robot."""

    kind: ClassVar[str] = "dingtalk"
    settings_type: ClassVar[type[AdapterSettings]] = DingTalkSettings

    def __init__(self, name: str, settings: DingTalkSettings) -> None:
        super().__init__(name, settings)
        self.capabilities = AdapterCapabilities(
            supports_files=True, max_file_bytes=FILE_BYTES, max_message_chars=MESSAGE_BYTES, counts="bytes"
        )
        if not (settings.client_id and settings.client_secret):
            raise ConfigError(f"adapters.{name}: clientId and clientSecret must not be empty.")
        check_sockets(name)
        self._robot = settings.robot_code or settings.client_id
        self._api = DingTalkApi(settings)

    async def listen(self, hear: Hear) -> None:
        """Hear the stream; come back whenever DingTalk asks for another connection."""
        while True:
            await self._talk(hear)
            await asyncio.sleep(random.uniform(0, BACK_SECONDS))  # noqa: S311  (no secret)

    async def send(self, message: OutgoingMessage) -> str:
        """Send words as Markdown, or a file."""
        if message.file is not None:
            return await self._send_file(message, message.file)
        return await self._post(message, "sampleMarkdown", _render(message.text))

    async def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of what came with a message."""
        async for piece in self._api.download(file.id, self._robot):
            yield piece

    async def close(self) -> None:
        """Let go of connections."""
        await self._api.close()

    async def _talk(self, hear: Hear) -> None:
        """Connect, and answer what comes until the connection ends."""
        socket = await self._api.open_stream()
        try:
            async for frame in socket.frames():
                if not await self._answer(socket, frame, hear):
                    return
        finally:
            await socket.close()

    async def _answer(self, socket: PlatformSocket, frame: JsonObject, hear: Hear) -> bool:
        """Take one frame and tell that it arrived; return whether others follow."""
        headers = _object(frame, "headers")
        code, answer = 200, '{"response": null}'
        match frame.get("type"), headers.get("topic"):
            case "SYSTEM", "disconnect":
                return False
            case "SYSTEM", _:
                # A ping wants back what it brought.
                answer = str(frame.get("data") or "{}")
            case "CALLBACK", str(topic) if topic == TOPIC:
                code = await self._take(_read(str(frame.get("data") or "").encode()), hear)
            case _:
                code = 404
        told = {"contentType": "application/json", "messageId": headers.get("messageId")}
        await socket.say({"code": code, "headers": told, "message": "OK", "data": answer})
        return True

    async def _take(self, said: JsonObject, hear: Hear) -> int:
        event = read_said(self.name, said)
        try:
            if event is not None:
                await hear(event)
        # The edge of the connection: DingTalk delivers again whatever was not taken.
        except Exception as error:  # noqa: BLE001
            log.warning("%s: a message is left to be delivered again: %s", self.name, type(error).__name__)
            return 500
        return 200

    async def _send_file(self, message: OutgoingMessage, file: OutgoingFile) -> str:
        is_picture = file.media_type in PICTURES
        try:
            media_id = await self._api.upload("image" if is_picture else "file", file)
        except (SendLaterError, SendRefusedError):
            raise
        except SendError as error:
            # Nothing is sent by an upload.
            raise SendLaterError(str(error)) from None
        if is_picture:
            sent_id = await self._post(message, "sampleImageMsg", {"photoURL": media_id})
        else:
            ending = file.filename.rpartition(".")[2].lower()
            content = {"mediaId": media_id, "fileName": file.filename, "fileType": ending}
            sent_id = await self._post(message, "sampleFile", content)
        if message.text:
            try:
                await self._post(message, "sampleMarkdown", _render(message.text))
            except SendError as error:
                # The file is there: sending both again would double it.
                raise SendError(f"the file was sent, its words were not: {error}") from None
        return sent_id

    async def _post(self, message: OutgoingMessage, kind: str, content: JsonObject) -> str:
        body: JsonObject = {"robotCode": self._robot, "msgKey": kind}
        body["msgParam"] = msgspec.json.encode(content).decode()
        if message.thread_id.scope_type == "dm":
            body["userIds"] = [message.chat_id]
            answer = await self._api.call("/v1.0/robot/oToMessages/batchSend", body)
        else:
            body["openConversationId"] = message.chat_id
            answer = await self._api.call("/v1.0/robot/groupMessages/send", body)
        if answer.get("flowControlledStaffIdList"):
            raise SendLaterError("DingTalk takes no more for them now", retry_after=LIMIT_SECONDS)
        if answer.get("invalidStaffIdList"):
            raise SendRefusedError(f"DingTalk does not know {message.chat_id} in this company")
        return str(answer.get("processQueryKey") or "sent")


class DingTalkApi:
    """DingTalk's API, as one app speaks to it."""

    def __init__(self, settings: DingTalkSettings) -> None:
        self._media = settings.media_url.rstrip("/")
        self._id, self._secret = settings.client_id, settings.client_secret
        self._link = PlatformLink(settings.api_url)
        self._token = PassingToken(self._sign_in)

    async def open_stream(self) -> PlatformSocket:
        """Open the stream; its ticket serves once."""
        body: JsonObject = {"clientId": self._id, "clientSecret": self._secret, "ua": "shipmate"}
        body["subscriptions"] = [{"type": "CALLBACK", "topic": TOPIC}]
        found = await self._post("/v1.0/gateway/connections/open", {}, body)
        return await self._link.connect(
            f"{found.get('endpoint')}?ticket={quote(str(found.get('ticket')), safe='')}"
        )

    async def call(self, path: str, body: JsonObject) -> JsonObject:
        """Ask for something; raise SendError with what is known of it when it was not done."""
        return await self._renewing(
            lambda token: self._post(path, {"x-acs-dingtalk-access-token": token}, body)
        )

    async def upload(self, kind: str, file: OutgoingFile) -> str:
        """Bring a file to DingTalk; return under which id it can be sent."""

        async def bring(token: str) -> JsonObject:
            url = f"{self._media}/media/upload?access_token={quote(token, safe='')}&type={kind}"
            media_type, form = make_form("media", file, {})
            found = await self._send(url, {"content-type": media_type}, form)
            if found.get("errcode", 0) != 0:
                raise DingTalkRefusedError(str(found["errcode"]), str(found.get("errmsg") or ""))
            return found

        return str((await self._renewing(bring)).get("media_id") or "")

    async def download(self, code: str, robot: str) -> AsyncIterator[bytes]:
        """Go over the bytes of a file."""
        try:
            body = {"downloadCode": code, "robotCode": robot}
            found = await self.call("/v1.0/robot/messageFiles/download", body)
        except SendError as error:
            raise NotFoundError(f"DingTalk does not hand it out: {error}.") from None
        async for piece in self._link.pieces(str(found.get("downloadUrl"))):
            yield piece

    async def close(self) -> None:
        """Let go of connections."""
        await self._link.close()

    async def _renewing(self, ask: Callable[[str], Awaitable[JsonObject]]) -> JsonObject:
        """Ask with a token; once more with another one, when it is no longer good."""
        token = await self._token.get()
        try:
            return await ask(token)
        except DingTalkRefusedError as error:
            if error.code not in TOKEN_CODES:
                raise
        self._token.drop(token)
        return await ask(await self._token.get())

    async def _sign_in(self) -> tuple[str, float]:
        body = {"appKey": self._id, "appSecret": self._secret}
        try:
            answer = await self._post("/v1.0/oauth2/accessToken", {}, body)
        except DingTalkRefusedError as error:
            words = f"DingTalk does not let the app in ({error.code}). Check clientId and clientSecret."
            raise SendLaterError(words, everywhere=True) from None
        return str(answer.get("accessToken") or ""), float(answer.get("expireIn") or 0)

    async def _post(self, path: str, headers: Mapping[str, str], body: JsonObject) -> JsonObject:
        headers = {"content-type": "application/json", "accept": "application/json", **headers}
        return await self._send(path, headers, msgspec.json.encode(body))

    async def _send(
        self, place: str, headers: Mapping[str, str], content: bytes | StreamedContent
    ) -> JsonObject:
        answer = await self._link.ask("POST", place, headers, content)
        found = answer.value if isinstance(answer.value, dict) else {}
        if answer.status < 300:
            return found
        code = str(found.get("code") or "")
        if answer.status == 429 or "QpsLimit" in code or code.startswith("Throttling"):
            seconds = LIMIT_SECONDS if answer.retry_after is None else answer.retry_after
            raise SendLaterError("DingTalk takes no more for now", retry_after=seconds)
        if answer.status >= 500 or not code:
            raise SendError(f"DingTalk answered {answer.status}, and nobody knows what came of it")
        raise DingTalkRefusedError(code, str(found.get("message") or ""))


class DingTalkRefusedError(SendRefusedError):
    """DingTalk refused this. Look its code up in the documentation of the open platform."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(f"DingTalk refuses it: {words[:300]} ({code})")
        self.code = code


def read_said(platform: str, said: JsonObject) -> AdapterEvent | None:
    """Return what somebody said to the robot; None for what cannot be told who said it."""
    user = str(said.get("senderStaffId") or said.get("senderId") or "")
    chat_id, number = str(said.get("conversationId") or ""), str(said.get("msgId") or "")
    if not (user and chat_id and number):
        return None
    is_private = str(said.get("conversationType")) == "1"
    kind, content = str(said.get("msgtype") or ""), _object(said, "content")
    text, files, voice = str(_object(said, "text").get("content") or ""), [], None
    if kind == "richText":
        pieces = [each for each in content.get("richText") or () if isinstance(each, dict)]
        text = "".join(str(each.get("text") or "") for each in pieces)
        files = [found for each in pieces for found in _files(each, "picture")]
    elif kind == "audio":
        voice = RemoteFile(
            id=str(content.get("downloadCode") or ""), filename="voice.ogg", media_type="audio/ogg"
        )
    elif kind in FILES:
        files = list(_files(content, kind))
    at = said.get("createAt")
    return AdapterEvent(
        platform=platform,
        chat=Chat(
            id=user if is_private else chat_id,
            kind="dm" if is_private else "group",
            title="" if is_private else str(said.get("conversationTitle") or ""),
        ),
        speaker=Speaker(
            id=user,
            name=str(said.get("senderNick") or ""),
            is_bot=said.get("senderId") is not None and said.get("senderId") == said.get("chatbotUserId"),
        ),
        message_id=f"{chat_id}.{number}",
        timestamp=timestamp(datetime.fromtimestamp(at / 1000, UTC) if _is_moment(at) else None),
        text=text.strip(),
        files=tuple(files),
        voice=voice,
        is_addressed=is_private or said.get("isInAtList") is True,
    )


def _is_moment(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and 0 < value < 10**13


def _files(content: JsonObject, kind: str) -> Iterator[RemoteFile]:
    if code := content.get("downloadCode"):
        filename, media_type = FILES[kind]
        yield RemoteFile(
            id=str(code), filename=str(content.get("fileName") or filename), media_type=media_type
        )


def _render(text: str) -> JsonObject:
    """Return Markdown; the title is what a notification shows."""
    title = next((line.strip("#*> `") for line in text.splitlines() if line.strip("#*> `")), "…")
    return {"title": title[:TITLE_CHARS], "text": text}


def _read(body: bytes) -> JsonObject:
    try:
        found = decode_json(body)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _object(value: JsonObject, key: str) -> JsonObject:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
