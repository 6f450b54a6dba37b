from __future__ import annotations

import os
from pathlib import Path

import pytest

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.file.read import Read
from shipmate.tools.tool import ToolContext


async def read(context: ToolContext, **arguments: object) -> str:
    tool = Read()
    return (await tool.run(tool.parse(arguments), context)).output


async def test_text_is_given_as_it_stands(root: Path, context: ToolContext) -> None:
    (root / "a.md").write_text("one\n二\nthree")
    assert await read(context, path="a.md") == "one\n二\nthree"


async def test_absolute_paths_inside_work(root: Path, context: ToolContext) -> None:
    assert await read(context, path=str(root / "Agent.md")) == "# Captain\n"


async def test_offset_and_limit_choose_lines_and_say_how_to_go_on(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    shown = await read(context, path="a.txt", offset=3, limit=2)
    assert shown.startswith("line 3\nline 4\n")
    assert "offset 5" in shown
    assert "line 5" not in shown


async def test_reading_on_gives_the_whole_file(root: Path, context: ToolContext) -> None:
    text = "".join(f"{n} {'x' * 80}\n" for n in range(1000))
    (root / "long.txt").write_text(text)
    collected, offset = "", 1
    for _ in range(20):
        shown = await read(context, path="long.txt", offset=offset)
        assert len(shown) <= Read.budget + 200
        body, mark, rest = shown.rpartition("\n[the file goes on: read with offset ")
        if not mark:
            collected += shown
            break
        collected += body
        offset = int(rest.rstrip("]"))
    assert collected == text


async def test_a_giant_line_is_cut_and_the_next_still_found(root: Path, context: ToolContext) -> None:
    (root / "one.txt").write_text("字" * 2_000_000 + "\nend\n")
    first = await read(context, path="one.txt")
    assert "line cut" in first
    assert len(first) < Read.budget + 200
    assert await read(context, path="one.txt", offset=2) == "end\n"


async def test_binary_images_and_folders_are_described(root: Path, context: ToolContext) -> None:
    (root / "x.bin").write_bytes(b"ab\0cd")
    (root / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (root / "sub").mkdir()
    (root / ".env").write_text("KEY=1")
    assert "binary file of 5 bytes" in await read(context, path="x.bin")
    assert "show_image" in await read(context, path="x.png")
    assert (await read(context, path=".")).split("\n") == ["Agent.md", "sub/", "x.bin", "x.png"]
    assert await read(context, path="sub") == "[empty folder]"


async def test_other_encodings_are_read_and_said(root: Path, context: ToolContext) -> None:
    (root / "gbk.txt").write_bytes("中文\n".encode("gbk"))
    (root / "wide.txt").write_bytes("中文\n".encode("utf-16"))
    assert "not UTF-8" in await read(context, path="gbk.txt")
    assert await read(context, path="wide.txt") == "中文\n"


async def test_empty_files_and_lines_past_the_end_say_so(root: Path, context: ToolContext) -> None:
    (root / "empty").write_text("")
    assert await read(context, path="empty") == "[empty file]"
    assert "shorter" in await read(context, path="Agent.md", offset=9)


async def test_a_pipe_is_refused_and_not_waited_for(root: Path, context: ToolContext) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="neither a file nor a folder"):
        await read(context, path="pipe")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"path": 1}, {"path": "a", "offset": 0}, {"path": "a", "limit": "many"}, {"path": "a", "file": "b"}],
)
async def test_arguments_that_break_the_schema_run_nothing(
    context: ToolContext, arguments: dict[str, object]
) -> None:
    with pytest.raises(ToolInputError, match="Nothing ran"):
        await read(context, **arguments)


async def test_numbers_written_as_strings_are_understood(root: Path, context: ToolContext) -> None:
    (root / "a").write_text("1\n2\n")
    assert await read(context, path="a", offset="2") == "2\n"


@pytest.mark.parametrize(
    ("path", "is_untrusted"),
    [
        ("a.md", False),
        (".ship/uploads/a", True),
        ("./.ship/logs/calls/x", True),
        (".ship/memory/project.md", False),
    ],
)
def test_what_came_from_outside_is_labelled_untrusted(path: str, is_untrusted: bool) -> None:
    tool = Read()
    labels = tool.labels_for(tool.parse({"path": path}))
    assert labels.reads_untrusted == is_untrusted
    assert labels.reads_private
