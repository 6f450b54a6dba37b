"""Speech from end to end: a spoken sentence is understood, offline as people have it installed."""

from __future__ import annotations

import asyncio
import io
import time

import pytest

from shipmate.decoding import worker
from shipmate.errors import SpeechError
from shipmate.speech import offline_pair as offline
from shipmate.speech.speech import SIZE_LIMIT, TEXT_LIMIT, Speech, findings, is_installed
from shipmate.workspace.config import SpeechEndpoint, SpeechSettings

SENTENCE = "Tell me a story about a small boat."


@pytest.mark.skipif(not is_installed(), reason="the extra `voice` has no wheels for this machine")
async def test_m8_a_spoken_sentence_becomes_words_and_words_are_spoken() -> None:
    import numpy as np
    import soundfile  # pyright: ignore[reportMissingTypeStubs]

    speech = Speech(SpeechSettings(max_minutes=1), "en", {})
    sound = await speech.speak(SENTENCE)
    assert sound.startswith(b"OggS")
    samples, rate = soundfile.read(io.BytesIO(sound), dtype="float32")
    assert soundfile.info(io.BytesIO(sound)).subtype == "OPUS"
    # As others send it, in two channels.
    made = io.BytesIO()
    soundfile.write(made, np.column_stack([samples, samples]), rate, format="WAV", subtype="PCM_16")
    for data, media_type in ((sound, "audio/ogg"), (made.getvalue(), "audio/wav")):
        words = await speech.transcribe(data, media_type)
        # The voice is a robot's, and the model a small one.
        assert len({*words.lower().strip(".").split()} & {*SENTENCE.lower().strip(".").split()}) >= 6, words
    quiet, long = io.BytesIO(), io.BytesIO()
    soundfile.write(quiet, np.zeros(16_000), 16_000, format="WAV")
    soundfile.write(long, np.zeros(61 * 8_000), 8_000, format="FLAC")
    for data, why in (
        (quiet.getvalue(), "no words"),
        (long.getvalue(), "longer than 1 minutes"),
        (b"OggS and then nothing that could be played", "cannot be read"),
        (b"\x1aE\xdf\xa3 something a browser made", "cannot be read"),
    ):
        with pytest.raises(SpeechError, match=why):
            await speech.transcribe(data, "audio/ogg")
    await speech.close()
    # Loaded when it was needed, and gone with its process.
    assert any(key.startswith(offline.MODULE) for key in worker._idle)  # pyright: ignore[reportPrivateUsage]


async def test_m8_limits_are_told_before_anything_is_asked() -> None:
    asked = SpeechEndpoint(base_url="http://127.0.0.1:1/v1")
    speech = Speech(SpeechSettings(transcriber=asked, speaker=asked), "en", {})
    began = time.monotonic()
    with pytest.raises(SpeechError, match="larger than 20 MB"):
        await speech.transcribe(bytes(SIZE_LIMIT + 1), "audio/ogg")
    with pytest.raises(SpeechError, match="longer than 4,000 characters"):
        await speech.speak("a" * (TEXT_LIMIT + 1))
    with pytest.raises(SpeechError, match="nothing to say"):
        await speech.speak(" … ")
    assert time.monotonic() - began < asked.timeout_seconds


async def test_m8_what_is_missing_is_said_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipmate.speech.speech.is_installed", lambda: False)
    speech = Speech(SpeechSettings(), "zh", {})
    with pytest.raises(SpeechError, match="请安装附加包 `voice`"):
        await speech.transcribe(b"OggS", "audio/ogg")
    with pytest.raises(SpeechError, match=r"speech\.speaker\.baseUrl"):
        await speech.speak("hello")
    told = findings(SpeechSettings(speaker=SpeechEndpoint(base_url="https://user:pw@speech.example/v1")))
    assert [(each.level, each.message) for each in told] == [
        ("ok", "not set up"),
        ("ok", "through speech.example: Chinese, English and what else its model knows"),
    ]
    assert "extra `voice`" in told[0].fix
    monkeypatch.setattr("shipmate.speech.speech.is_installed", lambda: True)
    assert [each.message for each in findings(SpeechSettings())] == [
        "offline: English",
        "offline: English, and Chinese like a robot",
    ]


async def test_m8_a_recording_that_is_given_up_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        offline,
        "TRANSCRIBE",
        worker.Work(function="time:sleep", subject="the recording", seconds=60, memory=1_000_000_000),
    )
    begun = asyncio.create_task(offline.OfflinePair("en", 1).transcribe(b"", "audio/ogg"))
    await asyncio.sleep(0)
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun
