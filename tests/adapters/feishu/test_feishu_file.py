"""Files go out as what they are, and come in piece by piece."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from shipmate.adapters import file_form
from shipmate.adapters.feishu.feishu import FeishuAdapter
from shipmate.delivery.adapter import OutgoingFile, OutgoingMessage
from shipmate.errors import NotFoundError, SendRefusedError
from shipmate.values.adapter_event import AdapterEvent, HeardEvent
from shipmate.values.thread_id import ThreadId
from tests.support.feishu_platform import CHAT, FeishuPlatform, push

THREAD = ThreadId("feishu", "dm", CHAT)


async def test_pictures_recordings_and_files_are_sent_with_their_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files leave piece by piece, and none is read whole.
    monkeypatch.setattr(file_form, "PIECE_BYTES", 1000)
    monkeypatch.setattr(Path, "read_bytes", None)
    path = tmp_path / "data"
    path.write_bytes(b"\x00\r\n--x" * 1000)
    async with FeishuPlatform() as platform:
        adapter = FeishuAdapter("feishu", platform.settings(mode="webhook"))
        for number, (name, kind, is_voice, text) in enumerate(
            [
                ("a.png", "image/png", False, ""),
                ("a.png", "image/png", False, "See **this**"),
                ('报告"\n.pdf', "application/pdf", False, "Words"),
                ("a.ogg", "audio/ogg", True, ""),
                ("a.zip", "application/zip", False, ""),
            ]
        ):
            file = OutgoingFile(
                path=path, filename=name, media_type=kind, size=path.stat().st_size, is_voice=is_voice
            )
            message = OutgoingMessage(thread_id=THREAD, text=text, file=file, key=f"{number:032}")
            sent_id = await adapter.send(message)
            assert await adapter.send(message) == sent_id
            await adapter.edit(sent_id, message)
        monkeypatch.undo()
        gone = OutgoingFile(path=tmp_path / "gone", filename="a", media_type="", size=5)
        for wrong in (gone, replace(gone, path=path, size=9_000)):
            with pytest.raises(SendRefusedError):
                await adapter.send(OutgoingMessage(thread_id=THREAD, file=wrong, key="9" * 32))
        await adapter.close()
    assert [each.kind for each in platform.in_chat()] == ["image", "post", "post", "file", "audio", "file"]
    assert [each.text for each in platform.in_chat()][1:3] == ["See **this**", "Words"]
    assert {data for _, _, data in platform.uploads} == {path.read_bytes()}
    assert [fields.get("file_type") for _, fields, _ in platform.uploads[::2]] == [
        None,
        None,
        "pdf",
        "opus",
        "stream",
    ]
    assert platform.uploads[4][0] == "报告%22_.pdf"


async def test_what_comes_in_is_named_and_fetched(tmp_path: Path) -> None:
    events: list[AdapterEvent] = []

    async def hear(event: AdapterEvent) -> HeardEvent:
        events.append(event)
        return HeardEvent(status="accepted")

    async with FeishuPlatform() as platform:
        adapter = FeishuAdapter("feishu", platform.settings(mode="webhook"))
        platform.files |= {"img_1": b"picture" * 100_000, "file_1": b"sound"}
        post = {
            "title": "Title",
            "content": [
                [{"tag": "text", "text": "See "}, {"tag": "a", "text": "this", "href": "https://x.example"}],
                [{"tag": "img", "image_key": "img_1"}],
                [{"tag": "code_block", "language": "PYTHON", "text": "x = 1"}],
                "odd",
            ],
        }
        for kind, content in (
            ("image", {"image_key": "img_1"}),
            ("audio", {"file_key": "file_1", "duration": 2000}),
            ("file", {"file_key": "file_1", "file_name": "a.txt"}),
            ("media", {"file_key": "gone", "file_name": "a.mp4", "image_key": "img_1"}),
            ("post", post),
            ("sticker", {"file_key": "file_1"}),
        ):
            answer = await adapter.answer_hook(push(platform.message(kind, content)), hear)
            assert answer.status == 200
        image, audio, file, media, words, sticker = events
        assert b"".join([piece async for piece in adapter.fetch(image.files[0])]) == b"picture" * 100_000
        assert audio.voice is not None
        assert b"".join([piece async for piece in adapter.fetch(audio.voice)]) == b"sound"
        assert file.files[0].filename == "a.txt"
        with pytest.raises(NotFoundError, match="File not in msg"):
            _ = [piece async for piece in adapter.fetch(media.files[0])]
        assert words.text == "Title\nSee [this](https://x.example)\n\n```python\nx = 1\n```"
        assert words.files[0].id.endswith("/img_1/image")
        assert (sticker.text, sticker.files, sticker.voice) == ("", (), None)
        await adapter.close()
