"""Files leave piece by piece, and half of one never counts as sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shipmate.adapters import file_form
from shipmate.adapters.telegram.telegram_adapter import TelegramAdapter, TelegramSettings
from shipmate.delivery.adapter import OutgoingFile, OutgoingMessage
from shipmate.errors import SendRefusedError
from shipmate.values.thread_id import ThreadId
from tests.support.bot_api import BotApi, RefusedError

THREAD = ThreadId("helper", "group", "-100200", "42")


@asynccontextmanager
async def a_bot() -> AsyncGenerator[tuple[BotApi, TelegramAdapter]]:
    async with BotApi() as telegram:
        settings = TelegramSettings(token=telegram.add_bot().token, api_url=telegram.url)
        adapter = TelegramAdapter("helper", settings)
        try:
            yield telegram, adapter
        finally:
            await adapter.close()


def message(path: Path, size: int, media_type: str = "text/plain", **more: bool) -> OutgoingMessage:
    file = OutgoingFile(path=path, filename='a"\r\nx: y\\é.txt', media_type=media_type, size=size, **more)
    return OutgoingMessage(thread_id=THREAD, text="**look**", file=file, reply_to="-100200.9.edit.3")


async def test_a_file_arrives_whole_with_its_words_and_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_form, "PIECE_BYTES", 1000)
    data = bytes(range(256)) * 100
    (tmp_path / "a").write_bytes(data)
    async with a_bot() as (telegram, adapter):
        sent_id = await adapter.send(message(tmp_path / "a", len(data)))
        [(method, values)] = telegram.calls
        [shown] = telegram.in_chat(-100200)
        assert (method, values["document"]["data"]) == ("sendDocument", data)
        assert values["document"]["name"] == "a%22__x: y_é.txt"
        assert (values["caption"], values["caption_entities"][0]["type"]) == ("look", "bold")
        assert (values["message_thread_id"], values["reply_parameters"]["message_id"]) == (42, 9)
        assert sent_id == f"-100200.{shown['message_id']}"


async def test_a_picture_that_is_refused_goes_as_a_file_and_speech_as_a_voice(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"data")
    async with a_bot() as (telegram, adapter):
        telegram.troubles = [RefusedError(400, "Bad Request: PHOTO_INVALID_DIMENSIONS")]
        await adapter.send(message(tmp_path / "a", 4, "image/png"))
        await adapter.send(message(tmp_path / "a", 4, "audio/ogg", is_voice=True))
        assert [name for name, _ in telegram.calls] == ["sendPhoto", "sendDocument", "sendVoice"]


async def test_a_file_that_changes_or_cannot_be_read_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"data")
    async with a_bot() as (telegram, adapter):
        with pytest.raises(SendRefusedError, match="changed while it was sent"):
            await adapter.send(message(tmp_path / "a", 5))
        with pytest.raises(SendRefusedError, match="cannot be read"):
            await adapter.send(message(tmp_path / "b", 5))
        long = OutgoingMessage(thread_id=THREAD, text="x" * 1025, file=message(tmp_path / "a", 4).file)
        with pytest.raises(SendRefusedError, match="1024 characters"):
            await adapter.send(long)
        assert telegram.in_chat(-100200) == []
