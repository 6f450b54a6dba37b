"""Members speak and listen on request, where ship.json lets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.speech.stt_transcribe import Transcribe, TranscribeArguments
from shipmate.tools.speech.tts_speak import Speak, SpeakArguments
from shipmate.tools.tool import ToolContext
from shipmate.tools.toolset import default_toolset
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.member import captain_of
from shipmate.workspace.upload import ADDRESS, is_voice
from tests.support.audio_server import KEY, SOUND, AudioServer


async def test_m8_a_member_speaks_and_listens_on_request(tmp_path: Path) -> None:
    async with AudioServer("The tide is low.") as audio:
        asked = {"transcriber": audio.endpoint, "speaker": audio.endpoint, "tools": True}
        (tmp_path / "ship.json").write_text(json.dumps({"speech": asked}))
        (tmp_path / "Agent.md").write_text("# Captain\n")
        (tmp_path / "note.ogg").write_bytes(SOUND)
        layout = Layout(tmp_path)
        member = captain_of(layout, load_config(layout, {}).config)
        toolset = default_toolset(member)
        speak, listen = toolset.get("tts_speak"), toolset.get("stt_transcribe")
        assert isinstance(speak, Speak)
        assert isinstance(listen, Transcribe)
        context = ToolContext(member=member, thread_id="web:room:1", run_id="run", call_id="call")
        said = await speak.run(SpeakArguments("Low tide."), context)
        found = context.uploads.find(said.files[0]["url"].removeprefix(ADDRESS))
        assert found is not None
        assert (is_voice(found[0]), found[1].read_bytes()) == (True, SOUND)
        heard = await listen.run(TranscribeArguments("note.ogg"), context)
        assert heard.output == "The tide is low."
        labels = listen.labels_for(TranscribeArguments("note.ogg"))
        assert (labels.reads_private, labels.reads_untrusted, labels.acts) == (True, True, False)
        for path, fields in audio.asked:
            assert fields.get("input", "Low tide.") == "Low tide.", path
        audio.troubles += [("500 X", KEY), ("500 X", KEY)]
        for run in (
            speak.run(SpeakArguments("x"), context),
            listen.run(TranscribeArguments("note.ogg"), context),
        ):
            with pytest.raises(ToolError, match="answered 500") as raised:
                await run
            assert KEY not in str(raised.value)
        with pytest.raises(ToolError):
            await listen.run(TranscribeArguments("../outside.ogg"), context)
        await toolset.close()


def test_m8_nobody_is_offered_speech_unasked(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    layout = Layout(tmp_path)
    names = default_toolset(captain_of(layout, load_config(layout, {}).config)).names
    assert not {"tts_speak", "stt_transcribe"} & set(names)
