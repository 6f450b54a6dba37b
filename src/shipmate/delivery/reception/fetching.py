"""Bring files that still lie with a platform into the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from shipmate.delivery.adapter import Adapter
from shipmate.delivery.delivery_wording import say
from shipmate.delivery.reception.reception import REMOTE
from shipmate.errors import DecodingLimitError
from shipmate.values.adapter_event import RemoteFile
from shipmate.values.event import Attachment, IngressEvent, TextEvent, VoiceEvent
from shipmate.workspace.upload import Uploads

FETCH_SECONDS = 120.0
MEGABYTE = 1024 * 1024


class Fetching:
    """Fetches the files of events."""

    def __init__(
        self,
        find: Callable[[str], Adapter],
        uploads: Uploads,
        language: str,
        mask: Callable[[str], str],
    ) -> None:
        self._find = find
        self._mask = mask
        self._uploads = uploads
        self._language = language

    async def bring(self, event: IngressEvent) -> IngressEvent:
        """Return an event whose files lie in the workspace; what cannot be had is said in its words."""
        if isinstance(event, VoiceEvent):
            return await self._bring_voice(event)
        if not isinstance(event, TextEvent):
            return event
        kept: list[Attachment] = []
        words = [event.text] if event.text else []
        for attachment in event.attachments:
            found = await self._fetch(attachment)
            if isinstance(found, Attachment):
                kept.append(found)
            else:
                words.append(found)
        return msgspec.structs.replace(event, attachments=tuple(kept), text="\n\n".join(words))

    async def _bring_voice(self, event: VoiceEvent) -> VoiceEvent:
        found = await self._fetch(event.audio)
        if isinstance(found, Attachment):
            return msgspec.structs.replace(event, audio=found)
        return msgspec.structs.replace(
            event, audio=msgspec.structs.replace(event.audio, url=""), unheard=found
        )

    async def _fetch(self, attachment: Attachment) -> Attachment | str:
        if not attachment.url.startswith(REMOTE):
            return attachment
        platform, _, file_id = attachment.url.removeprefix(REMOTE).partition(":")
        name = attachment.filename or attachment.media_type
        file = RemoteFile(id=file_id, media_type=attachment.media_type, filename=attachment.filename or "")
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                data = await self._read(self._find(platform), file, attachment.size or 0)
        # The edge of an adapter: whatever goes wrong is told in the place of the file.
        except Exception as error:  # noqa: BLE001
            why = self._mask(str(error)) or type(error).__name__
            return say(self._language, "file-missing", name=name, why=why)
        kept = await asyncio.to_thread(self._uploads.keep, data, attachment.filename or "file")
        return Attachment(url=kept.url, media_type=kept.media_type, filename=kept.filename)

    async def _read(self, adapter: Adapter, file: RemoteFile, told_size: int) -> bytes:
        limit = adapter.capabilities.max_incoming_bytes
        self._measure(told_size, limit)
        data = bytearray()
        async for piece in adapter.fetch(file):
            data += piece
            self._measure(len(data), limit)
        return bytes(data)

    def _measure(self, size: int, limit: int) -> None:
        if size > limit:
            words = say(self._language, "file-too-large", limit=f"{limit / MEGABYTE:.0f}")
            raise DecodingLimitError(words)
