"""Speak to Slack: over socket mode, which needs no address of one's own, or by webhook. See docs/slack.md."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from shipmate.adapters.file_form import read_pieces
from shipmate.adapters.mrkdwn import escape, list_mentions, read_mrkdwn, write_mrkdwn
from shipmate.adapters.name_book import NameBook
from shipmate.adapters.platform_link import PlatformLink, check_sockets
from shipmate.delivery.adapter import Adapter, Hear, HookAnswer, HookRequest, OutgoingFile, OutgoingMessage
from shipmate.delivery.splitting import split
from shipmate.errors import ConfigError, EditGoneError, SendError, SendLaterError, SendRefusedError
from shipmate.models.wire.http.outgoing import StreamedContent
from shipmate.models.wire.wire_json import decode_json
from shipmate.values.adapter_event import AdapterEvent, Chat, RemoteFile, Speaker
from shipmate.values.event import AdapterCapabilities
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.config import AdapterSettings

API_URL = "https://slack.com/api"
SECRET = re.compile(r"[\w.-]{10,500}", re.ASCII)
FORM = "application/x-www-form-urlencoded"
# How far the time of a signature may lie from ours.
SIGNATURE_SECONDS = 300
# Nobody waits long for words about a button: the press has to be confirmed within 3 seconds.
WAIT_SECONDS = 1.0
# Where to look whether a message arrived: so many pages of so many messages.
PAGES, PAGE = 5, 200
LABEL_LENGTH, NOTICE_LENGTH = 75, 600
# So many people of one message are asked for their names.
NAMED = 5
# Messages of people and bots; all other subtypes tell of joins, topics and the like.
SAID = frozenset({None, "bot_message", "file_share", "me_message", "thread_broadcast"})
TOKEN_CODES = frozenset({"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"})
UNSURE_CODES = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
GONE_CODES = ("message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found")
MARKUP_CODES = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
log = logging.getLogger(__name__)


class SlackSettings(AdapterSettings, frozen=True, kw_only=True):
    """The keys of an app on Slack."""

    token: Annotated[str, Meta(description="the bot's token, xoxb-…, as ${VARIABLE}")] = ""
    mode: Annotated[Literal["websocket", "webhook"], Meta(description="how events arrive")] = "websocket"
    app_token: Annotated[str, Meta(description="for websocket: xapp-…, as ${VARIABLE}")] = ""
    signing_secret: Annotated[str, Meta(description="for webhook: what Slack signs with")] = ""
    api_url: Annotated[str, Meta(description="another address of Slack's interface")] = API_URL


class SlackRefusedError(SendRefusedError):
    """Slack refused this. Its word for why stands in its documentation."""

    def __init__(self, code: str, needed: str = "") -> None:
        super().__init__(f"Slack refused it: {code}{f' (needs {needed})' if needed else ''}")
        self.code = code


class SlackAdapter(Adapter):
    """The bot of one app."""

    kind: ClassVar[str] = "slack"
    settings_type: ClassVar[type[AdapterSettings]] = SlackSettings

    def __init__(self, name: str, settings: SlackSettings) -> None:
        super().__init__(name, settings)
        is_webhook = settings.mode == "webhook"
        more = {"signingSecret": settings.signing_secret} if is_webhook else {"appToken": settings.app_token}
        for key, value in {"token": settings.token, **more}.items():
            if not SECRET.fullmatch(value):
                raise ConfigError(
                    f"adapters.{name}.{key}: copy it from the page of the app at api.slack.com/apps, and "
                    "write it as ${VARIABLE}; without it nobody could tell who speaks."
                )
        if not is_webhook:
            check_sockets(name)
        self.capabilities = AdapterCapabilities(
            supports_buttons=True,
            supports_edits=True,
            supports_files=True,
            supports_voice=True,
            # What one section of a message holds.
            max_message_chars=3000,
            counts="utf16",
            max_file_bytes=1024**3,
            # Fifty changes a minute are sure, in all chats together.
            edit_seconds=2.5,
            can_find_sends=True,
        )
        self._settings = settings
        self._link = PlatformLink(settings.api_url)
        self._me = ""
        self._names = NameBook()
        # Signatures of late, and when they were heard.
        self._heard: dict[str, float] = {}

    async def listen(self, hear: Hear) -> None:
        """Hear Slack over a socket; a webhook is heard by the server."""
        if self._settings.mode == "webhook":
            await asyncio.get_running_loop().create_future()
        while await self._talk(hear):
            pass
        raise SendError("Slack ended the connection before anything was said")

    async def answer_hook(self, request: HookRequest, hear: Hear) -> HookAnswer:
        """Take an event; whatever is not surely Slack's own, and new, is refused."""
        signature = request.headers.get("x-slack-signature", "")
        if self._settings.mode != "webhook" or not self._is_signed(request, signature):
            return HookAnswer(status=403)
        body = request.body
        if request.headers.get("content-type", "").startswith(FORM):
            body = parse_qs(body.decode("utf-8", "replace")).get("payload", [""])[0].encode()
        payload = None
        with suppress(msgspec.DecodeError):
            payload = decode_json(body)
        if not isinstance(payload, dict):
            return HookAnswer(status=400)
        if payload.get("type") == "url_verification":
            return HookAnswer(body=msgspec.json.encode({"challenge": payload.get("challenge")}))
        await self._take(payload, hear)
        # Only now: what could not be taken may come again as it is.
        now = time.time()
        kept = {each: at for each, at in self._heard.items() if now - at < 2 * SIGNATURE_SECONDS}
        self._heard = {**kept, signature: now}
        return HookAnswer()

    async def send(self, message: OutgoingMessage) -> str:
        """Send words, or a file with words."""
        if message.file is not None:
            return await self._share(message, message.file)
        place = {"channel": message.chat_id, "thread_ts": message.thread_id.topic}
        sent = await self._write("chat.postMessage", message, **place, unfurl_links=False, unfurl_media=False)
        return f"{message.chat_id}.{sent['ts']}"

    async def edit(self, sent_id: str, message: OutgoingMessage) -> None:
        """Change a message; what is said about a file stays."""
        if message.file is not None:
            return
        channel, _, at = sent_id.partition(".")
        try:
            await self._write("chat.update", message, channel=channel, ts=at)
        except SlackRefusedError as error:
            if error.code in GONE_CODES:
                raise EditGoneError from None
            raise

    async def find(self, message: OutgoingMessage) -> str | None:
        """Look for a message of which a block has this key."""
        place, cursor = {"channel": message.chat_id, "ts": message.thread_id.topic}, None
        method = "conversations.replies" if message.thread_id.topic else "conversations.history"
        for _ in range(PAGES):
            found = await self._call(method, **place, limit=PAGE, cursor=cursor)
            for each in found.get("messages") or ():
                if any(block.get("block_id") == message.key for block in each.get("blocks") or ()):
                    return f"{message.chat_id}.{each['ts']}"
            cursor = (found.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return None
        raise SendError("too much was said since then for Slack to be asked about this message")

    async def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of a file."""
        found = (await self._call("files.info", file=file.id)).get("file") or {}
        url = str(found.get("url_private_download") or found.get("url_private") or "")
        host = urlsplit(url).hostname or ""
        # The token goes nowhere else.
        if not (host.endswith(".slack.com") or host == urlsplit(self._settings.api_url).hostname):
            raise SlackRefusedError("file_not_found")
        async for piece in self._link.pieces(url, {"authorization": f"Bearer {self._settings.token}"}):
            yield piece

    async def close(self) -> None:
        """Let go of connections."""
        await self._link.close()

    async def _talk(self, hear: Hear) -> bool:
        """Connect, and confirm what comes until the end; return whether there was a greeting."""
        place = await self._call("apps.connections.open")
        socket, is_greeted = await self._link.connect(str(place["url"])), False
        try:
            async for frame in socket.frames():
                match frame.get("type"):
                    case "hello":
                        is_greeted = True
                    case "disconnect" if frame.get("reason") == "link_disabled":
                        raise ConfigError(f"Switch the socket mode of adapters.{self.name} on, on its page.")
                    case "disconnect":
                        break
                    case _:
                        await self._take(frame.get("payload"), hear)
                        await socket.say({"envelope_id": frame.get("envelope_id")})
        finally:
            await socket.close()
        return is_greeted

    def _is_signed(self, request: HookRequest, signature: str) -> bool:
        """Return whether a request is Slack's, of now, and was not heard before."""
        at, now = request.headers.get("x-slack-request-timestamp", ""), time.time()
        signed = b"v0:%b:%b" % (at.encode("utf-8", "replace"), request.body)
        made = f"v0={hmac.new(self._settings.signing_secret.encode(), signed, hashlib.sha256).hexdigest()}"
        if not hmac.compare_digest(made.encode(), signature.encode("utf-8", "replace")):
            return False
        is_now = at.isascii() and at.isdigit() and abs(now - int(at)) <= SIGNATURE_SECONDS
        return is_now and signature not in self._heard

    async def _take(self, payload: Any, hear: Hear) -> None:
        """Pass on what happened; whatever is raised, it did not arrive."""
        try:
            event = await self._read(payload)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            # Told again it would be no better.
            log.warning("%s: an event cannot be read: %r", self.name, error)
            return
        if event is None:
            return
        heard = await hear(event)
        if event.pressed is not None and heard.told:
            values = {"channel": event.chat.id, "user": event.speaker.id, "thread_ts": event.chat.topic}
            with suppress(SendError, TimeoutError):
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._call("chat.postEphemeral", **values, text=escape(heard.told))

    async def _read(self, payload: JsonObject) -> AdapterEvent | None:
        if payload.get("type") == "block_actions":
            return await self._read_press(payload)
        event = payload.get("event") or {}
        if event.get("type") not in ("message", "app_mention"):
            return None
        place = {"channel": event["channel"], "channel_type": event.get("channel_type")}
        old = event.get("previous_message") or {}
        match event.get("subtype"):
            case "message_changed" if event["message"].get("subtype") != "tombstone":
                at = (event["message"].get("edited") or {}).get("ts")
                # Links that begin to show what is behind them are told as changes, too.
                if at is None or at == (old.get("edited") or {}).get("ts"):
                    return None
                made = await self._read_message({**event["message"], **place})
                return replace(made, message_id=f"{made.message_id}.edit.{at}", changes=made.message_id)
            case "message_deleted" | "message_changed" if old:
                made = await self._read_message({**old, **place})
                name = made.message_id
                return replace(made, message_id=f"{name}.delete", changes=name, is_deletion=True)
            case subtype if subtype in SAID:
                return await self._read_message(event)
            case _:
                return None

    async def _read_message(self, value: JsonObject) -> AdapterEvent:
        channel, at, text = value["channel"], value["ts"], value.get("text") or ""
        me, thread = await self._know_me(), value.get("thread_ts")
        is_private = value.get("channel_type") == "im" or channel.startswith("D")
        files = tuple(
            RemoteFile(
                id=each["id"],
                media_type=each.get("mimetype") or "application/octet-stream",
                filename=each.get("name") or "file",
                size=each.get("size"),
            )
            for each in value.get("files") or ()
        )
        is_voice = bool(files) and value["files"][0].get("subtype") == "slack_audio"
        user = value.get("user") or value.get("bot_id") or ""
        is_bot = bool(value.get("bot_id")) or user in (me, "USLACKBOT")
        # Whoever asks in a channel is answered in a thread below: each is a conversation of its own.
        topic = thread if thread and thread != at else None if is_private or is_bot else at
        people = [] if is_bot else [user, *list_mentions(text)][:NAMED]
        names = {each: await self._find_name("user", each) or each for each in people} | {me: ""}
        title = "" if is_private or is_bot else await self._find_name("channel", channel)
        return AdapterEvent(
            platform=self.name,
            chat=Chat(id=channel, kind="dm" if is_private else "group", topic=topic, title=title),
            speaker=Speaker(id=user, name="" if is_bot else names[user], is_bot=is_bot),
            message_id=f"{channel}.{at}",
            timestamp=timestamp(datetime.fromtimestamp(float(at), UTC)),
            text=read_mrkdwn(text, names),
            files=() if is_voice else files,
            voice=files[0] if is_voice else None,
            is_addressed=is_private or f"<@{me}" in text or value.get("parent_user_id") == me,
            reply_to=f"{channel}.{thread}" if thread and thread != at else None,
        )

    async def _read_press(self, payload: JsonObject) -> AdapterEvent:
        action, asked = payload["actions"][0], payload["message"]
        made = await self._read_message({**asked, "channel": payload["channel"]["id"]})
        return AdapterEvent(
            platform=self.name,
            chat=made.chat,
            speaker=Speaker(id=payload["user"]["id"], name=payload["user"].get("name") or ""),
            message_id=f"{made.message_id}.press.{action['action_ts']}",
            timestamp=timestamp(),
            pressed=str(action["value"]),
            reply_to=made.message_id,
        )

    async def _know_me(self) -> str:
        self._me = self._me or str((await self._call("auth.test"))["user_id"])
        return self._me

    async def _find_name(self, kind: Literal["user", "channel"], name: str) -> str:
        async def ask() -> str:
            method = "users.info" if kind == "user" else "conversations.info"
            found = (await self._call(method, **{kind: name})).get(kind) or {}
            profile = found.get("profile") or {}
            return str(profile.get("display_name") or profile.get("real_name") or found.get("name") or "")

        return await self._names.find(name, ask) if name else ""

    async def _write(self, method: str, message: OutgoingMessage, **values: Any) -> JsonObject:
        """Send or change words; when their looks are refused, plainly."""
        try:
            notice = escape(message.text[:NOTICE_LENGTH])
            return await self._call(method, **values, text=notice, blocks=self._make_blocks(message))
        except SlackRefusedError as error:
            if error.code not in MARKUP_CODES:
                raise
        return await self._call(method, **values, text=escape(message.text))

    def _make_blocks(self, message: OutgoingMessage) -> list[JsonObject]:
        words = write_mrkdwn(message.text or (message.file.filename if message.file else ""))
        blocks: list[JsonObject] = [
            {"type": "section", "text": {"type": "mrkdwn", "text": each}, "expand": True}
            for each in split(words, self.capabilities) or [words]
        ]
        # By this the message is found again.
        blocks[0]["block_id"] = message.key
        for number, row in enumerate(message.buttons):
            elements: list[JsonObject] = []
            for place, each in enumerate(row):
                label = {"type": "plain_text", "text": each.label[:LABEL_LENGTH]}
                name = f"{number}.{place}"
                elements.append({"type": "button", "text": label, "action_id": name, "value": each.data})
            blocks.append({"type": "actions", "elements": elements})
        return blocks

    async def _share(self, message: OutgoingMessage, file: OutgoingFile) -> str:
        """Upload a file, and show it once it is there."""
        try:
            place = await self._call("files.getUploadURLExternal", filename=file.filename, length=file.size)
            content = StreamedContent(file.size, lambda: read_pieces(file))
            kind = {"content-type": "application/octet-stream"}
            answer = await self._link.ask("POST", str(place["upload_url"]), kind, content)
            if answer.status != 200:
                raise SendError(f"Slack answered {answer.status} to a file")
        except SendError as error:
            if isinstance(error, SendRefusedError):
                raise
            # Nobody sees it yet.
            raise SendLaterError(str(error), retry_after=getattr(error, "retry_after", None)) from None
        await self._call(
            "files.completeUploadExternal",
            files=[{"id": place["file_id"], "title": file.filename}],
            channel_id=message.chat_id,
            thread_ts=message.thread_id.topic,
            blocks=self._make_blocks(message),
        )
        return f"{message.chat_id}.{place['file_id']}"

    async def _call(self, method: str, /, **values: Any) -> JsonObject:
        """Call a method; raise SendLaterError or SlackRefusedError when surely nothing was done."""
        given = {
            key: each if isinstance(each, str) else msgspec.json.encode(each)
            for key, each in values.items()
            if each is not None
        }
        token = self._settings.app_token if method.startswith("apps.") else self._settings.token
        headers = {"authorization": f"Bearer {token}", "content-type": FORM}
        content = urlencode(given, errors="replace").encode()
        answer = await self._link.ask("POST", f"/{method}", headers, content)
        value: JsonObject = answer.value if isinstance(answer.value, dict) else {}
        code = str(value.get("error") or "")
        if answer.status >= 300:
            raise answer.trouble(f"Slack answered {answer.status} {code}")
        if value.get("ok") is True:
            return value
        if code in TOKEN_CODES:
            words = f"Slack does not let adapters.{self.name} in ({code}); copy its tokens anew"
            raise SendLaterError(words, everywhere=True)
        if not code or code in UNSURE_CODES:
            raise SendError(f"Slack answered {code or 'nothing'}, and nobody knows what came of it")
        raise SlackRefusedError(code, str(value.get("needed") or ""))
