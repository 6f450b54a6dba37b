"""Files, links and odd blocks of results are kept and named (W6)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from shipmate.tools.mcp.mcp_content import FILE_LIMIT, Content
from shipmate.tools.tool import ToolContext

WAVE = b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 24


def take(context: ToolContext, *blocks: Any) -> Content:
    content = Content(context, lambda text: text)
    content.take(list(blocks))
    return content


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def kept(context: ToolContext, part: dict[str, Any]) -> bytes:
    found = context.uploads.find(part["url"].rpartition("/")[2])
    assert found is not None
    return found[1].read_bytes()


def test_w6_audio_is_kept_and_named_with_type_and_size(context: ToolContext) -> None:
    content = take(context, {"type": "audio", "data": encode(WAVE), "mimeType": "audio/wav"})
    (part,) = content.files
    upload = part["url"].rpartition("/")[2]
    assert content.text == f"[audio: audio/wav, 40 bytes, kept as .ship/uploads/{upload}]"
    assert (part["mediaType"], kept(context, part)) == ("audio/wav", WAVE)
    assert (context.layout.uploads / upload).read_bytes() == WAVE


def test_w6_blobs_are_kept_under_the_last_step_of_their_address(context: ToolContext) -> None:
    blob = {"uri": "file:///reports/may.pdf", "blob": encode(b"%PDF-1.7 x"), "mimeType": "text/html"}
    content = take(context, {"type": "resource", "resource": blob})
    (part,) = content.files
    assert (part["filename"], part["mediaType"]) == ("may.pdf", "application/pdf")
    assert "resource file:///reports/may.pdf: application/pdf, called text/html, 10 bytes" in content.text


def test_w6_embedded_texts_are_words(context: ToolContext) -> None:
    content = take(context, {"type": "resource", "resource": {"uri": "note://1", "text": "sea"}})
    assert (content.text, content.files) == ("sea", [])


def test_w6_links_are_told_with_what_is_known_of_them(context: ToolContext) -> None:
    link = {"type": "resource_link", "uri": "note://1", "name": "one", "mimeType": "text/plain", "size": 1234}
    content = take(context, {**link, "description": "The first\n\x1b[31mnote"})
    assert content.text == "[resource note://1 (text/plain, 1,234 bytes) one: The first note]"
    assert content.files == []


@pytest.mark.parametrize(
    "block",
    [
        None,
        7,
        "words",
        [],
        {},
        {"type": None},
        {"type": "hologram", "data": "x"},
        {"type": "image"},
        {"type": "audio", "data": 7},
        {"type": "audio", "data": "%%%"},
        {"type": "resource"},
        {"type": "resource", "resource": 3},
        {"type": "resource", "resource": {"uri": 3, "blob": None}},
        {"type": "resource_link", "uri": ["x"], "size": "big", "name": {}},
        {"type": "text", "text": {"a": 1}},
    ],
)
def test_w6_whatever_stands_in_a_result_is_told_and_breaks_nothing(context: ToolContext, block: Any) -> None:
    content = take(context, block, {"type": "text", "text": "the rest"})
    assert content.text.endswith("\nthe rest")
    assert content.files == []


def test_w6_files_of_one_result_are_counted(context: ToolContext) -> None:
    content = take(context, *[{"type": "audio", "data": encode(WAVE)}] * (FILE_LIMIT + 5))
    assert len(content.files) == FILE_LIMIT
    assert content.text.count("left out") == 5


def test_w6_names_of_files_hold_no_path(context: ToolContext) -> None:
    blob = {"uri": "x:../../../etc/passwd\u202e", "blob": encode(b"\0\1")}
    (part,) = take(context, {"type": "resource", "resource": blob}).files
    assert part["filename"] == "passwd"
