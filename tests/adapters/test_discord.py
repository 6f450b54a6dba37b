"""A bot on Discord does what every adapter does, and what only Discord has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from shipmate.adapters import discord
from shipmate.adapters.discord import DiscordAdapter, DiscordSettings
from shipmate.delivery.adapter import Button, OutgoingFile, OutgoingMessage
from shipmate.errors import ConfigError, SendError, SendLaterError, SendRefusedError
from shipmate.models.scripted import ScriptedModel, call, say
from shipmate.tools.file.send_file import SendFile
from shipmate.values.adapter_event import AdapterEvent, Chat, HeardEvent, RemoteFile, Speaker
from shipmate.values.message import text_of
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, Check, Heard, listening
from tests.support.discord_platform import ANN, DM, ROOM, THREAD, DiscordPlatform, LostError, RefusedError
from tests.support.platform_ship import open_platforms
from tests.support.workspace import Probe

ROOM_THREAD = ThreadId("discord", "group", ROOM)
LIMITED = "You are being rate limited."


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord, "RESUME_PAUSE", (0.0, 0.0))
    monkeypatch.setattr(discord, "IDENTIFY_PAUSE", (0.0, 0.0))


class DiscordCounterpart:
    """A private chat with a bot."""

    def __init__(self, platform: DiscordPlatform) -> None:
        self.platform = platform
        settings = DiscordSettings(token=platform.add_bot().token, api_url=platform.url)
        self.adapter = DiscordAdapter("discord", settings)
        self.thread_id = ThreadId("discord", "dm", DM)

    async def say(self, text: str) -> None:
        await self.platform.listened()
        self.platform.say(text)

    def texts(self) -> list[str]:
        return self.platform.texts()

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        troubles = {
            "later": RefusedError(429, LIMITED, retry_after=2.0, **{"global": False}),
            "refused": RefusedError(403, "Cannot send messages to this user", 50007),
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
async def private_chat() -> AsyncGenerator[DiscordCounterpart]:
    async with DiscordPlatform() as platform:
        counterpart = DiscordCounterpart(platform)
        try:
            yield counterpart
        finally:
            await counterpart.adapter.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    async with private_chat() as counterpart:
        await check(counterpart)


async def test_whatever_ends_a_connection_nothing_is_lost_or_heard_twice() -> None:
    async with private_chat() as counterpart:
        platform, heard = counterpart.platform, Heard()
        async with listening(counterpart.adapter, heard):

            async def hears(*words: str) -> None:
                said = [await asyncio.wait_for(heard.events.get(), 20) for _ in words]
                assert [each.text for each in said] == [*words]
                assert heard.events.empty()

            await counterpart.say("one")
            await hears("one")
            [session] = platform.sessions.values()
            platform.cut()
            platform.say("two")
            platform.say("three")
            await hears("two", "three")
            # The greeting and one message were heard before the cut.
            assert session.resumed_after == [2]
            await platform.send_to_all({"op": 7, "d": None})
            await platform.until(lambda: len(session.resumed_after) == 2)
            await counterpart.say("four")
            await hears("four")
            # A beat that nobody hears ends a connection; one that is asked for does not.
            await platform.send_to_all({"op": 1, "d": None})
            await platform.until(lambda: len(session.beats) > 0)
            platform.beat_milliseconds, platform.is_deaf = 20, True
            platform.cut()
            await platform.until(lambda: len(session.resumed_after) >= 5)
            platform.beat_milliseconds, platform.is_deaf = 40_000, False
            platform.cut()
            await counterpart.say("five")
            await hears("five")
            # Discord has forgotten the session, and tells in a new one nothing of what was said before.
            platform.sessions.clear()
            platform.cut_all()
            platform.say("six")
            await hears("six")
            await platform.listened()
            await counterpart.say("seven")
            await hears("seven")
            assert len(platform.sessions) == 1


async def test_it_hears_who_says_what_where_and_to_whom() -> None:
    async with private_chat() as counterpart:
        platform, heard, me = counterpart.platform, Heard(), "8000"
        ours = await counterpart.send("hello", ROOM_THREAD)
        mine = platform.messages[ours.partition(".")[2]]
        other = platform.add_bot("Other").user
        file = {"id": "5", "filename": "a.ogg", "content_type": "audio/ogg; x", "size": 3, "url": ""}
        async with listening(counterpart.adapter, heard):
            await platform.listened()
            platform.tell("TYPING_START", {"channel_id": DM})
            platform.tell("MESSAGE_CREATE", {"id": "1", "content": 7})
            platform.say("just talking", ROOM)
            platform.say(f"<@{me}> ask <@1> at <#{ROOM}>", ROOM)
            platform.say("yes", ROOM, referenced_message=mine, type=19)
            platform.say("in a thread", THREAD)
            platform.say("joined", ROOM, type=7)
            platform.say("beep", ROOM, other)
            platform.say("hook", ROOM, webhook_id="3")
            platform.say("", DM, flags=1 << 13, attachments=[file])
            platform.say("look", DM, attachments=[file])
            said = platform.say("frist")
            platform.change(said)
            platform.change(said, "first")
            platform.tell("MESSAGE_DELETE", {"id": said["id"], "channel_id": DM})
            platform.tell("MESSAGE_DELETE_BULK", {"ids": [said["id"], "404"], "channel_id": DM})
            events = [await asyncio.wait_for(heard.events.get(), 20) for _ in range(12)]
        assert heard.events.empty()
        assert [(each.text, each.is_addressed, each.speaker.is_bot) for each in events[:6]] == [
            ("just talking", False, False),
            ("ask @Ann at <#600>", True, False),
            ("yes", True, False),
            ("in a thread", False, False),
            ("beep", False, True),
            ("hook", False, True),
        ]
        assert events[1].chat == Chat(id=ROOM, kind="group", title="harbour")
        assert events[1].speaker == Speaker(id="1", name="Ann")
        assert events[2].reply_to == ours
        assert events[3].chat == Chat(id=ROOM, kind="group", topic=THREAD, title="tides")
        voice, look, first, edit, gone, again = events[6:]
        place = f"/channels/{DM}/messages/{look.message_id.partition('.')[2]}/5"
        kept = RemoteFile(id=place, media_type="audio/ogg", filename="a.ogg", size=3)
        assert (voice.voice is not None, voice.files, look.files) == (True, (), (kept,))
        name = f"{DM}.{said['id']}"
        assert (first.message_id, edit.text, edit.changes) == (name, "first", name)
        assert edit.message_id.startswith(f"{name}.edit.")
        assert [(each.message_id, each.changes, each.is_deletion) for each in (gone, again)] == [
            (f"{name}.delete", name, True)
        ] * 2
        assert gone.speaker == Speaker(id="1", name="Ann")


async def test_a_press_is_answered_before_it_is_heard_and_words_are_for_whoever_pressed() -> None:
    async with private_chat() as counterpart:
        platform = counterpart.platform
        rows = (tuple(Button(f"{number}" * 90, f"a:{number}") for number in range(6)), (Button("No", "d:1"),))
        await counterpart.send("May I?", ROOM_THREAD, buttons=rows, kind="question")
        [question] = platform.by_bots(ROOM)
        assert [len(each["components"]) for each in question["components"]] == [5, 2]
        seen: list[tuple[AdapterEvent, int]] = []

        async def hear(event: AdapterEvent) -> HeardEvent:
            seen.append((event, len(platform.pressed)))
            return HeardEvent(status="accepted", told="Got it.")

        heard = Heard()
        heard.hear = hear
        async with listening(counterpart.adapter, heard):
            await platform.listened()
            token = platform.press(question, "No")
            await platform.until(lambda: len(platform.pressed) == 2)
        event, answered = next(each for each in seen if each[0].pressed)
        assert (event.pressed, event.chat, answered) == (
            "d:1",
            Chat(id=ROOM, kind="group", title="harbour"),
            1,
        )
        assert (event.speaker, event.reply_to) == (Speaker(id="1", name="Annie"), f"{ROOM}.{question['id']}")
        assert platform.pressed == [(token, {"type": 6}), (token, {"content": "Got it.", "flags": 64})]


async def test_it_answers_in_place_and_calls_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    file = OutgoingFile(path=tmp_path / "a.txt", filename='a"ü.txt', media_type="text/plain", size=5)
    async with private_chat() as counterpart:
        platform = counterpart.platform
        asked = platform.make_message("?", ROOM, ANN)
        await counterpart.send(
            "@everyone https://x.example", ROOM_THREAD, reply_to=f"{ROOM}.{asked['id']}.edit.1"
        )
        in_thread = ThreadId("discord", "group", ROOM, THREAD)
        sent_id = await counterpart.send("there", in_thread, file=file, reply_to=f"{ROOM}.1")
        [answer], [shown] = platform.by_bots(ROOM), platform.by_bots(THREAD)
        assert answer["referenced_message"] is asked
        # Nobody fetches what stands behind a link; the server checks that nobody is mentioned.
        assert answer["flags"] == 1 << 2
        assert "referenced_message" not in shown
        assert [*platform.files.values()] == [b"words"]
        number = shown["attachments"][0]["id"]
        shown["attachments"][0]["url"] = f"{platform.url}/cdn/a%22ü.txt".replace("ü", "%C3%BC")
        platform.files["a%22%C3%BC.txt"] = b"words"
        path = f"/channels/{THREAD}/messages/{sent_id.partition('.')[2]}"
        pieces = [piece async for piece in counterpart.adapter.fetch(RemoteFile(id=f"{path}/{number}"))]
        assert b"".join(pieces) == b"words"
        with pytest.raises(SendRefusedError):
            [piece async for piece in counterpart.adapter.fetch(RemoteFile(id=f"{path}/404"))]
        await counterpart.adapter.show_working(in_thread)
        assert platform.calls[-1][:2] == ("POST", f"/channels/{THREAD}/typing")


async def test_limits_are_kept_and_what_surely_was_not_sent_is_known() -> None:
    async with private_chat() as counterpart:
        platform = counterpart.platform
        for trouble, seconds, everywhere in (
            (RefusedError(429, LIMITED, retry_after=3600, **{"global": False}), 3600, False),
            (RefusedError(429, LIMITED, retry_after=3600.5, **{"global": True}), 3600.5, True),
        ):
            platform.troubles.append(trouble)
            with pytest.raises(SendLaterError) as later:
                await counterpart.send()
            assert (later.value.retry_after, later.value.everywhere) == (seconds, everywhere)
        with pytest.raises(SendRefusedError, match="Unknown Channel"):
            await counterpart.send("x", ThreadId("discord", "group", "404"))
        platform.troubles.append(RefusedError(502, "bad gateway"))
        with pytest.raises(SendError) as unknown:
            await counterpart.send()
        assert not isinstance(unknown.value, SendLaterError | SendRefusedError)
        # The last of a bucket: the next is not even asked for, in this channel.
        platform.headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "3600"}
        await counterpart.send("last")
        platform.headers = {}
        asked = len(platform.calls)
        with pytest.raises(SendLaterError) as full:
            await counterpart.send()
        assert 3500 < (full.value.retry_after or 0) <= 3600
        assert len(platform.calls) == asked
        await counterpart.send("elsewhere", ROOM_THREAD)


async def test_what_cannot_work_is_said_without_the_token() -> None:
    for token in ("", "${DISCORD_TOKEN}", "short", "a secret with spaces in it"):
        with pytest.raises(ConfigError, match="developers") as error:
            DiscordAdapter("discord", DiscordSettings(token=token))
        assert not token or token == "${DISCORD_TOKEN}" or token not in str(error.value)
    async with private_chat() as counterpart:
        platform, heard = counterpart.platform, Heard()
        [bot] = platform.bots.values()
        platform.intents = 0
        with pytest.raises(ConfigError, match="Message Content Intent"):
            await counterpart.adapter.listen(heard.hear)
        platform.bots.clear()
        platform.bots["x"] = bot
        with pytest.raises(SendLaterError, match="does not know the token") as refused:
            await counterpart.adapter.listen(heard.hear)
        assert refused.value.everywhere
        assert bot.token not in str(refused.value)


async def test_two_bots_in_one_room_answer_people_and_never_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "map.txt").write_text("here")
    act, aye = Probe("act", acts=True), "Aye <@8000> <@8001>."
    acting = [say("May I?"), call("act", mark="x"), call("send_file", path="map.txt")]
    model = ScriptedModel([aye, aye, acting, "Done.", "Last."])
    async with DiscordPlatform() as platform:
        adapters = {
            name: {"kind": "discord", "apiUrl": platform.url, "token": platform.add_bot(name).token}
            for name in ("mate", "cook")
        }
        rules = {"allow": ["send_file(*)"]}
        async with open_platforms(tmp_path, model, adapters, [act, SendFile()], permissions=rules) as ship:
            await platform.listened(2)
            ahoy = platform.say("<@8000> <@8001> ahoy", ROOM)
            for _ in range(3):
                platform.tell("MESSAGE_CREATE", {**ahoy, "guild_id": "9"})
            await platform.until(lambda: len(platform.by_bots(ROOM)) == 2)
            platform.troubles.append(RefusedError(429, LIMITED, retry_after=0.01, **{"global": False}))
            platform.say("<@8000> act, and bring the map", ROOM)
            await platform.until(lambda: any(each["components"] for each in platform.by_bots(ROOM)))
            [question] = [each for each in platform.by_bots(ROOM) if each["components"]]
            platform.press(question, "✅ Yes, once")
            await platform.wait("Done.", "Allowed.")
            await platform.until(lambda: "map.txt" in platform.files)
            assert (act.marks, question["components"]) == (["x"], [])
            platform.say("<@8001> anything left?", ROOM)
            await platform.wait("Last.")
            said: dict[str, list[str]] = {}
            for name in adapters:
                thread = await ship.threads.read(ThreadId(name, "group", ROOM))
                said[name] = [text_of(row) for row in thread.messages if row["role"] == "user"]
            assert said == {
                "mate": ["@cook ahoy", "act, and bring the map"],
                "cook": ["@mate  ahoy", "anything left?"],
            }
    ours = [each.getMessage() for each in caplog.records if each.name != "websockets.server"]
    assert "SECRET" not in str(ours)
