"""Serve Feishu's open platform on loopback: tokens, messages, cards, files, sealed pushes, long connections.

async with FeishuPlatform() as platform:
    adapter = FeishuAdapter("feishu", platform.settings(mode="webhook"))
    ...
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

import uvicorn
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from shipmate.adapters.feishu.feishu import FeishuSettings
from shipmate.adapters.feishu.feishu_frame import Frame, read_frame, write_frame
from shipmate.delivery.adapter import HookRequest

APP_ID, APP_SECRET = "cli_a1b2c3d4e5f60708", "the-app-secret"
ENCRYPT_KEY, TOKEN = "the-encrypt-key", "the-verification-token"
BOT, BOT_NAME = "ou_bot", "Mate"
CHAT, GROUP = "oc_private", "oc_group"
PERSON = "ou_ann"
OFFENCE = 30 * 1024
Json = dict[str, Any]
Fail = Callable[[Request], Awaitable[Response | None]]


@dataclass
class Posted:
    """A message as the platform keeps it."""

    id: str
    chat: str
    kind: str
    content: Json
    uuid: str = ""
    reply_to: str = ""
    in_thread: bool = False
    edits: int = 0
    history: list[Json] = field(default_factory=list[Json])

    @property
    def text(self) -> str:
        """Return the words, without markup."""
        return words_of(self.content).replace("&lt;", "<")

    @property
    def buttons(self) -> list[Json]:
        """Return the buttons of a card."""
        return [each for each in walk(self.content) if each.get("tag") == "button"]


def walk(value: Any) -> list[Json]:
    """List every object inside a value."""
    if isinstance(value, list):
        return [found for each in value for found in walk(each)]
    if isinstance(value, dict):
        return [value, *(found for each in value.values() for found in walk(each))]
    return []


def words_of(content: Json) -> str:
    """Return the words of a post or card."""
    for each in walk(content):
        if each.get("tag") == "markdown":
            return str(each["content"])
        if each.get("tag") in ("md", "text"):
            return str(each["text"])
        if each.get("tag") == "div":
            return str(each["text"]["content"])
    return ""


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.begun.set()


class FeishuPlatform:
    """An open platform with one app, a private chat and a group."""

    def __init__(self) -> None:
        self.posted: dict[str, Posted] = {}
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.tokens: list[str] = []
        self.expire = 7200
        # What the next requests about messages are answered instead; None is a silence after the work.
        self.faults: deque[Response | None] = deque()
        # How long it takes to say that a message was taken.
        self.slowness: Callable[[], float] = lambda: 0.0
        self.uploads: list[tuple[str, Json, bytes]] = []
        self.changed = asyncio.Event()
        # The long connections there are, those there have been, and what came over them.
        self.connections: list[ServerConnection] = []
        self.connected = 0
        self.pings = 0
        self.pace = {"PingInterval": 60, "ReconnectInterval": 0, "ReconnectNonce": 0, "ReconnectCount": -1}
        self._answers: dict[str, asyncio.Future[Json]] = {}
        self._count = 0

    async def __aenter__(self) -> Self:
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        base = "/open-apis/im/v1"
        routes = [
            Route("/open-apis/auth/v3/tenant_access_token/internal", self._sign_in, methods=["POST"]),
            Route("/callback/ws/endpoint", self._tell_endpoint, methods=["POST"]),
            Route("/open-apis/bot/v3/info", self._tell_bot),
            Route("/open-apis/contact/v3/users/{id}", self._tell_person),
            Route(f"{base}/chats/{{id}}", self._tell_chat),
            Route(f"{base}/messages", self._create, methods=["POST"]),
            Route(f"{base}/messages", self._list, methods=["GET"]),
            Route(f"{base}/messages/{{id}}/reply", self._reply, methods=["POST"]),
            Route(f"{base}/messages/{{id}}/resources/{{key}}", self._hand_out),
            Route(f"{base}/messages/{{id}}", self._get, methods=["GET"]),
            Route(f"{base}/messages/{{id}}", self._patch, methods=["PATCH"]),
            Route(f"{base}/messages/{{id}}", self._put, methods=["PUT"]),
            Route(f"{base}/images", self._upload, methods=["POST"]),
            Route(f"{base}/files", self._upload, methods=["POST"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), log_config=None, ws="none", timeout_graceful_shutdown=1
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        await self._server.begun.wait()
        self._sockets = await serve(self._connect, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sockets.close()
        await self._sockets.wait_closed()
        self._server.should_exit = True
        await self._task

    def settings(self, **values: Any) -> FeishuSettings:
        """Return settings of an app here."""
        sealed = {"encrypt_key": ENCRYPT_KEY, "verification_token": TOKEN}
        common: Json = {"app_id": APP_ID, "app_secret": APP_SECRET, "domain": self.url, **sealed}
        return FeishuSettings(**(common | values))

    def in_chat(self, chat: str = CHAT) -> list[Posted]:
        """List what the bot sent into a chat, oldest first."""
        return [each for each in self.posted.values() if each.chat == chat]

    async def wait(self, *texts: str) -> None:
        """Wait until messages hold these words."""
        while not all(any(text in each.text for each in self.posted.values()) for text in texts):
            await self.changed.wait()

    # What people do.

    def say(self, text: str, **values: Any) -> Json:
        """Return the event of a message with text."""
        return self.message("text", {"text": text}, **values)

    def message(
        self,
        kind: str,
        content: Json,
        *,
        chat: str = CHAT,
        person: str = PERSON,
        message_id: str = "",
        sender_type: str = "user",
        **values: Any,
    ) -> Json:
        """Return the event of a message."""
        self._count += 1
        message = {
            "message_id": message_id or f"om_in{self._count}",
            "chat_id": chat,
            "chat_type": "p2p" if chat == CHAT else "group",
            "message_type": kind,
            "content": json.dumps(content),
            "create_time": str(int(time.time() * 1000)),
            **values,
        }
        sender = {
            "sender_id": {"open_id": person, "user_id": "", "union_id": "on_1"},
            "sender_type": sender_type,
            "tenant_key": "t1",
        }
        return self.event("im.message.receive_v1", {"sender": sender, "message": message})

    def recall(self, message_id: str, chat: str = CHAT) -> Json:
        """Return the event of a message taken back."""
        return self.event(
            "im.message.recalled_v1",
            {"message_id": message_id, "chat_id": chat, "recall_type": "message_owner"},
        )

    def click(self, posted: Posted, label: str, *, person: str = PERSON, chat: str = "") -> Json:
        """Return the event of a click on a card's button."""
        button = next(each for each in posted.buttons if each["text"]["content"] == label)
        event = {
            "operator": {"open_id": person, "tenant_key": "t1"},
            "token": "c-1",
            "action": {"tag": "button", "value": button["behaviors"][0]["value"]},
            "host": "im_message",
            "context": {"open_message_id": posted.id, "open_chat_id": chat or posted.chat},
        }
        return self.event("card.action.trigger", event)

    def event(self, kind: str, event: Json) -> Json:
        """Return an event with its header."""
        self._count += 1
        header = {
            "event_id": f"ev{self._count}",
            "event_type": kind,
            "create_time": str(int(time.time() * 1000)),
            "token": TOKEN,
            "app_id": APP_ID,
            "tenant_key": "t1",
        }
        return {"schema": "2.0", "header": header, "event": event}

    # The long connection.

    async def deliver(self, payload: Json, pieces: int = 1) -> Json:
        """Deliver an event over a long connection until it is taken; return what is answered."""
        while True:
            answer = await self.offer(payload, pieces)
            if answer.get("code") == 200:
                data = answer.get("data")
                return json.loads(base64.b64decode(data)) if data else {}

    async def offer(self, payload: Json, pieces: int = 1) -> Json:
        """Deliver an event once; return the answer, an empty one when the connection ended."""
        while not self.connections:
            await self.changed.wait()
        self._count += 1
        name, body = f"msg{self._count}", json.dumps(payload).encode()
        size = -(-len(body) // pieces)
        answer = self._answers[name] = asyncio.get_running_loop().create_future()
        for place in range(pieces):
            headers = [
                ("type", "event"),
                ("message_id", name),
                ("sum", str(pieces)),
                ("seq", str(place)),
                ("trace_id", "t1"),
            ]
            piece = body[place * size : (place + 1) * size]
            frame = Frame(seq=self._count, log=2**63 + 1, service=7, method=1, headers=headers, payload=piece)
            try:
                await self.connections[-1].send(write_frame(frame))
            except ConnectionClosed:
                # Until it is known that it ended.
                await asyncio.sleep(0.01)
                return {}
        return await answer

    async def _tell_endpoint(self, request: Request) -> Response:
        if await request.json() != {"AppID": APP_ID, "AppSecret": APP_SECRET}:
            return refuse(514, "app_id or app_secret is invalid", 200)
        port = self._sockets.sockets[0].getsockname()[1]
        url = f"ws://127.0.0.1:{port}/ws/v2?device_id=1&service_id=7&ticket=the-ticket"
        return JSONResponse({"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": self.pace}})

    async def _connect(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        self.connected += 1
        self._note()
        try:
            async for data in connection:
                assert isinstance(data, bytes)
                await self._take_frame(connection, data)
        except ConnectionClosed:
            pass
        finally:
            self.connections.remove(connection)
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_result({})

    async def _take_frame(self, connection: ServerConnection, data: bytes) -> None:
        frame = read_frame(data)
        if frame.method == 0:
            assert frame.headers == [("type", "ping")]
            assert frame.service == 7
            self.pings += 1
            pong = Frame(headers=[("type", "pong")], payload=json.dumps(self.pace).encode())
            await connection.send(write_frame(pong))
            self._note()
        else:
            # The official library counts backwards.
            assert frame.find("biz_rt").removeprefix("-").isdecimal()
            answer = self._answers[frame.find("message_id")]
            if not answer.done():
                answer.set_result(json.loads(frame.payload))

    # What the app asks for.

    async def _sign_in(self, request: Request) -> Response:
        asked = await request.json()
        if asked != {"app_id": APP_ID, "app_secret": APP_SECRET}:
            return refuse(10014, "app secret invalid", 200)
        self.tokens.append(f"t-{len(self.tokens)}")
        return JSONResponse({"code": 0, "tenant_access_token": self.tokens[-1], "expire": self.expire})

    async def _begin(self, request: Request, *, is_send: bool = False) -> Response | None:
        """Return what a request is answered before it is looked at."""
        self.requests.append((request.method, request.url.path))
        if request.headers.get("authorization") != f"Bearer {self.tokens[-1] if self.tokens else ''}":
            return refuse(99991663, "token invalid")
        if is_send and self.faults and self.faults[0] is not None:
            return self.faults.popleft()
        return None

    async def _tell_bot(self, request: Request) -> Response:
        if fault := await self._begin(request):
            return fault
        return JSONResponse({"code": 0, "msg": "ok", "bot": {"open_id": BOT, "app_name": BOT_NAME}})

    async def _tell_person(self, request: Request) -> Response:
        if fault := await self._begin(request):
            return fault
        if request.path_params["id"] != PERSON:
            return refuse(41050, "no user authority error")
        return JSONResponse({"code": 0, "data": {"user": {"name": "Ann", "open_id": PERSON}}})

    async def _tell_chat(self, request: Request) -> Response:
        if fault := await self._begin(request):
            return fault
        return JSONResponse({"code": 0, "data": {"name": "The crew", "chat_mode": "group"}})

    async def _create(self, request: Request) -> Response:
        if fault := await self._begin(request, is_send=True):
            return fault
        if request.query_params.get("receive_id_type") != "chat_id":
            return refuse(230001, "Your request contains an invalid request parameter, ext=receive_id_type")
        asked = await request.json()
        return await self._post(request, asked, asked["receive_id"])

    async def _reply(self, request: Request) -> Response:
        if fault := await self._begin(request, is_send=True):
            return fault
        answered = request.path_params["id"]
        if not answered.startswith("om_") or answered.startswith("om_gone"):
            return refuse(230011, "The message was withdrawn.")
        asked = await request.json()
        chat = self.posted[answered].chat if answered in self.posted else GROUP
        return await self._post(request, asked, chat, answered)

    async def _post(self, request: Request, asked: Json, chat: str, reply_to: str = "") -> Response:
        if len(await request.body()) > OFFENCE:
            return refuse(230025, "The length of the message content reaches its limit.")
        known = next((each for each in self.posted.values() if asked["uuid"] == each.uuid), None)
        if known is None or not asked["uuid"]:
            self._count += 1
            content = json.loads(asked["content"])
            known = Posted(
                f"om_out{self._count}",
                chat,
                asked["msg_type"],
                content,
                asked["uuid"],
                reply_to,
                asked.get("reply_in_thread", False),
                history=[content],
            )
            self.posted[known.id] = known
            self._note()
        await asyncio.sleep(self.slowness())
        if self.faults and self.faults[0] is None:
            self.faults.popleft()
            return Response(status_code=502)
        return JSONResponse({"code": 0, "data": {"message_id": known.id, "chat_id": chat}})

    async def _list(self, request: Request) -> Response:
        if fault := await self._begin(request):
            return fault
        thread = request.query_params["container_id"]
        return JSONResponse({"code": 0, "data": {"items": [{"message_id": f"om_root_{thread}"}]}})

    async def _get(self, request: Request) -> Response:
        if fault := await self._begin(request):
            return fault
        is_ours = request.path_params["id"] in self.posted
        sender = {"id": APP_ID if is_ours else PERSON, "id_type": "app_id" if is_ours else "open_id"}
        return JSONResponse({"code": 0, "data": {"items": [{"sender": sender}]}})

    async def _patch(self, request: Request) -> Response:
        return await self._change(request, is_card=True)

    async def _put(self, request: Request) -> Response:
        return await self._change(request, is_card=False)

    async def _change(self, request: Request, *, is_card: bool) -> Response:
        if fault := await self._begin(request, is_send=True):
            return fault
        posted = self.posted.get(request.path_params["id"])
        if posted is None:
            return refuse(
                230001, "Your request contains an invalid request parameter, ext=invalid message_id."
            )
        if is_card != (posted.kind == "interactive"):
            return refuse(
                230001, "Your request contains an invalid request parameter, ext=This is NOT a card."
            )
        content = json.loads((await request.json())["content"])
        if is_card and not all(each["config"]["update_multi"] for each in (content, posted.content)):
            return refuse(230099, "not a shared card")
        posted.edits += 1
        if not is_card and posted.edits > 20:
            return refuse(230072, "The message has reached the number of times it can be edited.")
        posted.content = content
        posted.history.append(content)
        self._note()
        return JSONResponse({"code": 0, "data": {}})

    async def _upload(self, request: Request) -> Response:
        if fault := await self._begin(request):
            return fault
        async with request.form() as form:
            fields: Json = {key: value for key, value in form.items() if isinstance(value, str)}
            upload: Any = form.get("image") or form.get("file")
            data = await upload.read()
            self.uploads.append((upload.filename or "", fields, data))
        key = f"key_{len(self.uploads)}"
        self.files[key] = data
        return JSONResponse({"code": 0, "data": {"image_key": key, "file_key": key}})

    async def _hand_out(self, request: Request) -> Response:
        if fault := await self._begin(request):
            return fault
        data = self.files.get(request.path_params["key"])
        if data is None:
            return refuse(234003, "File not in msg.")
        return Response(data, media_type="application/octet-stream")

    def _note(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def refuse(code: int, words: str, status: int = 400, headers: dict[str, str] | None = None) -> Response:
    """Return a refusal as the platform words it."""
    return JSONResponse({"code": code, "msg": words, "error": {"log_id": "1"}}, status, headers)


def seal(payload: Json, key: str = ENCRYPT_KEY) -> bytes:
    """Return the body of a push: AES-256-CBC under the hash of the key."""
    padder = padding.PKCS7(128).padder()
    padded = padder.update(json.dumps(payload).encode()) + padder.finalize()
    start = os.urandom(16)
    cipher = Cipher(AES(hashlib.sha256(key.encode()).digest()), CBC(start)).encryptor()
    sealed = start + cipher.update(padded) + cipher.finalize()
    # Without blanks, as the platform writes it: its library signs what it would write itself.
    return json.dumps({"encrypt": base64.b64encode(sealed).decode()}, separators=(",", ":")).encode()


def sign(
    body: bytes, *, at: float | None = None, key: str = ENCRYPT_KEY, nonce: str = "n1"
) -> dict[str, str]:
    """Return the headers of a push."""
    moment = str(int(time.time() if at is None else at))
    signature = hashlib.sha256(f"{moment}{nonce}{key}".encode() + body).hexdigest()
    return {
        "x-lark-request-timestamp": moment,
        "x-lark-request-nonce": nonce,
        "x-lark-signature": signature,
    }


def push(payload: Json, *, at: float | None = None) -> HookRequest:
    """Return an event as it is pushed."""
    body = seal(payload)
    return HookRequest(headers=sign(body, at=at), query={}, body=body)
