"""Serve Discord on loopback, gateway and REST, and be the people who write to its bots.

    async with DiscordPlatform() as discord:
        bot = discord.add_bot("Mate")
        ...                           # an adapter with bot.token and api_url=discord.url
        discord.say("hello")          # told to each session, and told again until it was heard
        await discord.wait("You said")

It refuses what Discord refuses: empty and long texts, wrong tokens, sessions that it does not know.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from typing import Any, Self
from urllib.parse import parse_qs

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.support.raw_server import RawServer, Visit
from tests.support.wait import LONG

Json = dict[str, Any]
DM, ROOM, THREAD = "500", "600", "700"
CHANNELS: dict[str, Json] = {
    DM: {"id": DM, "type": 1},
    ROOM: {"id": ROOM, "type": 0, "guild_id": "9", "name": "harbour"},
    THREAD: {"id": THREAD, "type": 11, "guild_id": "9", "name": "tides", "parent_id": ROOM},
}
ANN: Json = {"id": "1", "username": "ann", "global_name": "Ann", "discriminator": "0", "avatar": None}
WANTED = 1 << 9 | 1 << 12 | 1 << 15
CHARACTERS = 2000


class RefusedError(Exception):
    """What Discord answers instead of what was asked for."""

    def __init__(self, status: int, message: str, code: int = 0, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "code": code, **more}


class LostError(Exception):
    """The connection ends before the answer, and after the work."""


@dataclass
class Bot:
    """One bot."""

    token: str
    user: Json


@dataclass
class Session:
    """What one bot is told, kept so that it can be told again."""

    id: str
    bot: Bot
    events: list[Json] = field(default_factory=list)
    connection: ServerConnection | None = None
    # Beats that were heard, each with the last event the bot has.
    beats: list[int | None] = field(default_factory=list)
    resumed_after: list[int | None] = field(default_factory=list)

    async def tell(self, kind: str, value: Json) -> None:
        """Tell the bot of something, now or when it comes back."""
        frame = {"op": 0, "t": kind, "s": len(self.events) + 1, "d": value}
        self.events.append(frame)
        if self.connection is not None:
            await _write(self.connection, frame)


class DiscordPlatform:
    """One Discord, with a private chat, a server with one channel, and a thread in that."""

    def __init__(self) -> None:
        self.bots: dict[str, Bot] = {}
        self.sessions: dict[str, Session] = {}
        self.messages: dict[str, Json] = {}
        self.calls: list[tuple[str, str, Any]] = []
        # What becomes of the next sends and edits: a refusal, or LostError once it was done.
        self.troubles: list[Exception] = []
        self.headers: dict[str, str] = {}
        self.beat_milliseconds = 40_000
        self.is_deaf = False
        # What bots may be told.
        self.intents = WANTED
        self.files: dict[str, bytes] = {}
        self.pressed: list[tuple[str, Json]] = []
        self.changed = asyncio.Event()
        self._count = 1000
        self._tasks: set[asyncio.Task[None]] = set()
        self._http = RawServer(self._serve)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        self.url = f"{self._http.url}/api/v10"
        self._gateway = await serve(self._connect, "127.0.0.1", 0, close_timeout=1)
        port = self._gateway.sockets[0].getsockname()[1]
        self.gateway_url = f"ws://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._gateway.close()
        await self._gateway.wait_closed()
        await self._http.__aexit__(*error)

    def add_bot(self, username: str = "Mate") -> Bot:
        """Make a bot."""
        user = {**ANN, "id": str(8000 + len(self.bots)), "username": username, "bot": True}
        bot = Bot(f"SECRET.of-the-bot.{username}-{user['id']}", {**user, "global_name": None})
        self.bots[bot.token] = bot
        return bot

    # What people do.

    def say(self, text: str, channel: str = DM, user: Json = ANN, **values: Any) -> Json:
        """Write something into a channel."""
        message = self.make_message(text, channel, user, **values)
        self.tell("MESSAGE_CREATE", _as_told(message))
        return message

    def make_message(self, text: str, channel: str, user: Json, **values: Any) -> Json:
        """Keep a message without telling anybody."""
        users = {each["id"]: each for each in (ANN, *(bot.user for bot in self.bots.values()))}
        message: Json = {
            "id": self.count(),
            "channel_id": channel,
            "author": user,
            "content": text,
            "timestamp": datetime.now(UTC).isoformat(),
            "edited_timestamp": None,
            "type": 0,
            "flags": 0,
            "tts": False,
            "pinned": False,
            "mention_everyone": False,
            "mention_roles": [],
            "mentions": [users[each] for each in re.findall(r"<@!?(\d+)>", text) if each in users],
            "attachments": [],
            "embeds": [],
            "components": [],
            **values,
        }
        self.messages[message["id"]] = message
        return message

    def change(self, message: Json, text: str | None = None) -> None:
        """Change a message; without words, only what stands behind a link begins to be shown."""
        if text is not None:
            message |= {"content": text, "edited_timestamp": datetime.now(UTC).isoformat()}
        self.tell("MESSAGE_UPDATE", _as_told(message))

    def press(self, message: Json, label: str, user: Json = ANN) -> str:
        """Press a button by what stands on it; return the token of the press."""
        buttons = [each for row in message["components"] for each in row["components"]]
        data = next(each["custom_id"] for each in buttons if each["label"] == label)
        number = self.count()
        guild = CHANNELS[message["channel_id"]].get("guild_id")
        who = {"member": {"user": user, "nick": "Annie"}, "guild_id": guild} if guild else {"user": user}
        value = {
            "id": number,
            "token": f"press-{number}",
            "application_id": "77",
            "type": 3,
            "message": message,
        }
        self.tell("INTERACTION_CREATE", {**value, **who, "data": {"component_type": 2, "custom_id": data}})
        return f"press-{number}"

    def tell(self, kind: str, value: Json) -> None:
        """Let something happen, for every session."""
        for session in self.sessions.values():
            task = asyncio.get_running_loop().create_task(session.tell(kind, value))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def count(self) -> str:
        """Return an id that is larger than all before."""
        self._count += 1
        return str(self._count)

    def texts(self, channel: str = DM) -> list[str]:
        """List what the messages of bots in a channel say now."""
        return [each["content"] for each in self.by_bots(channel)]

    def by_bots(self, channel: str = DM) -> list[Json]:
        """List the messages of bots in a channel, oldest first."""
        here = [each for each in self.messages.values() if each["channel_id"] == channel]
        return [each for each in here if each["author"].get("bot")]

    async def wait(self, *texts: str) -> None:
        """Wait until bots say this."""

        def is_so() -> bool:
            said = [each["content"] for each in self.messages.values() if each["author"].get("bot")]
            return all(any(text in each for each in said) for text in texts)

        await self.until(is_so)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(LONG):
            while not is_so():
                await self.changed.wait()

    async def listened(self, count: int = 1) -> None:
        """Wait until so many sessions are heard."""
        await self.until(lambda: sum(each.connection is not None for each in self.sessions.values()) >= count)

    # What goes wrong.

    def cut(self) -> None:
        """End every connection without a word, as a network does that goes away."""
        for session in self.sessions.values():
            if session.connection is not None:
                session.connection.transport.abort()
                session.connection = None

    def cut_all(self) -> None:
        """End also connections of sessions that are forgotten."""
        for connection in self._gateway.connections:
            connection.transport.abort()

    async def send_to_all(self, frame: Json) -> None:
        """Tell every connection something about itself."""
        for session in self.sessions.values():
            if session.connection is not None:
                await _write(session.connection, frame)

    # The gateway.

    async def _connect(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        assert "v=10" in connection.request.path
        session: Session | None = None
        await _write(connection, {"op": 10, "d": {"heartbeat_interval": self.beat_milliseconds}})
        try:
            async for data in connection:
                frame = json.loads(data)
                match frame["op"]:
                    case 1:
                        if session is not None:
                            session.beats.append(frame["d"])
                        if not self.is_deaf:
                            await _write(connection, {"op": 11})
                    case 2:
                        session = await self._identify(connection, frame["d"])
                    case 6:
                        session = await self._resume(connection, frame["d"])
                    case _:
                        await connection.close(4001)
                self._note()
        except ConnectionClosed:
            pass
        if session is not None and session.connection is connection:
            session.connection = None
            # Whoever says that it leaves for good is told nothing any more.
            if connection.close_code in (1000, 1001):
                self.sessions.pop(session.id, None)
        self._note()

    async def _identify(self, connection: ServerConnection, asked: Json) -> Session | None:
        if asked["token"] not in self.bots:
            await connection.close(4004, "Authentication failed.")
            return None
        if asked["intents"] & WANTED != self.intents:
            await connection.close(4014, "Disallowed intent(s).")
            return None
        bot = self.bots[asked["token"]]
        session = Session(self.count(), bot, connection=connection)
        self.sessions[session.id] = session
        ready = {
            "v": 10,
            "user": bot.user,
            "session_id": session.id,
            "resume_gateway_url": self.gateway_url,
            "guilds": [],
            "application": {"id": "77", "flags": 0},
        }
        await session.tell("READY", ready)
        return session

    async def _resume(self, connection: ServerConnection, asked: Json) -> Session | None:
        session = self.sessions.get(asked["session_id"])
        if session is None or session.bot.token != asked["token"] or asked["seq"] is None:
            await _write(connection, {"op": 9, "d": False})
            return None
        session.resumed_after.append(asked["seq"])
        told = asked["seq"]
        while told < len(session.events):
            await _write(connection, session.events[told])
            told += 1
        session.connection = connection
        await session.tell("RESUMED", {})
        return session

    # REST.

    async def _serve(self, visit: Visit) -> None:
        method, target, _ = visit.head.split(" ")
        path, _, query = target.removeprefix("/api/v10").partition("?")
        try:
            if path.startswith("/cdn/"):
                assert "authorization" not in visit.headers
                await visit.answer(self.files[path.removeprefix("/cdn/")], kind="application/x")
                return
            bot = self.bots.get(visit.headers.get("authorization", "").removeprefix("Bot "))
            if bot is None:
                raise RefusedError(401, "401: Unauthorized")
            body = self._read_body(visit)
            self.calls.append((method, path, body))
            value, status = await self._answer(bot, f"{method} {path}", parse_qs(query), body), 200
        except RefusedError as error:
            value, status = error.body, error.status
        except LostError:
            visit.writer.transport.abort()
            return
        finally:
            self._note()
        more = "".join(f"{name}: {told}\r\n" for name, told in self.headers.items())
        if value is None:
            await visit.answer(b"", status="204 No Content", more=more)
        else:
            await visit.answer(json.dumps(value), status=f"{status} X", kind="application/json", more=more)

    async def _answer(self, bot: Bot, asked: str, query: dict[str, list[str]], body: Any) -> Any:
        match re.split(r"[ /]+", asked):
            case ["GET", "gateway", "bot"]:
                limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
                return {"url": self.gateway_url, "shards": 1, "session_start_limit": limit}
            case ["GET", "users", "@me"]:
                return bot.user
            case ["GET", "oauth2", "applications", "@me"]:
                about = {"name": "x", "icon": None, "description": "", "bot_public": True}
                return {"id": "77", **about, "bot_require_code_grant": False, "verify_key": "", "owner": ANN}
            case ["GET", "channels", channel]:
                return _find(CHANNELS, channel, "Unknown Channel", 10003)
            case ["GET", "channels", channel, "messages"]:
                after = int(query["after"][0])
                here = [each for each in self.messages.values() if each["channel_id"] == channel]
                return [each for each in reversed(here) if int(each["id"]) > after]
            case ["GET", "channels", _, "messages", number]:
                return _find(self.messages, number, "Unknown Message", 10008)
            case ["POST", "channels", channel, "messages"]:
                return self._send(bot, _find(CHANNELS, channel, "Unknown Channel", 10003)["id"], body)
            case ["PATCH", "channels", _, "messages", number]:
                lost = self._take_trouble()
                message = _find(self.messages, number, "Unknown Message", 10008)
                message |= _check(body)
                self.tell("MESSAGE_UPDATE", _as_told(message))
                if lost:
                    raise lost
                return message
            case ["POST", "channels", _, "typing"]:
                return None
            case ["POST", "interactions", _, token, "callback"] | ["POST", "webhooks", _, token]:
                self.pressed.append((token, body))
                return None
            case _:
                raise RefusedError(404, "404: Not Found")

    def _send(self, bot: Bot, channel: str, body: Json) -> Json:
        lost = self._take_trouble()
        known = [each for each in self.messages.values() if each.get("nonce") == body["nonce"]]
        assert len(body["nonce"]) <= 25
        if known and body["enforce_nonce"]:
            return known[0]
        message = self.make_message("", channel, bot.user, **_check(body), nonce=body["nonce"])
        if answered := body.get("message_reference"):
            message["referenced_message"] = self.messages.get(answered["message_id"])
            message["type"] = 19
        if file := body.get("file"):
            message["attachments"] = [{"id": self.count(), "filename": file[0], "size": len(file[1])}]
            self.files[file[0]] = file[1]
        self.tell("MESSAGE_CREATE", _as_told(message))
        if lost:
            raise lost
        return message

    def _take_trouble(self) -> LostError | None:
        trouble = self.troubles.pop(0) if self.troubles else None
        if isinstance(trouble, LostError):
            return trouble
        if trouble is not None:
            raise trouble
        return None

    def _read_body(self, visit: Visit) -> Any:
        kind = visit.headers.get("content-type", "")
        if not kind.startswith("multipart/"):
            return json.loads(visit.body) if visit.body else None
        parsed = BytesParser().parsebytes(f"content-type: {kind}\r\n\r\n".encode() + visit.body)
        words, file = parsed.get_payload()  # pyright: ignore[reportAssignmentType]
        assert isinstance(words, type(parsed))
        assert isinstance(file, type(parsed))
        content = file.get_payload(decode=True)
        assert file.get_param("name", header="content-disposition") == "files[0]"
        return {**json.loads(str(words.get_payload())), "file": (file.get_filename(), content)}

    def _note(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def _as_told(message: Json) -> Json:
    """Return a message as the gateway tells it, where its server stands beside it."""
    guild = CHANNELS[message["channel_id"]].get("guild_id")
    return {**message, **({"guild_id": guild, "member": {"nick": None, "roles": []}} if guild else {})}


def _check(body: Json) -> Json:
    """Return what a message shows; refuse what Discord refuses."""
    words = body["content"]
    if not words.strip() and "file" not in body:
        raise RefusedError(400, "Cannot send an empty message", 50006)
    if len(words) > CHARACTERS:
        raise RefusedError(400, "Invalid Form Body", 50035)
    for row in body["components"]:
        buttons = row["components"]
        assert 1 <= len(buttons) <= 5
        assert all(0 < len(each["custom_id"]) <= 100 and 0 < len(each["label"]) <= 80 for each in buttons)
    assert body["allowed_mentions"]["parse"] == []
    return {"content": words, "components": body["components"], "flags": body["flags"]}


def _find(known: dict[str, Json], key: str, words: str, code: int) -> Json:
    if key not in known:
        raise RefusedError(404, words, code)
    return known[key]


async def _write(connection: ServerConnection, frame: Json) -> None:
    with suppress(ConnectionClosed):
        await connection.send(json.dumps(frame))
