"""Speak words into the conversation."""

from __future__ import annotations

import asyncio

import msgspec

from shipmate.errors import SpeechError, ToolError
from shipmate.speech.speech import TEXT_LIMIT, Speech
from shipmate.tools.tool import Tool, ToolContext, ToolResult
from shipmate.workspace.upload import attach_voice


class SpeakArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str


class Speak(Tool[SpeakArguments]):
    """The tool that says something aloud. It does not act: the words go where the member's own go as well."""

    name = "tts_speak"
    description = (
        "Say something aloud: the user gets a voice message. Plain words, no Markdown, "
        f"at most {TEXT_LIMIT:,} characters. Only when they want to hear it."
    )
    arguments = SpeakArguments

    def __init__(self, speech: Speech) -> None:
        self._speech = speech

    async def run(self, arguments: SpeakArguments, context: ToolContext) -> ToolResult:
        try:
            data = await self._speech.speak(arguments.text)
        except SpeechError as error:
            raise ToolError(f"Nothing was said: {error}.") from error
        part = await asyncio.to_thread(attach_voice, context.uploads, data)
        return ToolResult(output=f"Sent as a voice message ({len(data):,} bytes).", files=(part,))

    async def close(self) -> None:
        await self._speech.close()
