"""Kept files as a model sees them."""

from __future__ import annotations

from pathlib import Path

from shipmate.orchestrator.carried_file import Attachments
from shipmate.thread.memory_log import MemoryLog
from shipmate.thread.service import Thread
from shipmate.values.message import UIMessage, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import UploadFolder, attach

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def thread_of(*rows: UIMessage) -> Thread:
    thread = Thread(ThreadId("web", "room", "1"), MemoryLog())
    await thread.append(*rows)
    return thread


async def test_pictures_of_people_become_bytes_and_other_files_paths(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    picture, note = (
        attach(UploadFolder(layout), PNG, "dot.png"),
        attach(UploadFolder(layout), b"hello", "note.txt"),
    )
    said: UIMessage = {"id": "u", "role": "user", "parts": [picture, note, {"type": "text", "text": "look"}]}
    shown: UIMessage = {"id": "m", "role": "assistant", "parts": [picture]}
    thread = await thread_of(said, shown)
    user, assistant = Attachments(layout, UploadFolder(layout)).show(thread)
    assert user["parts"][0]["url"].startswith("data:image/png;base64,iVBOR")
    assert (tmp_path / user["parts"][1]["url"]).read_bytes() == b"hello"
    assert user["parts"][2] == said["parts"][2]
    assert (tmp_path / assistant["parts"][0]["url"]).read_bytes() == PNG
    assert thread.messages[0]["parts"][0]["url"].startswith("/api/files/")


async def test_a_picture_that_is_gone_is_named_and_nothing_else_is_touched(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    gone: UIMessage = {
        "id": "u",
        "role": "user",
        "parts": [{"type": "file", "mediaType": "image/png", "url": "/api/files/../../etc/passwd"}],
    }
    plain: UIMessage = {
        "id": "v",
        "role": "user",
        "parts": [{"type": "file", "mediaType": "x", "url": "data:,x"}],
    }
    thread = await thread_of(gone, plain)
    named, same = Attachments(layout, UploadFolder(layout)).show(thread)
    assert named["parts"][0]["url"].startswith(".ship/uploads/")
    assert "/etc/" not in named["parts"][0]["url"]
    assert same is thread.messages[1]


async def test_files_are_found_in_what_is_added_later_and_in_a_new_course(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    attachments = Attachments(layout, UploadFolder(layout))
    note = attach(UploadFolder(layout), b"hello", "note.txt")
    thread = await thread_of(user_message("a", "hi"), {"id": "m", "role": "assistant", "parts": []})
    assert attachments.show(thread) == thread.messages
    await thread.append({"id": "m", "role": "assistant", "parts": [note]})
    assert attachments.show(thread)[1]["parts"][0]["url"].startswith(".ship/uploads/")
    await thread.append({"id": "c", "role": "user", "metadata": {"course": 2}, "parts": [note]})
    (only,) = attachments.show(thread)
    assert only["parts"][0]["url"].startswith(".ship/uploads/")
