"""Put a recording of the workspace into words."""

from __future__ import annotations

import asyncio

import msgspec

from shipmate.errors import SpeechError, ToolError
from shipmate.speech.speech import SIZE_LIMIT, Speech
from shipmate.tools.file.read import labels_by_path
from shipmate.tools.file.target import read_target
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.workspace.upload import media_type_of


class TranscribeArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class Transcribe(Tool[TranscribeArguments]):
    """The tool that listens to a file."""

    name = "stt_transcribe"
    description = "Return the words of a recording in the workspace (Ogg, WAV, MP3, FLAC), at most 20 MB."
    arguments = TranscribeArguments
    labels = Labels(reads_private=True, reads_untrusted=True)

    def __init__(self, speech: Speech) -> None:
        self._speech = speech

    def labels_for(self, arguments: TranscribeArguments) -> Labels:
        # Whoever recorded it may say anything.
        return msgspec.structs.replace(labels_by_path(arguments.path), reads_untrusted=True)

    async def run(self, arguments: TranscribeArguments, context: ToolContext) -> ToolResult:
        data, _ = await asyncio.to_thread(read_target, context, arguments.path, SIZE_LIMIT)
        try:
            return ToolResult(output=await self._speech.transcribe(data, media_type_of(data)))
        except SpeechError as error:
            raise ToolError(f"{arguments.path}: {error}.") from error
