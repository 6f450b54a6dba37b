"""An app on Slack does what every adapter does, over socket mode and by webhook, and what only Slack has."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode.builtin import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web import WebClient

from shipmate.adapters import slack
from shipmate.adapters.slack import SlackAdapter, SlackSettings
from shipmate.delivery.adapter import Button, HookRequest, OutgoingFile, OutgoingMessage
from shipmate.errors import ConfigError, SendError, SendLaterError, SendRefusedError
from shipmate.models.scripted import ScriptedModel, call, say
from shipmate.tools.file.send_file import SendFile
from shipmate.values.adapter_event import AdapterEvent, Chat, HeardEvent, RemoteFile, Speaker
from shipmate.values.message import text_of
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, Check, Heard, listening
from tests.support.platform_ship import open_platforms
from tests.support.server import make_site, make_workspace, opener_for, serving
from tests.support.slack_platform import (
    ANN,
    DM,
    ROOM,
    SIGNING_SECRET,
    LostError,
    RefusedError,
    SlackPlatform,
    push,
    sign,
)
from tests.support.workspace import Probe

Mode = Literal["websocket", "webhook"]


class SlackCounterpart:
    """A private chat with an app."""

    def __init__(self, platform: SlackPlatform, mode: Mode) -> None:
        self.platform = platform
        self.app = platform.add_app()
        self.adapter = SlackAdapter("slack", platform.settings(self.app, mode=mode))
        self.thread_id = ThreadId("slack", "dm", DM)
        self._mode = mode
        self._hear: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        listen = self.adapter.listen

        async def listen_and_tell(hear: Any) -> None:
            if not self._hear.done():
                self._hear.set_result(hear)
            await listen(hear)

        self.adapter.listen = listen_and_tell

    async def say(self, text: str) -> None:
        if self._mode == "websocket":
            self.platform.say(text)
            return
        payload = self.platform.make_callback(self.platform.make_message(text, DM, ANN))
        while True:
            with contextlib.suppress(OSError):
                answer = await self.adapter.answer_hook(push(payload), await self._hear)
                assert answer.status == 200
                return

    def texts(self) -> list[str]:
        return self.platform.texts()

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        troubles = {
            "later": RefusedError("ratelimited", 429, retry_after="2"),
            "refused": RefusedError("is_archived"),
            "lost": LostError(),
        }
        self.platform.troubles.append(troubles[how])

    async def send(self, text: str = "x", thread_id: ThreadId | None = None, **values: Any) -> str:
        """Send something with a key of its own."""
        key = f"{len(self.platform.calls):032}"
        return await self.adapter.send(
            OutgoingMessage(thread_id=thread_id or self.thread_id, text=text, key=key, **values)
        )


@asynccontextmanager
async def private_chat(
    mode: Mode = "websocket",
) -> AsyncGenerator[SlackCounterpart]:
    async with SlackPlatform() as platform:
        counterpart = SlackCounterpart(platform, mode)
        try:
            yield counterpart
        finally:
            await counterpart.adapter.close()


@pytest.mark.parametrize("mode", ["websocket", "webhook"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check, mode: Mode) -> None:
    async with private_chat(mode) as counterpart:
        await check(counterpart)


async def test_only_what_slack_signed_now_is_heard_and_once() -> None:
    async with private_chat("webhook") as counterpart:
        adapter, heard = counterpart.adapter, Heard()
        payload = counterpart.platform.make_callback(counterpart.platform.make_message("hi", DM, ANN))
        body, now = json.dumps(payload).encode(), time.time()
        verifier = SignatureVerifier(SIGNING_SECRET)
        theirs = verifier.generate_signature(timestamp=str(int(now)), body=body)
        fresh = {"x-slack-request-timestamp": str(int(now)), "x-slack-signature": theirs or ""}
        assert fresh == sign(body, at=now)
        again = {**fresh, "x-slack-request-timestamp": str(int(now) + 1)}
        matrix: dict[str, tuple[dict[str, str], bytes]] = {
            "forged": (sign(body, secret="another-secret"), body),
            "forged with nothing": (sign(body, secret=""), body),
            "stale": (sign(body, at=now - 301), body),
            "of the future": (sign(body, at=now + 3600), body),
            "unsigned": ({}, body),
            "without a time": ({"x-slack-signature": fresh["x-slack-signature"]}, body),
            "with another time": (again, body),
            "re-encoded": (fresh, json.dumps(payload, indent=1).encode()),
            "with words behind": (fresh, body + b" "),
            "of another version": (
                {**fresh, "x-slack-signature": f"v1{fresh['x-slack-signature'][2:]}"},
                body,
            ),
            "in capitals": ({**fresh, "x-slack-signature": fresh["x-slack-signature"].upper()}, body),
            "cut": ({**fresh, "x-slack-signature": fresh["x-slack-signature"][:-1]}, body),
            "of odd letters": (
                {"x-slack-signature": "v0=ü\udc80", "x-slack-request-timestamp": "１２"},
                body,
            ),
        }
        for name, (headers, sent) in matrix.items():
            answer = await adapter.answer_hook(HookRequest(headers=headers, query={}, body=sent), heard.hear)
            assert (name, answer.status, heard.events.qsize()) == (name, 403, 0)
            if "ü" not in str(headers):
                given = {key.title(): value for key, value in headers.items()}
                assert not verifier.is_valid_request(sent, given), name
        good = HookRequest(headers=fresh, query={}, body=body)
        # What could not be kept may come once more as it is; what was, may not.
        heard.troubles.append(OSError("the disk is full"))
        with pytest.raises(OSError, match="full"):
            await adapter.answer_hook(good, heard.hear)
        assert [(await adapter.answer_hook(good, heard.hear)).status for _ in range(2)] == [200, 403]
        assert heard.events.qsize() == 1
        challenge = {"type": "url_verification", "challenge": "3eZbrw", "token": "old"}
        answer = await adapter.answer_hook(push(challenge), heard.hear)
        assert json.loads(answer.body) == {"challenge": "3eZbrw"}
        for odd in (b"", b"[]", b"{", b"7"):
            request = HookRequest(headers=sign(odd), query={}, body=odd)
            assert (await adapter.answer_hook(request, heard.hear)).status == 400
    async with private_chat() as counterpart:
        # Whoever listens over a socket is called by nobody.
        assert (await counterpart.adapter.answer_hook(good, heard.hear)).status == 403


async def test_what_was_not_confirmed_comes_again_over_another_socket() -> None:
    async with private_chat() as counterpart:
        platform, app, heard = counterpart.platform, counterpart.app, Heard()
        async with listening(counterpart.adapter, heard):
            for number, end in enumerate((platform.cut, None, platform.cut)):
                platform.say(f"{number}")
                assert (await asyncio.wait_for(heard.events.get(), 20)).text == f"{number}"
                await platform.until(lambda: not app.pending)
                if end is None:
                    await platform.disconnect("refresh_requested")
                else:
                    end()
                await platform.until(lambda number=number: app.connected == number + 2)
            platform.deliver(app, {"command": "/ship"}, "slash_commands")
            platform.deliver(app, {"type": "event_callback", "event": {"type": "message", "ts": 1}})
            platform.tell({"type": "reaction_added"})
            await platform.until(lambda: not app.pending)
        assert heard.events.empty()
        listen = asyncio.create_task(counterpart.adapter.listen(heard.hear))
        await platform.until(lambda: bool(app.connections))
        await platform.disconnect("link_disabled")
        with pytest.raises(ConfigError, match="socket mode"):
            await listen


async def test_slacks_own_client_hears_the_server_that_these_tests_are_made_with() -> None:
    async with SlackPlatform() as platform:
        app = platform.add_app()
        seen: list[SocketModeRequest] = []
        web = WebClient(token=app.token, base_url=f"{platform.url}/")
        client = SocketModeClient(app_token=app.app_token, web_client=web, auto_reconnect_enabled=False)

        def take(_: Any, request: SocketModeRequest) -> None:
            seen.append(request)
            client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

        client.socket_mode_request_listeners.append(take)
        event = platform.say("hello")
        await asyncio.to_thread(client.connect)
        try:
            await platform.until(lambda: not app.pending)
            sent = await asyncio.to_thread(web.chat_postMessage, channel=DM, text="a &lt; b")
        finally:
            # It waits for seconds for what could still come.
            platform.cut()
            await asyncio.to_thread(client.close)
        assert (seen[0].type, seen[0].payload["event"]) == ("events_api", event)
        assert (sent["ok"], platform.texts()) == (True, ["a < b"])


async def test_it_hears_who_says_what_where_and_to_whom() -> None:
    async with private_chat() as counterpart:
        platform, heard, me = counterpart.platform, Heard(), counterpart.app.user
        file = {"id": "F9", "name": "a.mp4", "mimetype": "audio/mp4", "size": 3}
        async with listening(counterpart.adapter, heard):
            room = platform.say("just talking", ROOM)
            asked = platform.say(f"<@{me}> ask <@{ANN}> &amp; <@U404> &lt;b&gt;", ROOM)
            platform.tell({**asked, "type": "app_mention"})
            below = {"thread_ts": asked["ts"], "parent_user_id": ANN}
            platform.say("and?", ROOM, **below)
            platform.say("yes", ROOM, thread_ts="1.1", parent_user_id=me)
            platform.say("joined", ROOM, subtype="channel_join")
            platform.say("beep", ROOM, "", subtype="bot_message", bot_id="B9")
            platform.say("in private, below", thread_ts="1.1")
            platform.say("", subtype="file_share", files=[{**file, "subtype": "slack_audio"}])
            look = platform.say("look", subtype="file_share", files=[file])
            place = {"type": "message", "channel": DM, "channel_type": "im"}
            edited = {**look, "text": "look!", "edited": {"user": ANN, "ts": "2.2"}}
            platform.tell(
                {**place, "subtype": "message_changed", "message": edited, "previous_message": look}
            )
            # What stands behind a link begins to be shown.
            platform.tell(
                {**place, "subtype": "message_changed", "message": edited, "previous_message": edited}
            )
            platform.tell({**place, "subtype": "message_deleted", "previous_message": look})
            tombstone = {**room, "subtype": "tombstone"}
            gone = {"message": tombstone, "previous_message": room}
            platform.tell(
                {**place, "channel": ROOM, "channel_type": "channel", "subtype": "message_changed", **gone}
            )
            events = [await asyncio.wait_for(heard.events.get(), 20) for _ in range(12)]
        assert heard.events.empty()
        names = [each.message_id for each in events]
        assert names[1] == names[2] == f"{ROOM}.{asked['ts']}"
        assert [(each.text, each.is_addressed, each.chat.topic) for each in events[:6]] == [
            ("just talking", False, room["ts"]),
            ("ask @Ann & @U404 <b>", True, asked["ts"]),
            ("ask @Ann & @U404 <b>", True, asked["ts"]),
            ("and?", False, asked["ts"]),
            ("yes", True, "1.1"),
            ("beep", False, None),
        ]
        assert (events[1].chat.kind, events[1].chat.title) == ("group", "harbour")
        assert events[1].speaker == Speaker(id=ANN, name="Ann")
        assert events[5].speaker == Speaker(id="B9", is_bot=True)
        private, voice, files, edit, deleted, buried = events[6:]
        assert private.chat == Chat(id=DM, topic="1.1")
        kept = RemoteFile(id="F9", media_type="audio/mp4", filename="a.mp4", size=3)
        assert (voice.voice, voice.files, files.files) == (kept, (), (kept,))
        assert (edit.text, edit.message_id, edit.changes) == ("look!", f"{names[8]}.edit.2.2", names[8])
        assert (deleted.message_id, deleted.changes, deleted.is_deletion) == (
            f"{names[8]}.delete",
            names[8],
            True,
        )
        assert (buried.changes, buried.is_deletion, buried.chat) == (names[0], True, events[0].chat)


@pytest.mark.parametrize("mode", ["websocket", "webhook"])
async def test_a_press_is_heard_and_words_are_for_whoever_pressed(mode: Mode) -> None:
    async with private_chat(mode) as counterpart:
        platform, seen = counterpart.platform, list[AdapterEvent]()
        rows = ((Button("Yes" * 40, "a:1:once"), Button("No", "d:1")), (Button("More", "c:more:"),))
        for topic in ("1700000000.000001", None):
            place = ThreadId("slack", "group", ROOM, topic)
            await counterpart.send("May I?", place, buttons=rows, kind="question")

        async def hear(event: AdapterEvent) -> HeardEvent:
            seen.append(event)
            return HeardEvent(status="accepted", told="Got <it>.")

        presses = [platform.make_press(each, "No") for each in platform.by_apps(ROOM)]
        if mode == "webhook":
            for press in presses:
                assert (await counterpart.adapter.answer_hook(push(press), hear)).status == 200
        else:
            counterpart.app.pending.clear()
            for press in presses:
                platform.deliver(counterpart.app, press, "interactive")
            heard = Heard()
            heard.hear = hear
            async with listening(counterpart.adapter, heard):
                await platform.until(lambda: not counterpart.app.pending)
        asked = platform.by_apps(ROOM)
        assert [(each.pressed, each.chat.id, each.chat.topic, each.reply_to) for each in seen] == [
            ("d:1", ROOM, "1700000000.000001", f"{ROOM}.{asked[0]['ts']}"),
            ("d:1", ROOM, None, f"{ROOM}.{asked[1]['ts']}"),
        ]
        assert seen[0].speaker == Speaker(id=ANN, name="ann")
        assert seen[0].message_id.startswith(f"{ROOM}.{asked[0]['ts']}.press.")
        assert [each["text"] for each in platform.ephemeral] == ["Got &lt;it&gt;."] * 2
        assert platform.ephemeral[0]["user"] == ANN


async def test_files_go_up_in_pieces_and_are_found_by_their_key(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    file = OutgoingFile(path=tmp_path / "a.txt", filename="ä & b.txt", media_type="text/plain", size=5)
    place = ThreadId("slack", "group", ROOM, "1700000000.000001")
    async with private_chat() as counterpart:
        platform, adapter = counterpart.platform, counterpart.adapter
        await counterpart.send("look", place, file=file)
        message = OutgoingMessage(thread_id=counterpart.thread_id, file=file, key="f" * 32)
        platform.troubles.append(LostError())
        with pytest.raises(SendError):
            await adapter.send(message)
        [shown], [alone] = platform.by_apps(ROOM), platform.by_apps(DM)
        assert (shown["thread_ts"], platform.texts(ROOM)) == ("1700000000.000001", ["look"])
        assert (shown["files"][0]["content"], platform.texts()) == (b"words", ["ä & b.txt"])
        assert await adapter.find(message) == f"{DM}.{alone['ts']}"
        await adapter.edit(f"{DM}.{alone['ts']}", message)
        # Half of a file is none.
        with pytest.raises(SendRefusedError):
            await counterpart.send(file=OutgoingFile(path=tmp_path, filename="x", media_type="x/y", size=5))
        kept = platform.files["F0"]
        kept["url_private_download"] = f"{platform.url.removesuffix('/api')}/download/F0"
        pieces = [piece async for piece in adapter.fetch(RemoteFile(id="F0"))]
        assert b"".join(pieces) == b"words"
        # The token goes to nobody else.
        kept["url_private_download"] = "https://evil.example/slack.com/F0"
        with pytest.raises(SendRefusedError, match="file_not_found"):
            [piece async for piece in adapter.fetch(RemoteFile(id="F0"))]


async def test_limits_refusals_and_silence_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async with private_chat() as counterpart:
        platform, adapter = counterpart.platform, counterpart.adapter
        for trouble, kind, words in (
            (RefusedError("ratelimited", 429, retry_after="3600"), SendLaterError, "429"),
            (RefusedError("token_revoked"), SendLaterError, "token_revoked"),
            (RefusedError("msg_too_long"), SendRefusedError, "msg_too_long"),
            (RefusedError("internal_error"), SendError, "nobody knows"),
            (RefusedError("x", 503), SendError, "nobody knows"),
        ):
            platform.troubles.append(trouble)
            with pytest.raises(SendError, match=words) as error:
                await counterpart.send()
            assert type(error.value).__mro__[kind is SendRefusedError] is kind
            assert getattr(error.value, "retry_after", None) == (3600 if "429" in words else None)
            assert getattr(error.value, "everywhere", False) is (words == "token_revoked")
        # Looks that are refused: the words go plainly.
        platform.troubles.append(RefusedError("invalid_blocks"))
        await counterpart.send("**a** < b")
        assert (platform.by_apps()[0]["blocks"], platform.texts()) == ([], ["**a** < b"])
        # Words that are all escapes fill several sections of one message.
        await counterpart.send("& " * 1500)
        assert len(platform.by_apps()[1]["blocks"]) == 3
        monkeypatch.setattr(slack, "PAGE", 2)
        wanted = OutgoingMessage(thread_id=counterpart.thread_id, text="x", key="w" * 32)
        sent_id = await adapter.send(wanted)
        for _ in range(7):
            await counterpart.send()
        assert await adapter.find(wanted) == sent_id
        for _ in range(7):
            await counterpart.send()
        with pytest.raises(SendError, match="too much was said"):
            await adapter.find(wanted)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"token": ""}, "slack.token"),
        ({"app_token": "${SLACK_APP_TOKEN}"}, "slack.appToken"),
        ({"mode": "webhook", "signing_secret": ""}, "slack.signingSecret"),
        ({"mode": "webhook", "signing_secret": "a secret with spaces"}, "slack.signingSecret"),
    ],
)
def test_without_what_it_needs_it_is_not_made(values: dict[str, str], words: str) -> None:
    given: Any = {"token": "xoxb-0123456789", "app_token": "xapp-0123456789", **values}
    with pytest.raises(ConfigError, match=words) as error:
        SlackAdapter("slack", SlackSettings(**given))
    assert not any(value in str(error.value) for value in values.values() if "secret" in value)


async def test_two_apps_in_one_channel_answer_people_and_never_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "map.txt").write_text("here")
    act, aye = Probe("act", acts=True), "Aye <@U80MATE> <@U81COOK>."
    acting = [say("May I?"), call("act", mark="x"), call("send_file", path="map.txt")]
    model = ScriptedModel([aye, aye, acting, "Done.", "Last."])
    async with SlackPlatform() as platform:
        apps = {name: platform.add_app(name) for name in ("mate", "cook")}
        adapters = {
            name: {"kind": "slack", "apiUrl": platform.url, "token": app.token, "appToken": app.app_token}
            for name, app in apps.items()
        }
        rules = {"allow": ["send_file(*)"]}
        async with open_platforms(tmp_path, model, adapters, [act, SendFile()], permissions=rules) as ship:
            asked = platform.say("<@U80MATE> <@U81COOK> ahoy", ROOM)
            platform.tell({**asked, "type": "app_mention"})
            await platform.until(lambda: len(platform.by_apps(ROOM)) == 2)
            below = {"thread_ts": asked["ts"]}
            platform.troubles.append(RefusedError("ratelimited", 429, retry_after="0"))
            again = platform.say("<@U80MATE> act, and bring the map", ROOM, **below)
            platform.tell(again)

            def questions() -> list[Any]:
                return [each for each in platform.by_apps(ROOM) if len(each["blocks"]) > 1]

            await platform.until(lambda: bool(questions()))
            [question] = questions()
            platform.deliver(apps["mate"], platform.make_press(question, "✅ Yes, once"), "interactive")
            await platform.wait("Done.", "Allowed.", "map.txt")
            assert (act.marks, questions()) == (["x"], [])
            platform.say("<@U81COOK> anything left?", ROOM, **below)
            await platform.wait("Last.")
            said: dict[str, list[str]] = {}
            for name in adapters:
                thread = await ship.threads.read(ThreadId(name, "group", ROOM, asked["ts"]))
                said[name] = [text_of(row) for row in thread.messages if row["role"] == "user"]
            assert said == {
                "mate": ["@U81COOK ahoy", "act, and bring the map"],
                "cook": ["@U80MATE  ahoy", "anything left?"],
            }
            assert {each["thread_ts"] for each in platform.by_apps(ROOM)} == {asked["ts"]}
            await platform.until(lambda: not any(app.pending for app in apps.values()))
    ours = [each.getMessage() for each in caplog.records if each.name != "websockets.server"]
    assert "SECRET" not in str(ours)


async def test_slack_calls_at_the_hook_of_the_server(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    model = ScriptedModel([[say("May I?"), call("write_file", path="a.md", content="x")], "Done."])
    async with SlackPlatform() as platform:
        app = platform.add_app()
        secrets = {"token": app.token, "signingSecret": SIGNING_SECRET}
        adapter = {"mode": "webhook", "open": True, "apiUrl": platform.url, **secrets}
        (tmp_path / "ship.json").write_text(json.dumps({"adapters": {"slack": adapter}}))
        async with serving(make_site(tmp_path, opener_for(model))) as served, served.stranger() as stranger:
            await served.ship()

            async def post(request: HookRequest) -> int:
                headers = dict(request.headers)
                return (
                    await stranger.post("/hooks/slack", content=request.body, headers=headers)
                ).status_code

            payload = platform.make_callback(platform.make_message("go", DM, ANN))
            first = push(payload)
            assert [await post(first), await post(first)] == [200, 403]
            # Slack signs anew what it delivers again.
            assert await post(push(payload, at=time.time() - 60)) == 200
            await platform.until(lambda: any(len(each["blocks"]) > 1 for each in platform.by_apps()))
            [question] = [each for each in platform.by_apps() if len(each["blocks"]) > 1]
            assert await post(push(platform.make_press(question, "❌ No"))) == 200
            await platform.wait("Done.")
            await served.idle()
        assert [text for text in platform.texts() if text == "Done."] == ["Done."]
