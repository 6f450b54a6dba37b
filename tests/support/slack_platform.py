"""Serve Slack on loopback, Web API and socket mode, and be the people who write to its apps.

    async with SlackPlatform() as slack:
        app = slack.add_app("mate")
        ...                           # an adapter with slack.settings(app)
        slack.say("hello")            # told to each app over its socket, again until it is confirmed
        await slack.wait("You said")

`push` makes of the same events what Slack sends to a webhook, signed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from shipmate.adapters.slack import SlackSettings
from shipmate.delivery.adapter import HookRequest
from tests.support.raw_server import RawServer, Visit
from tests.support.wait import LONG

Json = dict[str, Any]
DM, ROOM = "D500", "C600"
ANN = "U1ANN"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
SECTION = 3000
FORM = "application/x-www-form-urlencoded"


class RefusedError(Exception):
    """What Slack answers instead of what was asked for."""

    def __init__(self, error: str, status: int = 200, **headers: str) -> None:
        super().__init__(error)
        self.body = {"ok": False, "error": error}
        self.status = status
        self.more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())


class LostError(Exception):
    """The connection ends before the answer, and after the work."""


@dataclass
class App:
    """One app, and what it has not confirmed yet."""

    token: str
    app_token: str
    user: str
    pending: dict[str, Json] = field(default_factory=dict)
    connections: list[ServerConnection] = field(default_factory=list)
    connected: int = 0


class SlackPlatform:
    """One workspace of Slack, with a private chat and a channel."""

    def __init__(self) -> None:
        self.apps: list[App] = []
        # What was said, by channel and time; `blocks` and `text` as they are now.
        self.messages: dict[tuple[str, str], Json] = {}
        self.ephemeral: list[Json] = []
        self.calls: list[tuple[str, Json]] = []
        # What becomes of the next sends and edits: a refusal, or LostError once it was done.
        self.troubles: list[Exception] = []
        self.files: dict[str, Json] = {}
        self.changed = asyncio.Event()
        self._count = 100
        self._tasks: set[asyncio.Task[None]] = set()
        self._http = RawServer(self._serve)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        self.url = f"{self._http.url}/api"
        self._sockets = await serve(self._connect, "127.0.0.1", 0, close_timeout=1)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._sockets.close()
        await self._sockets.wait_closed()
        await self._http.__aexit__(*error)

    def add_app(self, name: str = "mate") -> App:
        """Install an app."""
        user = f"U8{len(self.apps)}{name.upper()}"
        self.apps.append(App(f"xoxb-SECRET-{name}", f"xapp-SECRET-{name}", user))
        return self.apps[-1]

    def settings(self, app: App, **values: Any) -> SlackSettings:
        """Return the settings of an app."""
        given: Json = {
            "token": app.token,
            "app_token": app.app_token,
            "signing_secret": SIGNING_SECRET,
            **values,
        }
        return SlackSettings(api_url=self.url, **given)

    # What people do.

    def say(self, text: str, channel: str = DM, user: str = ANN, **values: Any) -> Json:
        """Write something into a channel; every app is told."""
        event = self.make_message(text, channel, user, **values)
        self.tell(event)
        return event

    def make_message(self, text: str, channel: str, user: str, **values: Any) -> Json:
        """Keep a message without telling anybody."""
        kind = "im" if channel.startswith("D") else "channel"
        at = self.count()
        event = {
            "type": "message",
            "channel": channel,
            "channel_type": kind,
            "user": user,
            "text": text,
            "ts": at,
        }
        self.messages[channel, at] = {**event, **values}
        return self.messages[channel, at]

    def make_callback(self, event: Json) -> Json:
        """Return an event in what Slack puts around it."""
        return {"type": "event_callback", "event_id": f"Ev{self.count()}", "team_id": "T1", "event": event}

    def make_press(self, message: Json, label: str, user: str = ANN) -> Json:
        """Return what Slack tells when a button is pressed, by what stands on it."""
        rows = [each["elements"] for each in message["blocks"] if each["type"] == "actions"]
        button = next(each for row in rows for each in row if each["text"]["text"] == label)
        action = {"action_id": button["action_id"], "value": button["value"], "action_ts": self.count()}
        who = {"user": {"id": user, "name": "ann"}, "channel": {"id": message["channel"]}}
        return {"type": "block_actions", **who, "message": message, "actions": [action], "api_app_id": "A1"}

    def tell(self, event: Json) -> None:
        """Let something happen; every app is told over its socket."""
        for app in self.apps:
            self.deliver(app, self.make_callback(event))

    def deliver(self, app: App, payload: Json, kind: str = "events_api") -> None:
        """Tell one app something, now or when it comes back, until it is confirmed."""
        name = f"envelope-{self.count()}"
        app.pending[name] = {"type": kind, "envelope_id": name, "payload": payload}
        if app.connections:
            self._spawn(app.connections[-1], app.pending[name])

    def count(self) -> str:
        """Return a time that is later than all before."""
        self._count += 1
        return f"1700000000.{self._count:06}"

    def by_apps(self, channel: str = DM) -> list[Json]:
        """List what apps wrote into a channel, oldest first."""
        return [each for (place, _), each in self.messages.items() if place == channel and "bot_id" in each]

    def texts(self, channel: str = DM) -> list[str]:
        """List what the messages of apps in a channel say now."""
        return [words_of(each) for each in self.by_apps(channel)]

    async def wait(self, *texts: str) -> None:
        """Wait until apps say this."""
        said = lambda: [words_of(each) for each in self.messages.values() if "bot_id" in each]  # noqa: E731
        await self.until(lambda: all(any(text in each for each in said()) for text in texts))

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(LONG):
            while not is_so():
                await self.changed.wait()

    # Socket mode.

    async def _connect(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        app = self.apps[int(connection.request.path.rpartition("=")[2])]
        app.connections.append(connection)
        app.connected += 1
        self._note()
        await connection.send(json.dumps({"type": "hello", "num_connections": len(app.connections)}))
        for number, envelope in enumerate([*app.pending.values()]):
            again = {"retry_attempt": number + 1, "retry_reason": "timeout"}
            await connection.send(json.dumps({**envelope, **again, "accepts_response_payload": False}))
        try:
            async for data in connection:
                app.pending.pop(json.loads(data)["envelope_id"])
                self._note()
        except ConnectionClosed:
            pass
        app.connections.remove(connection)
        self._note()

    def cut(self) -> None:
        """End every connection without a word."""
        for connection in [each for app in self.apps for each in app.connections]:
            connection.transport.abort()

    async def disconnect(self, reason: str) -> None:
        """Tell every connection that it ends."""
        for connection in [each for app in self.apps for each in app.connections]:
            await connection.send(json.dumps({"type": "disconnect", "reason": reason, "debug_info": {}}))

    def _spawn(self, connection: ServerConnection, frame: Json) -> None:
        async def write() -> None:
            with suppress(ConnectionClosed):
                await connection.send(json.dumps(frame))

        task = asyncio.get_running_loop().create_task(write())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The Web API.

    async def _serve(self, visit: Visit) -> None:
        _, path, _ = visit.head.split(" ")
        secret = visit.headers.get("authorization", "").removeprefix("Bearer ")
        status, more, body = 200, "", b""
        try:
            if path.startswith("/upload/"):
                assert "authorization" not in visit.headers
                self.files[path.removeprefix("/upload/")]["content"] = visit.body
                await visit.answer("OK", kind="text/plain")
                return
            if path.startswith("/download/"):
                assert secret in {app.token for app in self.apps}
                await visit.answer(self.files[path.removeprefix("/download/")]["content"])
                return
            method, values = path.removeprefix("/api/"), _read_values(visit)
            self.calls.append((method, values))
            app = next((each for each in self.apps if secret in (each.token, each.app_token)), None)
            if app is None or method.startswith("apps.") != (secret == app.app_token):
                raise RefusedError("invalid_auth")
            body = json.dumps({"ok": True, **self._answer(app, method, values)}, default=str)
        except RefusedError as error:
            status, more, body = error.status, error.more, json.dumps(error.body)
        except LostError:
            visit.writer.transport.abort()
            return
        finally:
            self._note()
        await visit.answer(body, status=f"{status} X", kind="application/json", more=more)

    def _answer(self, app: App, method: str, values: Json) -> Json:
        match method:
            case "apps.connections.open":
                port = self._sockets.sockets[0].getsockname()[1]
                return {"url": f"ws://127.0.0.1:{port}/link/?ticket=SECRET-ticket&app={self.apps.index(app)}"}
            case "auth.test":
                return {"user_id": app.user, "bot_id": f"B{app.user}", "team_id": "T1"}
            case "users.info":
                if values["user"] != ANN:
                    raise RefusedError("user_not_found")
                return {
                    "user": {"id": ANN, "name": "ann", "profile": {"display_name": "", "real_name": "Ann"}}
                }
            case "conversations.info":
                return {"channel": {"id": values["channel"], "name": "harbour"}}
            case "chat.postMessage" | "chat.update":
                return self._write(app, method, values)
            case "chat.postEphemeral":
                self.ephemeral.append(values)
                return {"message_ts": self.count()}
            case "conversations.history" | "conversations.replies":
                return self._list(values)
            case "files.getUploadURLExternal":
                name = f"F{len(self.files)}"
                self.files[name] = {"id": name, "name": values["filename"], "size": int(values["length"])}
                return {"file_id": name, "upload_url": f"{self._http.url}/upload/{name}"}
            case "files.completeUploadExternal":
                return self._share(app, values)
            case "files.info":
                return {"file": self.files[values["file"]]}
            case _:
                raise RefusedError("unknown_method")

    def _write(self, app: App, method: str, values: Json) -> Json:
        lost = self._take_trouble()
        blocks = _check_blocks(json.loads(values.get("blocks", "[]")))
        if values["channel"] not in (DM, ROOM):
            raise RefusedError("channel_not_found")
        looks = {"text": values["text"], "blocks": blocks}
        if method == "chat.update":
            if (values["channel"], values["ts"]) not in self.messages:
                raise RefusedError("message_not_found")
            message = self.messages[values["channel"], values["ts"]]
            message |= looks
        else:
            more = {"thread_ts": values["thread_ts"]} if "thread_ts" in values else {}
            message = self.make_message("", values["channel"], app.user, bot_id=f"B{app.user}", **more)
            message |= looks
            self.tell({**message, "subtype": "bot_message"})
        if lost:
            raise lost
        return {"ts": message["ts"], "channel": values["channel"], "message": message}

    def _share(self, app: App, values: Json) -> Json:
        lost = self._take_trouble()
        shown = [self.files[each["id"]] for each in json.loads(values["files"])]
        assert all(len(each["content"]) == each["size"] for each in shown)
        more = {"thread_ts": values["thread_ts"]} if "thread_ts" in values else {}
        blocks = _check_blocks(json.loads(values["blocks"]))
        look = {"bot_id": f"B{app.user}", "files": shown, "blocks": blocks}
        self.make_message("", values["channel_id"], app.user, **look, **more)
        if lost:
            raise lost
        return {"files": [{"id": each["id"]} for each in shown]}

    def _list(self, values: Json) -> Json:
        here = [each for (place, _), each in self.messages.items() if place == values["channel"]]
        if "ts" in values:
            here = [each for each in here if values["ts"] in (each["ts"], each.get("thread_ts"))]
        else:
            here = [each for each in reversed(here) if "thread_ts" not in each]
        start, limit = int(values.get("cursor", 0)), int(values["limit"])
        after = str(start + limit) if start + limit < len(here) else ""
        return {"messages": here[start : start + limit], "response_metadata": {"next_cursor": after}}

    def _take_trouble(self) -> LostError | None:
        trouble = self.troubles.pop(0) if self.troubles else None
        if isinstance(trouble, LostError):
            return trouble
        if trouble is not None:
            raise trouble
        return None

    def _note(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def _read_values(visit: Visit) -> Json:
    if visit.headers.get("content-type", "").startswith("application/json"):
        return json.loads(visit.body or b"{}")
    return dict(parse_qsl(visit.body.decode(), strict_parsing=bool(visit.body)))


def _check_blocks(blocks: list[Json]) -> list[Json]:
    """Return blocks as they were given; refuse what Slack refuses."""
    for each in blocks:
        if each["type"] == "section" and not 0 < len(each["text"]["text"]) <= SECTION:
            raise RefusedError("invalid_blocks")
        if each["type"] == "actions":
            assert all(len(button["text"]["text"]) <= 75 for button in each["elements"])
            assert len({button["action_id"] for button in each["elements"]}) == len(each["elements"])
    return blocks


def words_of(message: Json) -> str:
    """Return what a message says, without escapes."""
    sections = [each["text"]["text"] for each in message["blocks"] if each["type"] == "section"]
    shown = "\n".join(sections) if sections else message["text"]
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def sign(body: bytes, *, at: float | None = None, secret: str = SIGNING_SECRET) -> dict[str, str]:
    """Return the headers with which Slack calls."""
    moment = str(int(time.time() if at is None else at))
    made = hmac.new(secret.encode(), f"v0:{moment}:".encode() + body, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": moment, "x-slack-signature": f"v0={made}"}


def push(payload: Json, *, at: float | None = None) -> HookRequest:
    """Return an event, or a press, as it is pushed to a webhook."""
    is_press = payload["type"] == "block_actions"
    body = urlencode({"payload": json.dumps(payload)}) if is_press else json.dumps(payload)
    kind = FORM if is_press else "application/json"
    return HookRequest(
        headers={"content-type": kind, **sign(body.encode(), at=at)}, query={}, body=body.encode()
    )
