"""DingTalk's stream is heard and confirmed once it is on disk; answers go through its API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from dingtalk_stream import (  # pyright: ignore[reportMissingTypeStubs]
    AckMessage,
    ChatbotHandler,
    ChatbotMessage,
    Credential,
    DingTalkStreamClient,
)

from shipmate.adapters import dingtalk
from shipmate.adapters.dingtalk import LIMIT_SECONDS, TOPIC, DingTalkAdapter
from shipmate.delivery.adapter import OutgoingFile, OutgoingMessage
from shipmate.errors import ConfigError, NotFoundError, SendError, SendLaterError, SendRefusedError
from shipmate.values.adapter_event import AdapterEvent
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, LONG, Check, Heard, listening
from tests.support.dingtalk_platform import CLIENT, GROUP, PERSON, SECRET, DingTalkPlatform, refuse

THREAD = ThreadId("dingtalk", "dm", PERSON)


class DingTalkCounterpart:
    """Somebody who writes to the robot."""

    def __init__(self, platform: DingTalkPlatform) -> None:
        self.platform = platform
        self.adapter = DingTalkAdapter("dingtalk", platform.settings())
        self.thread_id = THREAD

    async def say(self, text: str) -> None:
        await self.platform.deliver(self.platform.message(text={"content": text}))

    def texts(self) -> list[str]:
        return [each["content"]["text"] for each in self.platform.sent]

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        limit = refuse("Forbidden.AccessDenied.QpsLimitForApi", "too fast", 403, {"retry-after": "2"})
        answers = {"later": limit, "refused": refuse("staffId.notExisted", "nobody")}
        self.platform.faults.append(answers.get(how))


@asynccontextmanager
async def company() -> AsyncGenerator[DingTalkCounterpart]:
    async with DingTalkPlatform() as platform:
        counterpart = DingTalkCounterpart(platform)
        yield counterpart
        await counterpart.adapter.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    async with company() as counterpart:
        await check(counterpart)


async def test_the_stream_is_answered_and_opened_anew_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dingtalk, "BACK_SECONDS", 0)
    async with company() as counterpart:
        platform, heard = counterpart.platform, Heard()
        async with listening(counterpart.adapter, heard):
            ping = await platform.tell("SYSTEM", "ping", '{"opaque": "o1"}')
            assert (ping["code"], json.loads(ping["data"])) == (200, {"opaque": "o1"})
            assert (await platform.tell("EVENT", "something.new", "{}"))["code"] == 404
            assert (await platform.tell("CALLBACK", TOPIC, "no JSON"))["code"] == 200
            heard.troubles.append(OSError("the disk is full"))
            said = platform.message(text={"content": "x"})
            assert (await platform.tell("CALLBACK", TOPIC, json.dumps(said)))["code"] == 500
            assert await platform.tell("SYSTEM", "disconnect", "{}") == {}
            await platform.deliver(said)
            await platform.connections[-1].send("no JSON")
            await platform.connections[-1].close()
            await platform.deliver(said)
            first, second = [await asyncio.wait_for(heard.events.get(), LONG) for _ in range(2)]
        assert first.message_id == second.message_id == f"cidPrivate.{said['msgId']}"
        assert len(platform.opened) == 3
        assert platform.opened[0]["subscriptions"] == [{"type": "CALLBACK", "topic": TOPIC}]


async def test_everything_people_send_is_heard_and_files_are_had() -> None:
    async with company() as counterpart:
        platform, heard = counterpart.platform, Heard()

        async def say(kind: str = "text", **values: Any) -> AdapterEvent:
            await platform.deliver(platform.message(kind, **values))
            return heard.events.get_nowait()

        async with listening(counterpart.adapter, heard):
            group = {"conversationId": GROUP, "conversationType": "2", "conversationTitle": "The crew"}
            meant = await say(**group, isInAtList=True, text={"content": " tides? "})
            assert (meant.chat.id, meant.chat.kind, meant.chat.title) == (GROUP, "group", "The crew")
            assert (meant.text, meant.is_addressed, meant.speaker.name) == ("tides?", True, "Ann")
            assert not (await say(**group, text={"content": "hm"})).is_addressed
            pieces = [{"text": "see "}, {"downloadCode": "CODE", "type": "picture"}, {"text": "this"}, 1]
            rich = await say("richText", content={"richText": pieces})
            assert (rich.text, [each.media_type for each in rich.files]) == ("see this", ["image/jpeg"])
            picture = await say("picture", content={"downloadCode": "CODE"})
            got = [piece async for piece in counterpart.adapter.fetch(picture.files[0])]
            assert got == [b"\xff\xd8jpeg"]
            file = await say("file", content={"downloadCode": "gone", "fileName": "tide.pdf"})
            assert file.files[0].filename == "tide.pdf"
            with pytest.raises(NotFoundError, match="unknown downloadCode"):
                await anext(aiter(counterpart.adapter.fetch(file.files[0])))
            assert (await say("audio", content={"downloadCode": "CODE"})).voice is not None
            assert (await say("somethingNew", content={})).text == ""
            assert (await say(senderId="$:LWCP_v1:$robot")).speaker.is_bot
            odd: list[dict[str, Any]] = [
                {"senderStaffId": None, "senderId": None},
                {"msgId": ""},
                {"conversationId": None},
            ]
            for values in odd:
                await platform.deliver(platform.message(**values))
            assert heard.events.empty()


async def test_words_and_files_reach_people_and_groups(tmp_path: Path) -> None:
    path = tmp_path / "tide.pdf"
    path.write_bytes(b"%PDF")
    async with company() as counterpart:
        adapter, platform = counterpart.adapter, counterpart.platform

        async def send(text: str, to: ThreadId = THREAD, **values: Any) -> str:
            return await adapter.send(OutgoingMessage(thread_id=to, text=text, key="k", **values))

        assert await send("## The tides\nhigh", ThreadId("dingtalk", "group", GROUP)) == "key1"
        assert platform.sent[-1]["openConversationId"] == GROUP
        assert platform.sent[-1]["content"] == {"title": "The tides", "text": "## The tides\nhigh"}
        platform.tokens.append("another process asked for one")
        assert await send("x") == "key2"
        assert platform.sent[-1]["userIds"] == [PERSON]
        file = OutgoingFile(path=path, filename="tide.pdf", media_type="application/pdf", size=4)
        platform.tokens.append("and another")
        await send("a caption", file=file)
        assert platform.uploads == [("file", "tide.pdf", b"%PDF")]
        content = {"mediaId": "@media1", "fileName": "tide.pdf", "fileType": "pdf"}
        assert [each["content"] for each in platform.sent[-2:]] == [
            content,
            {"title": "a caption", "text": "a caption"},
        ]
        picture = OutgoingFile(path=path, filename="tide.png", media_type="image/png", size=4)
        await send("", file=picture)
        assert (platform.sent[-1]["msgKey"], platform.uploads[-1][0]) == ("sampleImageMsg", "image")
        with pytest.raises(SendRefusedError, match="does not know gone"):
            await send("x", ThreadId("dingtalk", "dm", "gone"))
        with pytest.raises(SendLaterError) as busy:
            await send("x", ThreadId("dingtalk", "dm", "busy"))
        assert busy.value.retry_after == LIMIT_SECONDS


async def test_who_is_not_let_in_is_told_so_and_no_secret_is() -> None:
    async with company() as counterpart:
        platform = counterpart.platform
        with pytest.raises(ConfigError, match="must not be empty"):
            DingTalkAdapter("dingtalk", platform.settings(client_secret=""))
        wrong = DingTalkAdapter("dingtalk", platform.settings(client_secret=f"{SECRET}x"))
        with pytest.raises(SendLaterError, match="does not let the app in") as caught:
            await wrong.send(OutgoingMessage(thread_id=THREAD, text="x", key="k"))
        assert caught.value.everywhere
        with pytest.raises(SendError) as refused:
            await wrong.listen(Heard().hear)
        assert SECRET not in str(caught.value) + str(refused.value)
        await wrong.close()


async def test_the_official_client_hears_the_same_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform of these tests speaks as DingTalk's own library understands it."""
    said: list[str] = []

    class Handler(ChatbotHandler):
        async def process(self, message: Any) -> Any:
            heard: Any = ChatbotMessage.from_dict(message.data)
            said.append(heard.text.content)
            return AckMessage.STATUS_OK, "OK"

    async with DingTalkPlatform() as platform:
        client = DingTalkStreamClient(Credential(CLIENT, SECRET))
        client.register_callback_handler(TOPIC, Handler())
        place = f"{platform.url}/v1.0/gateway/connections/open"
        monkeypatch.setattr(DingTalkStreamClient, "OPEN_CONNECTION_API", place)
        opened = await asyncio.to_thread(client.open_connection)
        # It would ask without letting anybody else work.
        client.open_connection = lambda: opened
        task = asyncio.create_task(client.start())
        await asyncio.wait_for(platform.deliver(platform.message(text={"content": "ahoy"})), LONG)
        ping = await asyncio.wait_for(platform.tell("SYSTEM", "ping", '{"opaque": "o1"}'), LONG)
        assert (said, json.loads(ping["data"])) == (["ahoy"], {"opaque": "o1"})
        task.cancel()
