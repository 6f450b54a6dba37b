"""Serve DingTalk on loopback: its stream, its API and its files.

async with DingTalkPlatform() as platform:
    adapter = DingTalkAdapter("dingtalk", platform.settings())
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from contextlib import AsyncExitStack
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from shipmate.adapters.dingtalk import TOPIC, DingTalkSettings
from tests.support.loopback import serving_routes

CLIENT, SECRET = "ding1", "the-secret"
PERSON, GROUP = "staff1", "cidGroup+/=="
Json = dict[str, Any]


class DingTalkPlatform:
    """DingTalk with one company and one robot."""

    def __init__(self) -> None:
        self.sent: list[Json] = []
        self.uploads: list[tuple[str, str, bytes]] = []
        self.tokens: list[str] = []
        self.opened: list[Json] = []
        # What the next sends are answered; None is a silence after the work.
        self.faults: deque[Response | None] = deque()
        self.connections: list[ServerConnection] = []
        self.answers: dict[str, asyncio.Future[Json]] = {}
        self.changed = asyncio.Event()
        self._tickets: set[str] = set()
        self._count = 0

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        routes = [
            Route("/v1.0/gateway/connections/open", self._open, methods=["POST"]),
            Route("/v1.0/oauth2/accessToken", self._sign_in, methods=["POST"]),
            Route("/v1.0/robot/oToMessages/batchSend", self._send, methods=["POST"]),
            Route("/v1.0/robot/groupMessages/send", self._send, methods=["POST"]),
            Route("/v1.0/robot/messageFiles/download", self._name_file, methods=["POST"]),
            Route("/media/upload", self._upload, methods=["POST"]),
            Route("/file", lambda _: Response(b"\xff\xd8jpeg")),
        ]
        self.url = await self._stack.enter_async_context(serving_routes(routes))
        self._sockets = await serve(self._connect, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sockets.close()
        await self._sockets.wait_closed()
        await self._stack.aclose()

    def settings(self, **values: Any) -> DingTalkSettings:
        """Return settings of the robot."""
        common: Json = {
            "client_id": CLIENT,
            "client_secret": SECRET,
            "api_url": self.url,
            "media_url": self.url,
        }
        return DingTalkSettings(**(common | values))

    def message(self, kind: str = "text", **values: Any) -> Json:
        """Return what the robot is told when somebody writes."""
        self._count += 1
        return {
            "conversationId": "cidPrivate",
            "conversationType": "1",
            "chatbotUserId": "$:LWCP_v1:$robot",
            "msgId": f"msg{self._count}",
            "senderNick": "Ann",
            "senderStaffId": PERSON,
            "senderId": "$:LWCP_v1:$ann",
            "createAt": int(time.time() * 1000),
            "isInAtList": False,
            "robotCode": CLIENT,
            "sessionWebhook": "https://oapi.dingtalk.com/robot/sendBySession?session=s",
            "msgtype": kind,
        } | values

    async def tell(self, kind: str, topic: str, data: str) -> Json:
        """Send a frame; return its answer, an empty one when the connection ended."""
        while not self.connections:
            await self.changed.wait()
        self._count += 1
        name = f"frame{self._count}"
        headers = {"appId": "a", "connectionId": "c", "contentType": "application/json"}
        headers |= {"messageId": name, "time": str(int(time.time() * 1000)), "topic": topic}
        frame = {"specVersion": "1.0", "type": kind, "headers": headers, "data": data}
        answer = self.answers[name] = asyncio.get_running_loop().create_future()
        await self.connections[-1].send(json.dumps(frame))
        return await answer

    async def deliver(self, said: Json) -> None:
        """Deliver a message until the robot says that it arrived."""
        while (await self.tell("CALLBACK", TOPIC, json.dumps(said))).get("code") != 200:
            pass

    async def _open(self, request: Request) -> Response:
        asked = await request.json()
        if (asked["clientId"], asked["clientSecret"]) != (CLIENT, SECRET):
            return refuse("authFailed", "wrong clientId or clientSecret", 401)
        self.opened.append(asked)
        ticket = f"ticket+{len(self.opened)}"
        self._tickets.add(ticket)
        port = self._sockets.sockets[0].getsockname()[1]
        return JSONResponse({"endpoint": f"ws://127.0.0.1:{port}/connect", "ticket": ticket})

    async def _connect(self, connection: ServerConnection) -> None:
        assert connection.request
        (ticket,) = parse_qs(urlsplit(connection.request.path).query)["ticket"]
        self._tickets.remove(ticket)
        self.connections.append(connection)
        self._note()
        try:
            async for data in connection:
                answer = json.loads(data)
                assert answer["headers"]["contentType"] == "application/json"
                self.answers[answer["headers"]["messageId"]].set_result(answer)
        except ConnectionClosed:
            pass
        finally:
            self.connections.remove(connection)
            for waiting in self.answers.values():
                if not waiting.done():
                    waiting.set_result({})

    async def _sign_in(self, request: Request) -> Response:
        if await request.json() != {"appKey": CLIENT, "appSecret": SECRET}:
            return refuse("invalidClientIdOrSecret", "wrong")
        self.tokens.append(f"t{len(self.tokens)}")
        return JSONResponse({"accessToken": self.tokens[-1], "expireIn": 7200})

    def _knows(self, request: Request) -> bool:
        return request.headers.get("x-acs-dingtalk-access-token") == self.tokens[-1]

    async def _send(self, request: Request) -> Response:
        if not self._knows(request):
            return refuse("InvalidAuthentication", "the token is not good")
        if self.faults and self.faults[0] is not None:
            return self.faults.popleft() or Response()
        asked = await request.json()
        assert asked["robotCode"] == CLIENT
        content = json.loads(asked["msgParam"])
        self.sent.append({**asked, "content": content})
        self._note()
        if self.faults:
            self.faults.popleft()
            return Response(status_code=502)
        users = asked.get("userIds", [])
        return JSONResponse(
            {
                "processQueryKey": f"key{len(self.sent)}",
                "invalidStaffIdList": [each for each in users if each == "gone"],
                "flowControlledStaffIdList": [each for each in users if each == "busy"],
            }
        )

    async def _upload(self, request: Request) -> Response:
        if request.query_params["access_token"] != self.tokens[-1]:
            return JSONResponse({"errcode": 40014, "errmsg": "invalid access_token"})
        async with request.form() as form:
            media: Any = form["media"]
            self.uploads.append((request.query_params["type"], media.filename, await media.read()))
        return JSONResponse({"errcode": 0, "media_id": f"@media{len(self.uploads)}"})

    async def _name_file(self, request: Request) -> Response:
        if not self._knows(request):
            return refuse("InvalidAuthentication", "the token is not good")
        asked = await request.json()
        if asked != {"downloadCode": "CODE", "robotCode": CLIENT}:
            return refuse("invalidParameter", "unknown downloadCode")
        return JSONResponse({"downloadUrl": f"{self.url}/file"})

    def _note(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def refuse(code: str, words: str, status: int = 400, headers: dict[str, str] | None = None) -> Response:
    """Return a refusal as DingTalk words it."""
    return JSONResponse({"code": code, "message": words, "requestid": "r"}, status, headers)
