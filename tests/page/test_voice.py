"""A person speaks to the page: it records, shows the words that were heard, and plays what was said."""

from __future__ import annotations

import io
import json
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.page.conftest import AGENT
from tests.support.audio_server import AudioServer, serve_aside
from tests.support.page import OpenPage, violations

UNTIL_LOUD = """(meter) => new Promise((done) => {
  const look = () => meter.value > 0.1 ? done() : requestAnimationFrame(look);
  look();
})"""


@pytest.fixture
def audio() -> Iterator[AudioServer]:
    with serve_aside("What is the tide?") as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, audio: AudioServer) -> Path:
    (tmp_path / "Agent.md").write_text(AGENT)
    (tmp_path / "ship.json").write_text(json.dumps({"speech": {"transcriber": audio.endpoint}}))
    return tmp_path


def test_m8_what_is_spoken_is_heard_shown_as_words_and_played(
    open_page: OpenPage, audio: AudioServer
) -> None:
    watched = open_page()
    page = watched.page
    page.context.grant_permissions(["microphone"])
    page.get_by_role("button", name="Record a voice message").click()
    recording = page.get_by_role("group", name="Recording a voice message")
    expect(recording.get_by_role("timer")).to_be_visible()
    page.keyboard.press("Escape")
    expect(recording).to_have_count(0)
    page.get_by_role("button", name="Record a voice message").click()
    # The browser's microphone beeps once a second.
    recording.get_by_role("meter").evaluate(UNTIL_LOUD)
    assert violations(page) == []
    watched.shoot("recording")
    expect(recording.get_by_role("timer")).not_to_have_text("0:00")
    page.keyboard.press("Enter")
    asked = page.locator(".message.user")
    expect(asked).to_contain_text("What is the tide?")
    expect(asked.get_by_role("img", name="Spoken; these words were heard")).to_be_visible()
    expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    [(_, fields)] = audio.asked
    assert (fields["file"]["name"], fields["file"]["type"]) == ("voice.wav", "audio/wav")
    with wave.open(io.BytesIO(fields["file"]["data"])) as sound:
        assert (sound.getnchannels(), sound.getframerate(), sound.getsampwidth()) == (1, 16_000, 2)
        assert sound.getnframes() > 8_000
        assert max(sound.readframes(sound.getnframes())) > 0
    page.reload()
    player = asked.locator("audio")
    expect(player).to_have_attribute("aria-label", "voice.wav")
    length = player.evaluate(
        "async (sound) => { sound.muted = true; await sound.play(); sound.pause(); return sound.duration }"
    )
    assert length > 0.5
    # What cannot be understood is told, and heard again when the person wants that.
    audio.troubles.append(("503 Down", '{"error":{"message":"come back later"}}'))
    page.get_by_role("button", name="Record a voice message").click()
    recording.get_by_role("meter").evaluate(UNTIL_LOUD)
    page.get_by_role("button", name="Send voice message").click()
    expect(page.locator(".message.assistant").last).to_contain_text("503: come back later")
    page.get_by_role("button", name="Answer again").last.click()
    expect(asked.last).to_contain_text("What is the tide?")
    watched.shoot("voice")
    settings = open_page("#/settings", same_as=watched).page
    expect(settings.get_by_text("through 127.0.0.1: Chinese, English")).to_be_visible()
