"""Kept files as a model sees them."""

from __future__ import annotations

from pathlib import Path

from shipmate.orchestrator.attachment import show_files
from shipmate.tools.attachment import attach
from shipmate.values.message import UIMessage
from shipmate.workspace.layout import Layout

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def test_pictures_of_people_become_bytes_and_other_files_paths(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    picture, note = attach(layout, PNG, "dot.png"), attach(layout, b"hello", "note.txt")
    said: UIMessage = {"id": "u", "role": "user", "parts": [picture, note, {"type": "text", "text": "look"}]}
    shown: UIMessage = {"id": "m", "role": "assistant", "parts": [picture]}
    user, assistant = show_files([said, shown], layout)
    assert user["parts"][0]["url"].startswith("data:image/png;base64,iVBOR")
    assert (tmp_path / user["parts"][1]["url"]).read_bytes() == b"hello"
    assert user["parts"][2] is said["parts"][2]
    assert (tmp_path / assistant["parts"][0]["url"]).read_bytes() == PNG
    assert said["parts"][0]["url"].startswith("/api/files/")


def test_a_picture_that_is_gone_is_named_and_nothing_else_is_touched(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    attach(layout, PNG, "dot.png")
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
    named, same = show_files([gone, plain], layout)
    assert named["parts"][0]["url"].startswith(".ship/uploads/")
    assert "/etc/" not in named["parts"][0]["url"]
    assert same is plain
    assert show_files([plain], Layout(tmp_path / "none")) == [plain]
