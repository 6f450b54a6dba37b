"""Speak to Discord: its gateway tells what is said, its REST interface sends. See docs/discord.md."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from shipmate.adapters.file_form import make_form
from shipmate.adapters.platform_link import PlatformLink, PlatformSocket, check_sockets
from shipmate.delivery.adapter import Adapter, Hear, OutgoingFile, OutgoingMessage
from shipmate.errors import ConfigError, EditGoneError, SendError, SendLaterError, SendRefusedError
from shipmate.values.adapter_event import AdapterEvent, Chat, RemoteFile, Speaker
from shipmate.values.event import AdapterCapabilities
from shipmate.values.message import JsonObject, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import AdapterSettings

API_URL = "https://discord.com/api/v10"
TOKEN = re.compile(r"[\w.-]{20,200}", re.ASCII)
# Servers with their channels, messages in them, private messages, and what messages say.
INTENTS = 1 << 0 | 1 << 9 | 1 << 12 | 1 << 15
# Ends a connection, but not its session; 1000 would.
LEAVING = 4000
AGENT = "DiscordBot (shipmate, 1)"
PROPERTIES = {"os": "linux", "browser": "shipmate", "device": "shipmate"}
NEW_SESSION_CODES = frozenset({1000, 4003, 4007, 4009})
FATAL_CODES = {
    4004: "Discord does not know the token of adapters.{name}. Reset it on the page of the bot.",
    4014: "Switch the Message Content Intent of adapters.{name} on, on the page of the bot.",
}
# How many seconds to wait before a session is gone on with, and before another one is begun.
RESUME_PAUSE, IDENTIFY_PAUSE = (0.0, 0.5), (1.0, 5.0)
# Words and replies; all others tell of pins, joins and the like.
SAID = frozenset({0, 19})
THREADS = frozenset({10, 11, 12})
VOICE_FLAG = 1 << 13
# Nobody fetches a link that a member was made to write, and nobody is called up but whoever is answered.
QUIET = {"flags": 1 << 2, "allowed_mentions": {"parse": [], "replied_user": True}}
PRESSED = 3
# What a press is answered: that it was heard; and words that only who pressed sees.
DEFERRED, ONLY_THEM = {"type": 6}, 1 << 6
ROW_LENGTH, LABEL_LENGTH, NONCE_LENGTH = 5, 80, 25
# Messages whose speakers are remembered, and channels that are known.
REMEMBERED = 1000
# Channels in which a new session looks for what it missed.
CHANNELS = 50
MENTION = re.compile(r"<@!?(\d+)>")
log = logging.getLogger(__name__)


class DiscordSettings(AdapterSettings, frozen=True, kw_only=True):
    """The keys of a bot on Discord."""

    token: Annotated[str, Meta(description="the bot's token, as ${VARIABLE}")] = ""
    api_url: Annotated[str, Meta(description="another address of Discord's interface")] = API_URL


class DiscordGoneError(SendRefusedError):
    """Discord knows no such message, channel or file."""


class DiscordAdapter(Adapter):
    """One bot."""

    kind: ClassVar[str] = "discord"
    settings_type: ClassVar[type[AdapterSettings]] = DiscordSettings

    def __init__(self, name: str, settings: DiscordSettings) -> None:
        super().__init__(name, settings)
        if not TOKEN.fullmatch(settings.token):
            raise ConfigError(
                f"adapters.{name}.token must be the token from the Bot page of discord.com/developers; "
                "write it as ${DISCORD_TOKEN} and set that variable."
            )
        check_sockets(name)
        self.capabilities = AdapterCapabilities(
            supports_buttons=True,
            supports_threaded_replies=True,
            supports_edits=True,
            supports_files=True,
            supports_voice=True,
            # Discord counts code points.
            max_message_chars=2000,
            max_file_bytes=10 * 1024 * 1024,
            edit_seconds=1.5,
            # "The past few minutes", as Discord says of what it knows the keys of.
            keeps_keys_seconds=120.0,
        )
        self._link = PlatformLink(settings.api_url)
        self._token = settings.token
        # Until when no more is taken, by method and channel.
        self._full: dict[str, float] = {}
        self._me = self._session = self._resume_url = ""
        # The last event that is on disk.
        self._sequence: int | None = None
        self._is_ready = self._is_heard = False
        self._chats: dict[str, Chat] = {}
        # The last messages, oldest first: whose they were, to know it when they are taken back.
        self._recent: OrderedDict[str, AdapterEvent] = OrderedDict()

    async def listen(self, hear: Hear) -> None:
        """Hear the gateway; whatever ends a connection, the session goes on where it was."""
        while True:
            session, self._is_ready = self._session, False
            await self._talk(hear)
            if not self._is_ready and self._session == session:
                # Only so many sessions may be begun in a day: pauses between tries have to grow.
                raise SendError("Discord's gateway ended the connection before anything was said")
            pause = RESUME_PAUSE if self._session else IDENTIFY_PAUSE
            await asyncio.sleep(random.uniform(*pause))  # noqa: S311  (no secret)

    async def send(self, message: OutgoingMessage) -> str:
        """Send a message; one with a key that Discord knows is the one it has."""
        channel = message.thread_id.topic or message.chat_id
        body: JsonObject = {**_write(message), "nonce": message.key[-NONCE_LENGTH:], "enforce_nonce": True}
        place, *numbers = (message.reply_to or "").split(".")
        if place == channel and numbers:
            body["message_reference"] = {"message_id": numbers[0], "fail_if_not_exists": False}
        sent = await self._call("POST", f"/channels/{channel}/messages", body, message.file)
        if not sent.get("id"):
            raise SendError("Discord took a message and does not say under which id")
        return f"{channel}.{sent['id']}"

    async def edit(self, sent_id: str, message: OutgoingMessage) -> None:
        """Change a message; its file stays."""
        channel, _, number = sent_id.partition(".")
        try:
            await self._call("PATCH", f"/channels/{channel}/messages/{number}", _write(message))
        except DiscordGoneError:
            raise EditGoneError from None

    async def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of a file; its address is asked for anew, as each is good for a day."""
        path, _, number = file.id.rpartition("/")
        found = await self._call("GET", path)
        url = next((each["url"] for each in found.get("attachments") or () if each["id"] == number), None)
        if url is None:
            raise DiscordGoneError(f"{file.filename} is not there any more.")
        # It lies elsewhere, where nobody may see the token.
        async for piece in self._link.pieces(url):
            yield piece

    async def show_working(self, thread_id: ThreadId) -> None:
        """Show that the bot is typing."""
        await self._call("POST", f"/channels/{thread_id.topic or thread_id.scope_id}/typing")

    async def close(self) -> None:
        """Let go of connections."""
        await self._link.close()

    async def _talk(self, hear: Hear) -> None:
        """Connect, and hear what comes until the connection ends."""
        url = (self._session and self._resume_url) or await self._find_gateway()
        # One that cannot be reached any more is not tried again.
        self._resume_url = ""
        # Beats of Discord's own tell whether anybody is there.
        socket = await self._link.connect(f"{url.rstrip('/')}/?v=10&encoding=json", ping_interval=None)
        beat: asyncio.Task[None] | None = None
        try:
            async for frame in socket.frames():
                match frame.get("op"):
                    case 0:  # Something happened.
                        await self._take(str(frame.get("t")), frame.get("d") or {}, hear)
                        # Only now that it is on disk; whoever comes back is told all that follows.
                        self._sequence = frame.get("s")
                    case 1:  # Asked for a beat.
                        await socket.say({"op": 1, "d": self._sequence})
                    case 7:  # Asked to come back.
                        return
                    case 9:  # The session is over, or cannot be gone on with yet.
                        self._session = self._session if frame.get("d") else ""
                        return
                    case 10:  # Hello.
                        seconds = frame["d"]["heartbeat_interval"] / 1000
                        beat = beat or asyncio.create_task(self._beat(socket, seconds))
                        await self._greet(socket)
                    case 11:  # A beat was heard.
                        self._is_heard = True
                    case _:
                        pass
        finally:
            if beat is not None:
                beat.cancel()
            await socket.close(LEAVING)
        if words := FATAL_CODES.get(socket.code):
            raise ConfigError(words.format(name=self.name))
        if socket.code in NEW_SESSION_CODES:
            self._session = ""

    async def _find_gateway(self) -> str:
        found = await self._call("GET", "/gateway/bot")
        if not self._session and found["session_start_limit"]["remaining"] == 0:
            raise SendError("Discord lets this bot begin no more sessions today")
        return str(found["url"])

    async def _greet(self, socket: PlatformSocket) -> None:
        if self._session:
            code, more = 6, {"session_id": self._session, "seq": self._sequence}
        else:
            code, more, self._sequence = 2, {"intents": INTENTS, "properties": PROPERTIES}, None
        await socket.say({"op": code, "d": {"token": self._token, **more}})

    async def _beat(self, socket: PlatformSocket, seconds: float) -> None:
        await asyncio.sleep(seconds * random.random())  # noqa: S311  (no secret)
        self._is_heard = True
        while self._is_heard:
            self._is_heard = False
            await socket.say({"op": 1, "d": self._sequence})
            await asyncio.sleep(seconds)
        await socket.close(LEAVING)

    async def _take(self, kind: str, value: JsonObject, hear: Hear) -> None:
        """Pass on what happened; whatever is raised, it did not arrive."""
        if kind == "READY":
            self._me, self._session = value["user"]["id"], value["session_id"]
            self._resume_url, self._is_ready = value["resume_gateway_url"], True
            await self._catch_up(hear)
        self._is_ready = self._is_ready or kind == "RESUMED"
        is_press = kind == "INTERACTION_CREATE" and value.get("type") == PRESSED
        if is_press:
            # At once, as Discord waits for 3 seconds; what it tells, it tells until that is on disk.
            await self._answer_press("interactions/{id}/{token}/callback", value, DEFERRED)
        try:
            events = await self._read(kind, value)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # Told again it would be no better.
            log.warning("%s: a %s cannot be read: %r", self.name, kind, error)
            return
        for event in events:
            heard = await hear(event)
            if kind == "MESSAGE_CREATE":
                self._recent[event.message_id] = event
                if len(self._recent) > REMEMBERED:
                    self._recent.popitem(last=False)
            if is_press and heard.told:
                told = {"content": heard.told, "flags": ONLY_THEM}
                await self._answer_press("webhooks/{application_id}/{token}", value, told)

    async def _read(self, kind: str, value: JsonObject) -> list[AdapterEvent]:
        is_said = value.get("type", 0) in SAID
        match kind:
            case "MESSAGE_CREATE" if is_said:
                return [await self._read_message(value)]
            # Links that begin to show what is behind them are told as edits, too.
            case "MESSAGE_UPDATE" if is_said and (at := value.get("edited_timestamp")):
                event = await self._read_message(value)
                return [replace(event, message_id=f"{event.message_id}.edit.{at}", changes=event.message_id)]
            case "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK":
                names = [f"{value['channel_id']}.{each}" for each in value.get("ids") or [value["id"]]]
                # What was said before this process began is answered, or soon is.
                return [
                    replace(self._recent[name], message_id=f"{name}.delete", changes=name, is_deletion=True)
                    for name in names
                    if name in self._recent
                ]
            case "INTERACTION_CREATE" if value.get("type") == PRESSED:
                asked = await self._read_message({**value["message"], "guild_id": value.get("guild_id")})
                member = value.get("member") or {}
                event = AdapterEvent(
                    platform=self.name,
                    chat=asked.chat,
                    speaker=_read_speaker({"author": value.get("user") or member["user"], "member": member}),
                    message_id=f"{asked.message_id}.press.{value['id']}",
                    timestamp=timestamp(),
                    pressed=str(value["data"]["custom_id"]),
                    reply_to=asked.message_id,
                )
                return [event]
            case "CHANNEL_UPDATE" | "THREAD_UPDATE":
                self._chats.pop(value["id"], None)
            case _:
                pass
        return []

    async def _read_message(self, value: JsonObject) -> AdapterEvent:
        channel, number = value["channel_id"], value["id"]
        chat = await self._find_chat(channel, value.get("guild_id"))
        names = {
            each["id"]: each.get("global_name") or each["username"] for each in value.get("mentions") or ()
        }
        files = tuple(
            RemoteFile(
                id=f"/channels/{channel}/messages/{number}/{each['id']}",
                media_type=(each.get("content_type") or "application/octet-stream").partition(";")[0],
                filename=each["filename"],
                size=each.get("size"),
            )
            for each in value.get("attachments") or ()
        )
        is_voice = bool(value.get("flags", 0) & VOICE_FLAG and files)
        answered = value.get("referenced_message")
        is_answer = bool(answered and answered["author"]["id"] == self._me)

        def show(found: re.Match[str]) -> str:
            return "" if found[1] == self._me else f"@{names.get(found[1], found[1])}"

        return AdapterEvent(
            platform=self.name,
            chat=chat,
            speaker=_read_speaker(value),
            message_id=f"{channel}.{number}",
            timestamp=timestamp(datetime.fromisoformat(value["timestamp"])),
            text=MENTION.sub(show, value["content"]).strip(),
            files=() if is_voice else files,
            voice=files[0] if is_voice else None,
            is_addressed=chat.kind == "dm" or self._me in names or is_answer,
            reply_to=f"{answered['channel_id']}.{answered['id']}" if answered else None,
        )

    async def _catch_up(self, hear: Hear) -> None:
        """Ask what was said since the last message of each channel: a new session tells nothing of before."""
        last = {name.partition(".")[0]: event for name, event in self._recent.items()}
        for channel, event in [*last.items()][-CHANNELS:]:
            path = f"/channels/{channel}/messages?limit=100&after={event.message_id.partition('.')[2]}"
            with suppress(SendRefusedError):
                for value in reversed(await self._call("GET", path)):
                    # Only the gateway tells the server of a message.
                    given = {**value, "guild_id": None if event.chat.kind == "dm" else "0"}
                    await self._take("MESSAGE_CREATE", given, hear)

    async def _find_chat(self, channel: str, guild: str | None) -> Chat:
        """Return a chat; what is said in a thread belongs to the channel that the thread is in."""
        if guild is None:
            return Chat(id=channel)
        if channel not in self._chats:
            found: JsonObject = {}
            with suppress(SendRefusedError):
                found = await self._call("GET", f"/channels/{channel}")
            parent = found.get("parent_id") if found.get("type") in THREADS else None
            topic, title = channel if parent else None, found.get("name") or ""
            if len(self._chats) >= REMEMBERED:
                self._chats.clear()
            self._chats[channel] = Chat(id=parent or channel, kind="group", topic=topic, title=title)
        return self._chats[channel]

    async def _answer_press(self, path: str, press: JsonObject, body: JsonObject) -> None:
        try:
            await self._call("POST", f"/{path.format(**press)}", body)
        except (SendError, KeyError) as error:
            # Only a waiting mark on a button.
            log.info("%s: a pressed button was not answered: %s", self.name, error)

    async def _call(self, method: str, path: str, body: Any = None, file: OutgoingFile | None = None) -> Any:
        """Ask for something; raise SendLaterError or SendRefusedError when surely nothing was done."""
        route = f"{method} {path.partition('/messages')[0]}"
        now = asyncio.get_running_loop().time()
        if (wait := self._full.get(route, 0.0) - now) > 0:
            raise SendLaterError("Discord takes no more for now", retry_after=wait)
        kind, content = "application/json", msgspec.json.encode(body) if body is not None else b""
        if file is not None:
            kind, content = make_form("files[0]", file, {"payload_json": body})
        headers = {"authorization": f"Bot {self._token}", "content-type": kind, "user-agent": AGENT}
        answer = await self._link.ask(method, path, headers, None if method == "GET" else content)
        if answer.headers.get("x-ratelimit-remaining") == "0":
            self._full = {key: until for key, until in self._full.items() if until > now}
            self._full[route] = now + float(answer.headers.get("x-ratelimit-reset-after") or 0)
        if answer.status < 300:
            return answer.value
        value: JsonObject = answer.value if isinstance(answer.value, dict) else {}
        words = f"Discord refused it: {value.get('message') or answer.status} ({value.get('code', 0)})"
        if answer.status == 404:
            raise DiscordGoneError(words)
        if answer.status == 401:
            words = FATAL_CODES[4004].format(name=self.name)
        # A limit that comes without words is one of the whole machine.
        is_global = bool(value.get("global", not value))
        raise answer.trouble(words, retry_after=value.get("retry_after"), everywhere=is_global)


def _write(message: OutgoingMessage) -> JsonObject:
    """Return the body of a message; Discord reads Markdown."""
    buttons = [
        {"type": 2, "style": 2, "label": each.label[:LABEL_LENGTH], "custom_id": each.data}
        for row in message.buttons
        for each in row
    ]
    parts = [buttons[at : at + ROW_LENGTH] for at in range(0, len(buttons), ROW_LENGTH)]
    rows = [{"type": 1, "components": part} for part in parts]
    return {"content": message.text, "components": rows, **QUIET}


def _read_speaker(value: JsonObject) -> Speaker:
    author, member = value["author"], value.get("member") or {}
    name = member.get("nick") or author.get("global_name") or author.get("username") or ""
    return Speaker(id=author["id"], name=name, is_bot=bool(author.get("bot") or value.get("webhook_id")))
