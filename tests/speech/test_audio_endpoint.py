"""A server of OpenAI's protocol is asked as OpenAI's own library asks it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest

from shipmate.errors import SpeechError
from shipmate.speech.audio_endpoint import AudioEndpoint
from shipmate.workspace.config import SpeechEndpoint
from tests.support.audio_server import KEY, SOUND, AudioServer
from tests.support.raw_server import RawServer, Visit


def endpoint(url: str, **values: Any) -> AudioEndpoint:
    return AudioEndpoint(SpeechEndpoint(base_url=url, api_key=KEY, **values), "en", {})


async def test_m8_requests_are_those_of_the_official_library() -> None:
    async with AudioServer("Ahoy there.") as audio:
        own = endpoint(audio.url, model="whisper-1", language="en", voice="alloy", format="mp3")
        sdk = openai.AsyncOpenAI(base_url=audio.url, api_key=KEY)
        heard = await sdk.audio.transcriptions.create(
            file=("voice.ogg", SOUND, "audio/ogg"), model="whisper-1", language="en", response_format="json"
        )
        assert (heard.text, await own.transcribe(SOUND, "audio/ogg")) == ("Ahoy there.", "Ahoy there.")
        said = await sdk.audio.speech.create(
            input="ahoy", model="whisper-1", voice="alloy", response_format="mp3"
        )
        assert (said.content, await own.speak("ahoy")) == (SOUND, SOUND)
        assert audio.asked[0] == audio.asked[1]
        assert audio.asked[2] == audio.asked[3]
        # What only a name tells a server: the kind of a recording.
        await own.transcribe(b"RIFF", "audio/wav")
        assert audio.asked[-1][1]["file"] == {"name": "voice.wav", "data": b"RIFF", "type": "audio/wav"}
        await sdk.close()
        await own.close()


async def test_m8_what_goes_wrong_is_told_without_the_key() -> None:
    async with AudioServer() as audio:
        own = endpoint(audio.url, timeout_seconds=20)
        for status, body, why in (
            ("429 Too Many", '{"error":{"message":"slow down"}}', "127.0.0.1 answered 429: slow down"),
            ("400 Bad", '{"detail":"no such\\n model"}', "answered 400: no such model"),
            ("500 X", f"<p>{KEY}</p>", r"answered 500: <p>\*\*\*</p>"),
            ("200 OK", "[]", "nothing that can be read"),
            ("200 OK", '{"text":7}', "nothing that can be read"),
        ):
            audio.troubles.append((status, body))
            with pytest.raises(SpeechError, match=why) as raised:
                await own.transcribe(SOUND, "audio/ogg")
            assert KEY not in str(raised.value)
        audio.sound = b""
        with pytest.raises(SpeechError, match="nothing that can be read"):
            await own.speak("ahoy")
        wrong = AudioEndpoint(SpeechEndpoint(base_url=audio.url, api_key="sk-other"), "en", {})
        with pytest.raises(SpeechError, match="401") as raised:
            await wrong.speak("ahoy")
        assert "sk-other" not in str(raised.value)
        audio.held = asyncio.Event()
        late = endpoint(audio.url, timeout_seconds=0.05)
        with pytest.raises(SpeechError, match=r"did not answer within 0.05 seconds"):
            await late.transcribe(SOUND, "audio/ogg")
        for each in (own, wrong, late):
            await each.close()


async def test_s4_the_key_goes_to_no_other_address() -> None:
    async def redirect(visit: Visit) -> None:
        await visit.answer("", status="307 Elsewhere", more=f"location: {other.url}/v1/audio/speech\r\n")

    async with AudioServer() as other, RawServer(redirect) as server:
        own = endpoint(f"{server.url}/v1")
        with pytest.raises(SpeechError):
            await own.speak("ahoy")
        assert other.asked == []
        assert json.loads(server.visits[0].body)["input"] == "ahoy"
        await own.close()
