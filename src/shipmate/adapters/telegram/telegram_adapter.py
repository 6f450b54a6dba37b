"""Speak to Telegram as a bot. docs/telegram.md tells how one is set up."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from shipmate.adapters.entity_markup import render
from shipmate.adapters.telegram.telegram_api import API_URL, TelegramApi, TelegramError
from shipmate.adapters.telegram.telegram_pace import TelegramPace
from shipmate.adapters.telegram.telegram_poller import Poller
from shipmate.adapters.telegram.telegram_update import (
    TelegramUpdate,
    TelegramUser,
    make_event,
    name_message,
)
from shipmate.adapters.telegram.telegram_webhook import Webhook
from shipmate.delivery.adapter import (
    Adapter,
    Hear,
    HookAnswer,
    HookRequest,
    OutgoingFile,
    OutgoingMessage,
)
from shipmate.delivery.splitting import measure
from shipmate.errors import (
    ConfigError,
    EditGoneError,
    SendError,
    SendLaterError,
    SendRefusedError,
    ShipmateError,
)
from shipmate.values.adapter_event import RemoteFile
from shipmate.values.event import AdapterCapabilities
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import AdapterSettings

TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{10,100}")
UNAUTHORIZED = frozenset((401, 404))
UNCHANGED = "message is not modified"
GONE = ("message to edit not found", "message can't be edited", "message_id_invalid")
TOLD_LENGTH = 200
CAPTION_LENGTH = 1024
PHOTOS = frozenset(("image/jpeg", "image/png", "image/webp"))
PHOTO_BYTES = 10 * 1024 * 1024
VOICES = frozenset(("audio/ogg", "audio/mpeg", "audio/mp4"))
log = logging.getLogger(__name__)


class TelegramSettings(AdapterSettings, frozen=True, kw_only=True):
    """The keys of a Telegram bot."""

    token: Annotated[str, Meta(description="what @BotFather gave you, as ${VARIABLE}")] = ""
    mode: Annotated[
        Literal["polling", "webhook"], Meta(description="whether Telegram is asked, or calls")
    ] = "polling"
    webhook_url: Annotated[str, Meta(description="where Telegram calls, ending in /hooks/<name>")] = ""
    secret: Annotated[str, Meta(description="what proves that Telegram calls, as ${VARIABLE}")] = ""
    api_url: Annotated[str, Meta(description="a Bot API server of your own")] = API_URL


class _MovedError(ShipmateError):
    """A group became a supergroup, which has another id; nothing was sent."""

    def __init__(self, chat_id: int) -> None:
        super().__init__("the group moved")
        self.chat_id = chat_id


class TelegramAdapter(Adapter):
    """One bot."""

    kind: ClassVar[str] = "telegram"
    settings_type: ClassVar[type[AdapterSettings]] = TelegramSettings

    def __init__(self, name: str, settings: TelegramSettings) -> None:
        if not TOKEN.fullmatch(settings.token):
            raise ConfigError(
                f"adapters.{name}.token must be the token that @BotFather gave you; "
                "write it as ${TELEGRAM_TOKEN} and set that variable."
            )
        self.name = name
        self.capabilities = AdapterCapabilities(
            supports_buttons=True,
            supports_threaded_replies=True,
            supports_edits=True,
            supports_voice=True,
            supports_files=True,
            max_message_chars=4096,
            counts="utf16",
            max_file_bytes=50 * 1024 * 1024,
            max_incoming_bytes=20 * 1024 * 1024,
        )
        self._api = TelegramApi(settings.api_url, settings.token)
        self._poller = Poller(name, self._api)
        is_called = settings.mode == "webhook"
        self._webhook = Webhook(name, settings.webhook_url, settings.secret) if is_called else None
        self._pace = TelegramPace()
        self._me: TelegramUser | None = None

    async def listen(self, hear: Hear) -> None:
        """Hear what is said to the bot."""
        try:
            await self._know_me()
            if self._webhook is not None:
                await self._webhook.announce(self._api)
            else:
                await self._poller.poll(lambda updates: self._take(updates, hear))
        except TelegramError as fault:
            if fault.code in UNAUTHORIZED:
                raise ConfigError(
                    f"Telegram does not know the token of adapters.{self.name} ({fault}); ask @BotFather."
                ) from None
            raise

    async def answer_hook(self, request: HookRequest, hear: Hear) -> HookAnswer:
        """Hear what Telegram calls about."""
        if self._webhook is None:
            return HookAnswer(status=404)
        return await self._webhook.answer(request, lambda updates: self._take(updates, hear))

    async def send(self, message: OutgoingMessage) -> str:
        """Send a message."""
        async with self._pace.keep(message.chat_id, is_preview=message.kind == "preview"):
            try:
                return await self._send(message, message.chat_id, _place(message))
            except _MovedError as moved:
                # What was answered has another number there.
                return await self._send(message, str(moved.chat_id), _topic(message.thread_id))

    async def _send(self, message: OutgoingMessage, chat_id: str, place: dict[str, Any]) -> str:
        values = {"chat_id": chat_id, **place, **_keys(message)}
        if message.file is not None:
            sent = await self._upload(message.file, message.text, values)
        else:
            sent = await self._write("sendMessage", message.text, values)
        return name_message(chat_id, int(sent["message_id"]))

    async def edit(self, sent_id: str, message: OutgoingMessage) -> None:
        """Change a message."""
        chat_id, _, number = sent_id.rpartition(".")
        if not number.isdecimal():
            raise EditGoneError
        values = {"chat_id": chat_id, "message_id": int(number), **_keys(message)}
        async with self._pace.keep(chat_id, is_preview=message.kind == "preview"):
            try:
                await self._write("editMessageText", message.text, values)
            except _MovedError:
                raise EditGoneError from None

    async def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of a file that was sent to the bot."""
        found = await self._api.call("getFile", file_id=file.id)
        async with aclosing(self._api.download(str(found.get("file_path", "")))) as pieces:
            async for piece in pieces:
                yield piece

    async def show_working(self, thread_id: ThreadId) -> None:
        """Show that the bot is typing."""
        await self._api.call(
            "sendChatAction", chat_id=thread_id.scope_id, action="typing", **_topic(thread_id)
        )

    async def close(self) -> None:
        """Let go of connections."""
        await self._api.close()

    async def _know_me(self) -> TelegramUser:
        if self._me is None:
            self._me = msgspec.convert(await self._api.call("getMe"), TelegramUser)
        return self._me

    async def _take(self, updates: Sequence[TelegramUpdate], hear: Hear) -> None:
        event = make_event(self.name, await self._know_me(), updates)
        if event is None:
            return
        heard = await hear(event)
        if press := updates[0].callback_query:
            try:
                await self._api.call(
                    "answerCallbackQuery", callback_query_id=press.id, text=heard.told[:TOLD_LENGTH] or None
                )
            except TelegramError as fault:
                # Only a waiting mark on a button; what was pressed is on disk.
                log.info("%s: a pressed button was not answered: %s", self.name, fault)

    async def _write(self, method: str, markdown: str, values: dict[str, Any]) -> dict[str, Any]:
        """Send or change words; when their looks are refused, plainly."""
        text, entities = render(markdown)
        try:
            return await self._api.call(method, text=text, entities=entities or None, **values)
        except TelegramError as fault:
            if not (entities and fault.code == 400 and "entit" in str(fault).lower()):
                return _explain(fault)
        try:
            return await self._api.call(method, text=markdown, **values)
        except TelegramError as fault:
            return _explain(fault)

    async def _upload(self, file: OutgoingFile, caption: str, values: dict[str, Any]) -> dict[str, Any]:
        """Send a file in the form in which Telegram shows it; what it refuses as a picture, as a file."""
        text, entities = render(caption) if caption else ("", [])
        if measure("utf16")(text) > CAPTION_LENGTH:
            raise SendRefusedError(f"what is said about a file may have {CAPTION_LENGTH} characters")
        given = {**values, "caption": text or None, "caption_entities": entities or None}
        kind = _choose_kind(file)
        try:
            try:
                return await self._api.upload(f"send{kind.title()}", kind, file, **given)
            except TelegramError as fault:
                if kind == "document" or fault.code != 400:
                    raise
            return await self._api.upload("sendDocument", "document", file, **given)
        except TelegramError as fault:
            return _explain(fault)


def _choose_kind(file: OutgoingFile) -> str:
    if file.is_voice and file.media_type in VOICES:
        return "voice"
    return "photo" if file.media_type in PHOTOS and file.size <= PHOTO_BYTES else "document"


def _explain(fault: TelegramError) -> dict[str, Any]:
    """Say of a send whether it surely did not happen; a change that changes nothing is none."""
    words = str(fault).lower()
    if fault.moved_to is not None:
        raise _MovedError(fault.moved_to) from None
    if UNCHANGED in words:
        return {}
    if any(gone in words for gone in GONE):
        raise EditGoneError from None
    if fault.is_unsent or fault.code in (*UNAUTHORIZED, 429):
        raise SendLaterError(str(fault), retry_after=fault.retry_after) from None
    if fault.is_refused:
        raise SendRefusedError(str(fault)) from None
    raise SendError(str(fault)) from None


def _place(message: OutgoingMessage) -> dict[str, Any]:
    """Return where in a chat a message goes: into a topic, and as the answer to another."""
    values = _topic(message.thread_id)
    chat_id, _, number = (message.reply_to or "").partition(".")
    if chat_id == message.chat_id and (number := number.partition(".")[0]).isdecimal():
        values["reply_parameters"] = {"message_id": int(number), "allow_sending_without_reply": True}
    return values


def _topic(thread_id: ThreadId) -> dict[str, Any]:
    topic = thread_id.topic
    return {"message_thread_id": int(topic)} if topic and topic.isdecimal() else {}


def _keys(message: OutgoingMessage) -> dict[str, Any]:
    if not message.buttons:
        return {}
    rows = [[{"text": each.label, "callback_data": each.data} for each in row] for row in message.buttons]
    return {"reply_markup": {"inline_keyboard": rows}}
