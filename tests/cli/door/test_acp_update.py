"""What an editor sends and is told, piece by piece (part 13, point 9)."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from shipmate.cli.door.acp_update import UpdateTeller, read_prompt
from shipmate.errors import UserError
from shipmate.values import chunk as chunks
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import UploadFolder


def test_9_prompts_hold_words_links_and_files(tmp_path: Path) -> None:
    uploads = UploadFolder(Layout(tmp_path))
    blob = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    blocks = [
        {"type": "text", "text": "Look at "},
        {"type": "resource_link", "name": "a b.py", "uri": (tmp_path / "a b.py").as_uri()},
        {"type": "resource_link", "name": "x", "uri": "https://example.com/x"},
        {"type": "resource", "resource": {"uri": "file:///etc/hosts", "text": "127.0.0.1"}},
        {"type": "image", "mimeType": "image/png", "data": blob},
    ]
    text, (hosts, image) = read_prompt(blocks, uploads, tmp_path)
    assert text == "Look at `a b.py`<https://example.com/x>`/etc/hosts`"
    assert (hosts.filename, hosts.media_type, image.media_type) == ("hosts", "text/plain", "image/png")
    for wrong in ([], None, [{"type": "text", "text": " "}], [{"type": "audio"}], ["x"]):
        with pytest.raises(UserError):
            read_prompt(wrong, uploads, tmp_path)
    with pytest.raises(UserError, match="Base64"):
        read_prompt([{"type": "image", "data": "?"}], uploads, tmp_path)


def test_9_texts_do_not_run_into_each_other_and_calls_are_told_once(tmp_path: Path) -> None:
    teller = UpdateTeller(tmp_path, lambda url: ("chart.png", f"file://{url}"))
    told = [
        update
        for chunk in (
            chunks.text("reasoning-start", "r"),
            chunks.text("reasoning-delta", "r", "Hm."),
            chunks.text("text-start", "a"),
            chunks.text("text-delta", "a", "One."),
            chunks.text("text-start", "b"),
            chunks.text("text-delta", "b", "Two."),
            chunks.tool_input_start("c", "read"),
            chunks.tool_input_available("c", "read", {"path": "x.md"}),
            chunks.tool_output_error("c", "There is none."),
            chunks.file("/x", "image/png"),
            chunks.finish("stop"),
        )
        for update in teller.take(chunk)
    ]
    assert [each["sessionUpdate"] for each in told] == [
        "agent_thought_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "tool_call_update",
        "agent_message_chunk",
    ]
    assert [each["content"]["text"] for each in told[:3]] == ["Hm.", "One.", "\n\nTwo."]
    assert (told[4]["title"], told[4]["kind"], told[4]["locations"]) == (
        "read x.md",
        "read",
        [{"path": str(tmp_path / "x.md")}],
    )
    assert (told[5]["status"], told[5]["content"][0]["content"]["text"]) == ("failed", "There is none.")
    assert told[6]["content"] == {"type": "resource_link", "name": "chart.png", "uri": "file:///x"}
