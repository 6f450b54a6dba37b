"""Spoken messages become words before their turn: once, durably, and what fails is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from shipmate.adapters.memory_platform import MemoryPlatform
from shipmate.app import Shipmate
from shipmate.delivery.reception.transcribing import take_voice
from shipmate.models.scripted import ScriptedModel, hold, say
from shipmate.thread.service import Thread
from shipmate.values.adapter_event import RemoteFile
from shipmate.values.event import Attachment, TextEvent, VoiceEvent
from shipmate.values.message import UIMessage, metadata_of, text_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.upload import ADDRESS
from tests.support.audio_server import KEY, SOUND, AudioServer
from tests.support.chat import open_chat

CHAT = ThreadId("memory", "dm", "1")


def voice(size: int | None = None) -> RemoteFile:
    return RemoteFile(id="v", media_type="audio/ogg", filename="voice.ogg", size=size)


def heard(audio: AudioServer) -> list[bytes]:
    return [fields["file"]["data"] for path, fields in audio.asked if path.endswith("transcriptions")]


async def read(ship: Shipmate) -> Thread:
    return await ship.threads.read(CHAT)


def sound_of(ship: Shipmate, message: UIMessage) -> bytes:
    [part] = [part for part in message["parts"] if part["type"] == "file"]
    found = ship.uploads.find(part["url"].removeprefix(ADDRESS))
    assert found is not None
    return found[1].read_bytes()


async def test_m8_a_voice_message_is_answered_by_its_words_and_its_audio_is_kept(tmp_path: Path) -> None:
    async with AudioServer("What is the tide?") as audio:
        model = ScriptedModel(["Low."])
        async with open_chat(tmp_path, model, speech={"transcriber": audio.endpoint}) as (ship, platform):
            platform.files["v"] = SOUND
            await platform.say("for Friday", voice=voice())
            await platform.wait("Low.")
            asked, _ = (await read(ship)).messages
            assert text_of(asked) == "for Friday\n\nWhat is the tide?"
            assert metadata_of(asked)["spoken"] is True
            assert (sound_of(ship, asked), heard(audio)) == (SOUND, [SOUND])
            assert 'speaker: "user 1"' in str(model.requests[0])
            assert KEY not in (tmp_path / ".ship" / "inbox.jsonl").read_text()
            # Spoken only when asked for: nothing was.
            assert [each.filename for each in platform.in_chat("1")] == [""]


async def test_m8_what_cannot_be_understood_is_told_kept_and_heard_again(tmp_path: Path) -> None:
    async with AudioServer("", "What is the tide?") as audio:
        audio.troubles.append(("503 Down", '{"error":{"message":"come back later"}}'))
        model = ScriptedModel(["Low."])
        async with open_chat(tmp_path, model, speech={"transcriber": audio.endpoint}) as (ship, platform):
            platform.files["v"] = SOUND
            await platform.say("", voice=voice())
            await platform.wait("could not understand the voice message: 127.0.0.1 answered 503: come back")
            [asked, failed] = (await read(ship)).messages
            assert (sound_of(ship, asked), text_of(asked)) == (SOUND, "")
            assert metadata_of(failed)["outcome"] == "failed"
            await platform.say("/retry")
            await platform.wait("there are no words in it")
            platform.files.clear()
            await platform.say("/retry")
            await platform.wait("Low.")
            assert len(heard(audio)) == 3
            assert text_of((await read(ship)).messages[0]) == "What is the tide?"
            assert "What is the tide?" in str(model.requests[0])
            assert len(model.requests) == 1


@pytest.mark.parametrize("step", ["fetched", "heard"])
async def test_m8_a_crash_after_the_message_was_taken_loses_and_doubles_nothing(
    tmp_path: Path, step: str
) -> None:
    """The keeper ends while the server listens, or while the model answers; the next one goes on."""
    async with AudioServer("What is the tide?") as audio:
        speech = {"transcriber": audio.endpoint}
        audio.held, answering = asyncio.Event(), asyncio.Event()
        if step == "heard":
            audio.held.set()
        first = ScriptedModel([[say("Lo"), hold(answering)]])
        async with open_chat(tmp_path, first, speech=speech) as (ship, before):
            before.files["v"] = SOUND
            async with ship.keeper.watch(str(CHAT)) as queue:
                taken = await before.say("", voice=voice(), message_id="1.7")
                await audio.arrived.wait()
                if step == "heard":
                    while not first.requests:
                        await asyncio.wait_for(queue.get(), 20)
        audio.held.set()
        assert taken.status == "accepted"
        platform = MemoryPlatform("memory")
        platform.files["v"] = SOUND
        async with open_chat(tmp_path, ScriptedModel(["Low."]), platform=platform, speech=speech) as (
            ship,
            _,
        ):
            await platform.wait("Low.")
            repeated = await platform.say("", voice=voice(), message_id="1.7")
            assert repeated.status == "repeated"
            messages = (await read(ship)).messages
            assert [text_of(each) for each in messages if each["role"] == "user"] == ["What is the tide?"]
            # What was understood is not asked for twice.
            assert len(heard(audio)) == (1 if step == "heard" else 2)
            assert [each.text for each in platform.in_chat("1")] == ["Low."]


async def test_m8_forty_megabytes_are_refused_unread_and_in_words(tmp_path: Path) -> None:
    async with AudioServer() as audio:
        model = ScriptedModel([])
        async with open_chat(tmp_path, model, speech={"transcriber": audio.endpoint}) as (ship, platform):
            # There is nothing to fetch: whoever tried would be told that.
            await platform.say("", voice=voice(40 * 1024 * 1024))
            await platform.wait("larger than the 20 MB")
            platform.files["v"] = bytes(40 * 1024 * 1024)
            await platform.say("", voice=voice())
            while sum("larger than" in each.text for each in platform.in_chat("1")) < 2:
                await platform.changed.wait()
            assert (heard(audio), model.requests) == ([], [])
            assert not list(ship.layout.uploads.glob("up_*")) if ship.layout.uploads.exists() else True
            said = [text_of(each) for each in (await read(ship)).messages if each["role"] == "user"]
            assert all("voice.ogg could not be fetched" in each for each in said)


async def test_m8_hearing_can_be_stopped(tmp_path: Path) -> None:
    async with AudioServer() as audio:
        audio.held = asyncio.Event()
        speech = {"transcriber": audio.endpoint}
        async with open_chat(tmp_path, ScriptedModel([]), speech=speech) as (ship, platform):
            platform.files["v"] = SOUND
            await platform.say("", voice=voice())
            await audio.arrived.wait()
            assert await ship.keeper.stop(str(CHAT))
            await platform.wait("stopped")
            [asked, ended] = (await read(ship)).messages
            assert (sound_of(ship, asked), metadata_of(ended)["outcome"]) == (SOUND, "stopped")


async def test_m8_answers_are_spoken_where_people_chose_so(tmp_path: Path) -> None:
    async with AudioServer("What is the tide?") as audio:
        speech = {"transcriber": audio.endpoint, "speaker": audio.endpoint, "reply": "voice"}
        model = ScriptedModel(
            ["**Low** at [six](https://tide.example).\n\n```\ncode\n```", "Two.", "Three.", "Four.", "Five."]
        )
        async with open_chat(tmp_path, model, speech=speech) as (_, platform):

            async def spoken(count: int) -> list[str]:
                while sum(bool(each.filename) for each in platform.in_chat("1")) < count:
                    await platform.changed.wait()
                return [fields["input"] for path, fields in audio.asked if path.endswith("speech")]

            platform.files["v"] = SOUND
            await platform.say("", voice=voice())
            assert await spoken(1) == ["Low at six."]
            [words, file] = platform.in_chat("1")
            assert (words.text[:7], file.filename, file.content) == ("**Low**", "voice.ogg", SOUND)
            # Written words are answered in writing, unless this chat wants it otherwise.
            await platform.say("and tomorrow?")
            await platform.wait("Two.")
            await platform.say("/voice always")
            await platform.wait("I speak every answer")
            # An answer that cannot be spoken is still written.
            audio.troubles.append(("500 X", "{}"))
            await platform.say("really?")
            await platform.wait("Three.")
            await platform.say("sure?")
            assert (await spoken(2))[1:] == ["Three.", "Four."]
            await platform.say("/voice off")
            await platform.wait("only when you ask")
            await platform.say("", voice=voice())
            await platform.wait("Five.")
            assert len(await spoken(2)) == 3


def make(text: str = "", *files: Attachment, **values: Any) -> TextEvent:
    return TextEvent(
        platform="web",
        thread_id="web:room:1",
        user_id="owner",
        message_id="m",
        timestamp="",
        text=text,
        attachments=files,
        **values,
    )


def test_m8_a_recording_alone_is_spoken_and_anything_else_is_not() -> None:
    sound = Attachment(url=f"{ADDRESS}up_1", media_type="audio/wav")
    picture = Attachment(url=f"{ADDRESS}up_2", media_type="image/png")
    given = make("", sound, model="openai:x", extra_context="here")
    taken = take_voice(given)
    assert isinstance(taken, VoiceEvent)
    assert (taken.audio, taken.model, taken.extra_context) == (sound, "openai:x", "here")
    own = Attachment(url=f"{ADDRESS}up_1", media_type="audio/wav", filename="voice.wav")
    beside = take_voice(make("for Friday", own))
    assert isinstance(beside, VoiceEvent)
    assert beside.text == "for Friday"
    elsewhere = Attachment(url="data:audio/wav;base64,UklGRg==", media_type="audio/wav")
    for other in (
        make("what is this?", sound),
        make("", sound, picture),
        make("", picture),
        make("", elsewhere),
    ):
        assert take_voice(other) is other
