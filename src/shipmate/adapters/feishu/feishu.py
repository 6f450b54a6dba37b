"""Speak to Feishu and Lark: over a long connection that needs no address of one's own, or by webhook."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import quote

from msgspec import Meta
from msgspec.structs import replace

from shipmate.adapters.feishu.feishu_api import FeishuApi, FeishuPace, FeishuRefusedError, encode
from shipmate.adapters.feishu.feishu_card import make_card, make_post, needs_card
from shipmate.adapters.feishu.feishu_connection import LongConnection
from shipmate.adapters.feishu.feishu_event import (
    CLICKED,
    PRESS,
    RECALLED,
    RECEIVED,
    kind_of,
    read_click,
    read_message,
    read_recall,
)
from shipmate.adapters.feishu.feishu_file import upload_file
from shipmate.adapters.feishu.feishu_hook import CHALLENGE, FeishuHook
from shipmate.adapters.feishu.feishu_name import FeishuNames
from shipmate.delivery.adapter import (
    Adapter,
    Hear,
    HookAnswer,
    HookRequest,
    OutgoingFile,
    OutgoingMessage,
)
from shipmate.errors import ConfigError, EditGoneError, SendError, SendLaterError
from shipmate.values.adapter_event import AdapterEvent, Chat, HeardEvent, RemoteFile, Speaker
from shipmate.values.event import AdapterCapabilities
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.config import AdapterSettings

MESSAGES = "/open-apis/im/v1/messages"
# A click has to be answered within 3 seconds, and is never delivered again.
CLICK_SECONDS = 2.0
# So long what an event needs may take; it is delivered again when it is not confirmed within 3 seconds.
READ_SECONDS = 2.5
# A request holds 30 KB, in which a character is written with up to four bytes for one.
MESSAGE_BYTES = 7_000
FILE_BYTES = 30 * 1024 * 1024
# For so long a repeated `uuid` sends nothing twice.
KEY_SECONDS = 3600.0
# So many messages are remembered, to know whose they were when they are taken back.
REMEMBERED = 1000
# Taken back, deleted, too old, or changed too often.
GONE_CODES = frozenset({230011, 230031, 230050, 230071, 230072, 230075, 230110, 99992354})
BAD_PARAMETER = 230001
NOT_A_CARD = 230054
# The markup is not taken.
MARKUP_CODES = frozenset({230099, 11310, 200621, 200672})
log = logging.getLogger(__name__)


class FeishuSettings(AdapterSettings, frozen=True, kw_only=True):
    """The keys of an adapter of this kind."""

    app_id: str
    app_secret: str
    mode: Annotated[Literal["websocket", "webhook"], Meta(description="how events arrive")] = "websocket"
    encrypt_key: Annotated[str, Meta(description="seals what comes by webhook")] = ""
    verification_token: Annotated[str, Meta(description="names the app in what comes by webhook")] = ""
    domain: Annotated[str, Meta(description="feishu, lark, or the address of an open platform")] = "feishu"


class FeishuAdapter(Adapter):
    """The adapter of one app."""

    kind: ClassVar[str] = "feishu"
    settings_type: ClassVar[type[AdapterSettings]] = FeishuSettings

    def __init__(self, name: str, settings: FeishuSettings) -> None:
        super().__init__(name, settings)
        self.capabilities = AdapterCapabilities(
            supports_buttons=True,
            supports_rich_cards=True,
            supports_threaded_replies=True,
            supports_edits=True,
            supports_files=True,
            supports_voice=True,
            max_file_bytes=FILE_BYTES,
            max_message_chars=MESSAGE_BYTES,
            counts="bytes",
            keeps_keys_seconds=KEY_SECONDS,
        )
        _check(name, settings)
        self._app_id = settings.app_id
        self._api = FeishuApi(settings.domain, settings.app_id, settings.app_secret)
        self._names = FeishuNames(self._api)
        self._hook = (
            FeishuHook(settings.encrypt_key, settings.verification_token)
            if settings.mode == "webhook"
            else None
        )
        self._sends, self._edits = FeishuPace(), FeishuPace()
        self._bot = ""
        self._recent: OrderedDict[str, tuple[Chat, Speaker]] = OrderedDict()
        self._clicks: set[asyncio.Task[HeardEvent]] = set()

    async def listen(self, hear: Hear) -> None:
        """Hear the platform over the long connection; a webhook is heard by the server."""
        if self._hook is not None:
            await asyncio.get_running_loop().create_future()
        await LongConnection(self._api, lambda payload: self.take(payload, hear)).run()

    async def answer_hook(self, request: HookRequest, hear: Hear) -> HookAnswer:
        """Take an event; whatever is not surely the platform's own is refused."""
        if self._hook is None:
            return HookAnswer(status=404)
        payload = self._hook.open(request)
        if payload is None:
            return HookAnswer(status=403)
        if payload.get("type") == CHALLENGE:
            return HookAnswer(body=encode({"challenge": payload.get("challenge")}))
        try:
            return HookAnswer(body=encode(await self.take(payload, hear)))
        except SendError as error:
            log.warning("%s: an event is left to be delivered again: %s", self.name, error)
            return HookAnswer(status=503)

    async def take(self, payload: JsonObject, hear: Hear) -> JsonObject:
        """Pass an event on; return what the platform is answered. What is raised has not arrived."""
        match kind_of(payload):
            case kind if kind == RECEIVED:
                event = await self._read_in_time(payload)
            case kind if kind == RECALLED:
                event = self._read_recall(payload)
            case kind if kind == CLICKED:
                return await self._answer_click(payload, hear)
            case _:
                return {}
        if event is not None:
            await hear(event)
        return {}

    async def send(self, message: OutgoingMessage) -> str:
        """Send words as a post, what changes or asks as a card, and files as what they are."""
        self._sends.step(is_preview=message.kind == "preview")
        if message.file is not None:
            return await self._send_file(message, message.file)
        try:
            return await self._post(message, *_render(message))
        except FeishuRefusedError as error:
            if error.code not in MARKUP_CODES:
                raise
        return await self._post(message, *_render(message, is_plain=True))

    async def edit(self, sent_id: str, message: OutgoingMessage) -> None:
        """Change a card, or a post where it is none."""
        if message.file is not None:
            return
        try:
            await self._change(sent_id, message, is_plain=False)
        except FeishuRefusedError as error:
            if _is_gone(error):
                raise EditGoneError from None
            if error.code not in MARKUP_CODES:
                raise
            await self._change(sent_id, message, is_plain=True)

    async def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of what lies in a message."""
        message_id, key, sort = (quote(each, safe="") for each in file.id.split("/", 2))
        path = f"{MESSAGES}/{message_id}/resources/{key}"
        async for piece in self._api.pieces(path, {"type": sort}):
            yield piece

    async def close(self) -> None:
        """Let go of connections."""
        await asyncio.gather(*self._clicks, return_exceptions=True)
        await self._api.close()

    async def _read_in_time(self, payload: JsonObject) -> AdapterEvent | None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._read(payload)
        except TimeoutError:
            raise SendLaterError(
                "Feishu does not say in time what a message needs to be understood"
            ) from None

    async def _read(self, payload: JsonObject) -> AdapterEvent | None:
        """Read a message, and find out who said it, where, and whether the bot was meant."""
        event = read_message(self.name, payload, await self._bot_id())
        if event is None:
            return None
        if not event.is_addressed and event.reply_to is not None:
            event = replace(event, is_addressed=await self._is_ours(event.reply_to))
        is_group = event.chat.kind != "dm"
        name = "" if event.speaker.is_bot else await self._names.person(event.speaker.id)
        title = await self._names.chat(event.chat.id) if is_group else ""
        event = replace(
            event, speaker=replace(event.speaker, name=name), chat=replace(event.chat, title=title)
        )
        self._recent[event.message_id] = (event.chat, event.speaker)
        if len(self._recent) > REMEMBERED:
            self._recent.popitem(last=False)
        return event

    def _read_recall(self, payload: JsonObject) -> AdapterEvent | None:
        message_id = read_recall(payload)
        known = self._recent.get(message_id or "")
        if message_id is None or known is None:
            # Said before this process began: its run is over, or soon is.
            return None
        return AdapterEvent(
            platform=self.name,
            chat=known[0],
            speaker=known[1],
            message_id=f"{message_id}.recall",
            timestamp=timestamp(),
            changes=message_id,
            is_deletion=True,
        )

    async def _answer_click(self, payload: JsonObject, hear: Hear) -> JsonObject:
        event = read_click(self.name, payload)
        if event is None:
            return {}
        task = asyncio.ensure_future(hear(event))
        self._clicks.add(task)
        task.add_done_callback(self._end_click)
        await asyncio.wait({task}, timeout=CLICK_SECONDS)
        told = task.result().told if task.done() else ""
        return {"toast": {"type": "info", "content": told}} if told else {}

    def _end_click(self, task: asyncio.Task[HeardEvent]) -> None:
        self._clicks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("%s: a click was not taken: %s", self.name, type(error).__name__)

    async def _bot_id(self) -> str:
        """Return the bot's own id, by which it is mentioned; its name could be anybody's."""
        if not self._bot:
            found = (await self._api.call("GET", "/open-apis/bot/v3/info")).get("bot") or {}
            self._bot = str(found.get("open_id") or "")
        return self._bot

    async def _is_ours(self, message_id: str) -> bool:
        """Return whether the bot sent a message."""
        try:
            found = await self._api.call("GET", f"{MESSAGES}/{quote(message_id, safe='')}")
        except FeishuRefusedError:
            return False
        items = (found.get("data") or {}).get("items") or ()
        return any((each.get("sender") or {}).get("id") == self._app_id for each in items)

    async def _send_file(self, message: OutgoingMessage, file: OutgoingFile) -> str:
        kind, content = await upload_file(self._api, file, message.text)
        if message.text and kind != "post":
            # Files have no words of their own here.
            await self._post(replace(message, key=f"{message.key}-words"), "post", make_post(message.text))
        return await self._post(message, kind, content)

    async def _post(self, message: OutgoingMessage, kind: str, content: str) -> str:
        body: dict[str, Any] = {"msg_type": kind, "content": content, "uuid": message.key}
        topic = message.thread_id.topic
        anchor = message.reply_to.partition(PRESS)[0] if message.reply_to else None
        if anchor is None and topic is not None:
            anchor = await self._find_anchor(topic)
        if anchor is not None:
            path = f"{MESSAGES}/{quote(anchor, safe='')}/reply"
            try:
                return _id_of(
                    await self._api.call("POST", path, {**body, "reply_in_thread": topic is not None})
                )
            except FeishuRefusedError as error:
                # What is answered was taken back; in a topic there is no other way in.
                if topic is not None or not _is_gone(error):
                    raise
        body["receive_id"] = message.chat_id
        return _id_of(await self._api.call("POST", MESSAGES, body, {"receive_id_type": "chat_id"}))

    async def _find_anchor(self, topic: str) -> str:
        """Return a message of a topic: one can only be answered, not written into."""
        query = {"container_id_type": "thread", "container_id": topic, "page_size": "1"}
        items = (await self._api.call("GET", MESSAGES, query=query))["data"].get("items") or ()
        for each in items:
            return str(each["message_id"])
        raise FeishuRefusedError(BAD_PARAMETER, "the topic holds no message")

    async def _change(self, sent_id: str, message: OutgoingMessage, *, is_plain: bool) -> None:
        self._edits.step(is_preview=message.kind == "preview")
        path = f"{MESSAGES}/{quote(sent_id, safe='')}"
        try:
            await self._api.call("PATCH", path, {"content": make_card(message, is_plain=is_plain)})
        except FeishuRefusedError as error:
            if error.code != NOT_A_CARD and "not a card" not in error.words.lower():
                raise
            content = make_post(message.text, is_plain=is_plain)
            await self._api.call("PUT", path, {"msg_type": "post", "content": content})


def _check(name: str, settings: FeishuSettings) -> None:
    """Refuse settings that are unsafe, or that lack what they need."""
    is_webhook = settings.mode == "webhook"
    if is_webhook and not (settings.encrypt_key and settings.verification_token):
        raise ConfigError(
            f"adapters.{name}: a webhook needs encryptKey and verificationToken, or anybody could speak for "
            "Feishu. Copy both from the app's page (Events & callbacks, Encryption strategy)."
        )
    module = "cryptography" if is_webhook else "websockets"
    if find_spec(module) is None:
        raise ConfigError(f"adapters.{name}: {module} is missing. Install shipmate[feishu].")
    if settings.domain not in ("feishu", "lark") and not settings.domain.startswith(("https://", "http://")):
        raise ConfigError(f"adapters.{name}.domain: write feishu, lark or an address.")


def _render(message: OutgoingMessage, *, is_plain: bool = False) -> tuple[str, str]:
    """Return the type and the content of a message."""
    if needs_card(message):
        return "interactive", make_card(message, is_plain=is_plain)
    return "post", make_post(message.text, is_plain=is_plain)


def _id_of(answer: JsonObject) -> str:
    found = (answer.get("data") or {}).get("message_id")
    if not found:
        raise SendError("Feishu took a message and does not say under which id")
    return str(found)


def _is_gone(error: FeishuRefusedError) -> bool:
    return error.code in GONE_CODES or (error.code == BAD_PARAMETER and "message_id" in error.words)
