from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from shipmate.errors import ToolError
from shipmate.server.routes.upload import find_upload
from shipmate.tools.file.send_file import SIZE_LIMIT, SendFile
from shipmate.tools.file.show_image import ShowImage
from shipmate.tools.tool import ToolContext, ToolResult
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import UploadFolder


def png(width: int = 2, height: int = 2) -> bytes:
    drawn = io.BytesIO()
    Image.new("RGB", (width, height)).save(drawn, "PNG")
    return drawn.getvalue()


async def show(context: ToolContext, path: str) -> ToolResult:
    tool = ShowImage()
    return await tool.run(tool.parse({"path": path}), context)


async def send(context: ToolContext, path: str) -> ToolResult:
    tool = SendFile()
    return await tool.run(tool.parse({"path": path}), context)


async def test_an_image_is_shown_as_it_is_now(root: Path, context: ToolContext) -> None:
    (root / "a.png").write_bytes(png())
    result = await show(context, "a.png")
    (part,) = result.files
    assert part["type"] == "file"
    assert part["mediaType"] == "image/png"
    (root / "a.png").write_bytes(b"changed")
    upload, path = find_upload(context.uploads, part["url"].rpartition("/")[2])
    assert upload.filename == "a.png"
    assert path.read_bytes() == png()


@pytest.mark.parametrize("data", [b"", b"text", b"\x89PNG\r\n\x1a\ndamaged", png()[:40], b"<svg onload=x>"])
async def test_what_is_no_image_is_not_shown(root: Path, context: ToolContext, data: bytes) -> None:
    (root / "a.png").write_bytes(data)
    with pytest.raises(ToolError):
        await show(context, "a.png")
    assert not context.layout.uploads.exists()


async def test_any_file_is_sent_by_what_it_is(root: Path, context: ToolContext) -> None:
    files = {"a.html": b"<script>", "b.pdf": b"%PDF-1.7", "c": b"\0\1", "d.jpg": png(), "空.txt": b"x"}
    kinds = ["text/plain", "application/pdf", "application/octet-stream", "image/png", "text/plain"]
    for (name, data), kind in zip(files.items(), kinds, strict=True):
        (root / name).write_bytes(data)
        (part,) = (await send(context, name)).files
        assert (part["mediaType"], part["filename"]) == (kind, name)


async def test_secrets_folders_and_giants_are_not_sent(root: Path, context: ToolContext) -> None:
    (root / ".env").write_text("KEY=1")
    with (root / "big").open("wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    for path in (".env", ".", "big", "none", "../x"):
        with pytest.raises(ToolError):
            await send(context, path)
    assert not context.layout.uploads.exists()


async def test_files_of_a_call_are_kept_where_the_workspace_keeps_its_files(
    root: Path, context: ToolContext, tmp_path: Path
) -> None:
    elsewhere = UploadFolder(Layout(tmp_path / "elsewhere"))
    there = msgspec.structs.replace(context, files=elsewhere)
    (root / "a.png").write_bytes(png())
    parts = [*(await show(there, "a.png")).files, *(await send(there, "a.png")).files]
    assert all(elsewhere.find(part["url"].rpartition("/")[2]) for part in parts)
    assert not context.layout.uploads.exists()
