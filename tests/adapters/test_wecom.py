"""WeCom is believed only what it surely said, once; answers go through its API."""

from __future__ import annotations

import asyncio
import base64
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import escape

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from wechatpy.crypto import PrpCrypto, WeChatCrypto  # pyright: ignore[reportMissingTypeStubs]
from wechatpy.utils import WeChatSigner  # pyright: ignore[reportMissingTypeStubs]

from shipmate.adapters.wecom import LIMIT_SECONDS, WecomAdapter, WecomSettings, read_xml
from shipmate.delivery.adapter import HookRequest, OutgoingFile, OutgoingMessage
from shipmate.errors import ConfigError, NotFoundError, SendError, SendLaterError, SendRefusedError
from shipmate.values.adapter_event import AdapterEvent
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, Check, Heard
from tests.support.loopback import serving_routes

CORP, SECRET, TOKEN, AGENT = "ww1", "the-secret", "the-token", 1000002
AES_KEY = base64.b64encode(bytes(range(32))).decode().rstrip("=")
THREAD = ThreadId("wecom", "dm", "ann")
Json = dict[str, Any]


class WecomPlatform:
    """WeCom with one company and one app; what it seals is sealed by a library of others."""

    def __init__(self) -> None:
        self.sent: list[Json] = []
        self.uploads: list[tuple[str, str, bytes]] = []
        self.tokens: list[str] = []
        # What the next sends are answered; None is a silence after the work.
        self.faults: deque[Response | None] = deque()
        self._count = 0

    def routes(self) -> list[Route]:
        return [
            Route("/cgi-bin/gettoken", self._sign_in),
            Route("/cgi-bin/message/send", self._send, methods=["POST"]),
            Route("/cgi-bin/media/upload", self._upload, methods=["POST"]),
            Route("/cgi-bin/media/get", self._hand_out),
        ]

    async def _sign_in(self, request: Request) -> Response:
        if dict(request.query_params) != {"corpid": CORP, "corpsecret": SECRET}:
            return refuse(40001, f"invalid credential {request.query_params['corpsecret']}")
        self.tokens.append(f"t{len(self.tokens)}")
        return JSONResponse({"errcode": 0, "access_token": self.tokens[-1], "expires_in": 7200})

    def _knows(self, request: Request) -> bool:
        return request.query_params.get("access_token") == self.tokens[-1]

    async def _send(self, request: Request) -> Response:
        if not self._knows(request):
            return refuse(42001, "access_token expired")
        if self.faults and self.faults[0] is not None:
            return self.faults.popleft() or Response()
        asked = await request.json()
        assert asked["agentid"] == AGENT
        content = asked[asked["msgtype"]].get("content", "")
        assert len(content.encode()) <= 2048
        self.sent.append(asked)
        if self.faults:
            self.faults.popleft()
            return Response(status_code=502)
        gone = asked["touser"] if asked["touser"] == "gone" else ""
        return JSONResponse(
            {"errcode": 0, "errmsg": "ok", "invaliduser": gone, "msgid": f"m{len(self.sent)}"}
        )

    async def _upload(self, request: Request) -> Response:
        if not self._knows(request):
            return refuse(40014, "invalid access_token")
        async with request.form() as form:
            media: Any = form["media"]
            self.uploads.append((request.query_params["type"], media.filename, await media.read()))
        return JSONResponse({"errcode": 0, "type": "file", "media_id": f"media{len(self.uploads)}"})

    async def _hand_out(self, request: Request) -> Response:
        if request.query_params["media_id"] != "MEDIA":
            return refuse(40007, "invalid media_id")
        return Response(b"\xff\xd8jpeg", media_type="image/jpeg")

    def message(self, text: str = "hello", **fields: str) -> str:
        """Return a message as it is before it is sealed."""
        self._count += 1
        values = {
            "ToUserName": CORP,
            "FromUserName": "ann",
            "CreateTime": str(int(time.time())),
            "MsgType": "text",
            "Content": text,
            "MsgId": str(self._count),
            "AgentID": str(AGENT),
        } | fields
        return "<xml>" + "".join(f"<{key}>{escape(each)}</{key}>" for key, each in values.items()) + "</xml>"


def refuse(code: int, words: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"errcode": code, "errmsg": words}, headers=headers)


def sign(sealed: str, *, token: str = TOKEN, at: float | None = None, nonce: str = "n1") -> dict[str, str]:
    moment = str(int(time.time() if at is None else at))
    signer = WeChatSigner()
    signer.add_data(token, moment, nonce, sealed)
    return {"msg_signature": signer.signature, "timestamp": moment, "nonce": nonce}


def seal(text: str, *, corp: str = CORP, key: str = AES_KEY) -> str:
    return PrpCrypto(base64.b64decode(f"{key}=")).encrypt(text, corp).decode()


def wrap(sealed: str) -> bytes:
    to = f"<ToUserName><![CDATA[{CORP}]]></ToUserName>"
    return f"<xml>{to}<Encrypt><![CDATA[{sealed}]]></Encrypt></xml>".encode()


def push(
    text: str, *, sealed: str = "", body: bytes = b"", query: dict[str, str] | None = None
) -> HookRequest:
    sealed = sealed or seal(text)
    return HookRequest(headers={}, query=sign(sealed) if query is None else query, body=body or wrap(sealed))


class WecomCounterpart:
    """Somebody who writes to the app."""

    def __init__(self, url: str, platform: WecomPlatform) -> None:
        self.platform, self.url = platform, url
        self.adapter = WecomAdapter("wecom", settings(url))
        self.thread_id = THREAD
        listen = self.adapter.listen
        self._hear: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def listen_and_tell(hear: Any) -> None:
            self._hear.set_result(hear)
            await listen(hear)

        self.adapter.listen = listen_and_tell

    async def say(self, text: str) -> None:
        asked = push(self.platform.message(text))
        while True:
            try:
                answer = await self.adapter.answer_hook(asked, await self._hear)
            except OSError:
                continue
            assert (answer.status, answer.body) == (200, b"")
            return

    def texts(self) -> list[str]:
        return [each[each["msgtype"]]["content"] for each in self.platform.sent]

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        limited = refuse(45009, "reach max api daily quota limit", {"retry-after": "2"})
        refused = refuse(81013, "user & party & tag all invalid")
        self.platform.faults.append({"later": limited, "refused": refused}.get(how))


def settings(url: str = "http://127.0.0.1:1", **values: Any) -> WecomSettings:
    common: Json = {
        "corp_id": CORP,
        "agent_id": AGENT,
        "secret": SECRET,
        "token": TOKEN,
        "encoding_aes_key": AES_KEY,
        "api_url": url,
    }
    return WecomSettings(**(common | values))


@asynccontextmanager
async def company() -> AsyncGenerator[WecomCounterpart]:
    platform = WecomPlatform()
    async with serving_routes(platform.routes()) as url:
        counterpart = WecomCounterpart(url, platform)
        yield counterpart
        await counterpart.adapter.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    async with company() as counterpart:
        await check(counterpart)


async def test_the_address_is_tried_with_a_get() -> None:
    adapter, heard = WecomAdapter("wecom", settings()), Heard()
    sealed = seal("12345")
    asked = HookRequest(method="GET", headers={}, query={**sign(sealed), "echostr": sealed}, body=b"")
    answer = await adapter.answer_hook(asked, heard.hear)
    assert (answer.status, answer.body, answer.media_type) == (200, b"12345", "text/plain")
    forged = HookRequest(
        method="GET", headers={}, query={**sign(sealed, token="x"), "echostr": sealed}, body=b""
    )
    assert (await adapter.answer_hook(forged, heard.hear)).status == 403
    # A message that somebody caught on its way is not opened for them.
    caught = seal(WecomPlatform().message("private"))
    asked = HookRequest(method="GET", headers={}, query={**sign(caught), "echostr": caught}, body=b"")
    assert (await adapter.answer_hook(asked, heard.hear)).body == b""


async def test_a_library_of_others_seals_what_is_heard() -> None:
    platform, heard = WecomPlatform(), Heard()
    body = WeChatCrypto(TOKEN, AES_KEY, CORP).encrypt_message(platform.message("<b>&"), "nonce")
    found = read_xml(body.encode())
    query = {"msg_signature": found["MsgSignature"], "timestamp": found["TimeStamp"], "nonce": found["Nonce"]}
    asked = HookRequest(headers={}, query=query, body=body.encode())
    assert (await WecomAdapter("wecom", settings()).answer_hook(asked, heard.hear)).status == 200
    event = heard.events.get_nowait()
    assert (event.text, event.message_id, event.speaker.id) == ("<b>&", "ann.1", "ann")


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


async def test_whatever_is_not_surely_wecoms_own_is_refused() -> None:
    adapter, heard, platform = WecomAdapter("wecom", settings()), Heard(), WecomPlatform()
    text = platform.message()
    good, old = seal(text), time.time() - 3600
    twice = push(text)
    assert (await adapter.answer_hook(twice, heard.hear)).status == 200
    *most, last = base64.b64decode(good)
    flipped = base64.b64encode(bytes([*most, last ^ 1])).decode()
    elsewhere = seal(text, corp="ww2")
    other_key = seal(text, key=base64.b64encode(b"k" * 32).decode().rstrip("="))
    spaced = f"{good[:40]}\n{good[40:]}"
    matrix = {
        "replayed": twice,
        "unsigned": push(text, query={}),
        "forged": push(text, sealed=good, query=sign(good, token="guess")),
        "signed for another": push(text, sealed=good, query=sign(seal(text))),
        "other nonce": push(text, sealed=good, query=sign(good) | {"nonce": "n2"}),
        "other time": push(text, sealed=good, query=sign(good) | {"timestamp": str(int(time.time()) - 1)}),
        "stale": push(text, sealed=good, query=sign(good, at=old)),
        "from the future": push(text, sealed=good, query=sign(good, at=time.time() + 3600)),
        "no time": push(text, sealed=good, query=sign(good) | {"timestamp": ""}),
        "changed": push(text, sealed=flipped),
        "another company": push(text, sealed=elsewhere),
        "another key": push(text, sealed=other_key),
        "re-encoded": push(text, sealed=good, body=wrap(spaced)),
        "re-encoded and signed": push(text, sealed=spaced),
        "UTF-16": push(text, sealed=good, body=wrap(good).decode().encode("utf-16")),
        "no XML": push(text, sealed=good, body=b"\xff<xml"),
        "entities": push(text, sealed=good, body=BOMB.encode() + wrap(good)),
        "empty": push(text, sealed=good, body=wrap("")),
        "plain": push(text, body=text.encode()),
    }
    for name, asked in matrix.items():
        assert (await adapter.answer_hook(asked, heard.hear)).status == 403, name
    assert heard.events.qsize() == 1
    # What is sealed is read with the same care; it is nothing that could be heard.
    for odd in (BOMB + text, "no XML", "<xml/>", "<xml>" * 20):
        assert (await adapter.answer_hook(push(odd), heard.hear)).status == 200
    assert heard.events.qsize() == 1


async def test_everything_people_send_is_heard_and_files_are_had() -> None:
    async with company() as counterpart:
        heard = Heard()

        async def say(**fields: str) -> AdapterEvent | None:
            asked = push(counterpart.platform.message(**fields))
            assert (await counterpart.adapter.answer_hook(asked, heard.hear)).status == 200
            return None if heard.events.empty() else heard.events.get_nowait()

        picture = await say(MsgType="image", MediaId="MEDIA")
        assert picture is not None
        assert [(each.filename, each.media_type) for each in picture.files] == [("image.jpg", "image/jpeg")]
        assert [piece async for piece in counterpart.adapter.fetch(picture.files[0])] == [b"\xff\xd8jpeg"]
        voice = await say(MsgType="voice", MediaId="gone", Format="amr")
        assert voice is not None
        assert voice.voice is not None
        with pytest.raises(NotFoundError, match="invalid media_id"):
            await anext(aiter(counterpart.adapter.fetch(voice.voice)))
        link = await say(MsgType="link", Title="Tides", Url="https://t.example", Description="of today")
        assert link is not None
        assert link.text == "[Tides](https://t.example)\nof today"
        place = await say(MsgType="location", Label="Harbour", Location_X="1.5", Location_Y="2")
        assert place is not None
        assert place.text == "Harbour (1.5, 2)"
        assert await say(MsgType="event", Event="enter_agent", MsgId="") is None


async def test_markup_files_expired_tokens_and_limits(tmp_path: Path) -> None:
    path = tmp_path / "tide.pdf"
    path.write_bytes(b"%PDF")
    async with company() as counterpart:
        adapter, platform = counterpart.adapter, counterpart.platform

        async def send(text: str, **values: Any) -> str:
            thread_id = values.pop("thread_id", THREAD)
            return await adapter.send(OutgoingMessage(thread_id=thread_id, text=text, key="k", **values))

        assert await send("**bold**") == "m1"
        platform.tokens.append("another process asked for one")
        assert await send("plain") == "m2"
        assert [each["msgtype"] for each in platform.sent] == ["markdown", "text"]
        for media_type, kind in (("application/pdf", "file"), ("image/png", "image")):
            file = OutgoingFile(path=path, filename="潮汐.pdf", media_type=media_type, size=4)
            await send("a caption", file=file)
            assert platform.uploads[-1] == (kind, "潮汐.pdf", b"%PDF")
            assert [each["msgtype"] for each in platform.sent[-2:]] == [kind, "text"]
        # A file that was sent is not sent again for its words.
        platform.faults.extend([JSONResponse({"errcode": 0, "msgid": "m9"}), refuse(45009, "limit")])
        with pytest.raises(SendError, match="its words were not") as half:
            await send("a caption", file=file)
        assert type(half.value) is SendError
        platform.faults.append(refuse(45009, "api freq out of limit"))
        with pytest.raises(SendLaterError) as limited:
            await send("x")
        assert limited.value.retry_after == LIMIT_SECONDS
        platform.faults.append(refuse(-1, "system busy"))
        with pytest.raises(SendError) as unknown:
            await send("x")
        assert type(unknown.value) is SendError
        with pytest.raises(SendRefusedError, match="write to gone"):
            await send("x", thread_id=ThreadId("wecom", "dm", "gone"))


async def test_settings_that_let_anybody_call_are_refused_and_no_secret_is_told() -> None:
    for values in (
        {"token": ""},
        {"corp_id": ""},
        {"encoding_aes_key": "short"},
        {"encoding_aes_key": "*" * 43},
    ):
        with pytest.raises(ConfigError, match=r"adapters\.wecom"):
            WecomAdapter("wecom", settings(**values))
    async with company() as counterpart:
        wrong = WecomAdapter("wecom", settings(counterpart.url, secret="wr0ng"))
        with pytest.raises(SendLaterError, match="does not let the app in") as caught:
            await wrong.send(OutgoingMessage(thread_id=THREAD, text="x", key="k"))
        assert caught.value.everywhere
        assert "wr0ng" not in str(caught.value)
        await wrong.close()
