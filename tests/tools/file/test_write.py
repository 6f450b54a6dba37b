from __future__ import annotations

import stat
from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.file.write import Write
from shipmate.tools.tool import ToolContext


async def write(context: ToolContext, path: str, content: str) -> str:
    tool = Write()
    return (await tool.run(tool.parse({"path": path, "content": content}), context)).output


async def preview(context: ToolContext, path: str, content: str) -> str:
    tool = Write()
    return (await tool.picture(tool.parse({"path": path, "content": content}), context)).text or ""


async def test_a_new_file_and_its_folders_are_made(root: Path, context: ToolContext) -> None:
    assert await write(context, "a/b/c.md", "一\ntwo\n") == "Created a/b/c.md: 2 lines."
    assert (root / "a/b/c.md").read_text() == "一\ntwo\n"


async def test_replacing_counts_lines_and_keeps_the_mode(root: Path, context: ToolContext) -> None:
    (root / "run.sh").write_text("one\ntwo\n")
    (root / "run.sh").chmod(0o755)
    assert await write(context, "run.sh", "one\n2\n3\n") == "Replaced run.sh: +2 −1 lines."
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o755
    assert sorted(path.name for path in root.iterdir()) == [".ship", "Agent.md", "run.sh"]


async def test_a_link_inside_is_followed_and_stays_a_link(root: Path, context: ToolContext) -> None:
    (root / "real.txt").write_text("old")
    (root / "link.txt").symlink_to("real.txt")
    assert "real.txt" in await write(context, "link.txt", "new")
    assert (root / "link.txt").is_symlink()
    assert (root / "real.txt").read_text() == "new"


async def test_preview_shows_the_whole_change_and_changes_nothing(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_text("one\ntwo\n")
    shown = await preview(context, "a.txt", "one\nzwei\n")
    assert "-two\n" in shown
    assert "+zwei\n" in shown
    assert (root / "a.txt").read_text() == "one\ntwo\n"
    assert "+hello" in await preview(context, "new/deep.txt", "hello")
    assert not (root / "new").exists()


async def test_preview_writes_out_what_would_hide(context: ToolContext) -> None:
    assert "\\u{1b}[2K" in await preview(context, "a.txt", "rm -rf /\x1b[2K\u202eok")
    assert "\\u{202e}" in await preview(context, "a.txt", "rm -rf /\x1b[2K\u202eok")


async def test_bytes_and_large_files_can_be_replaced(root: Path, context: ToolContext) -> None:
    (root / "x.bin").write_bytes(b"\xff\xfe\x00")
    (root / "big.txt").write_bytes(b"x" * 6_000_000)
    assert "3 bytes" in await preview(context, "x.bin", "text")
    assert await write(context, "x.bin", "text") == "Replaced x.bin: 4 bytes, before 3."
    assert await write(context, "big.txt", "text") == "Replaced big.txt: 4 bytes, before 6,000,000."


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".env", "secrets"),
        ("sub/.env.local", "secrets"),
        ("ship.json", "people only"),
        ("SHIP.JSON", "people only"),
        (".ship/approvals/a.json", "own state"),
        (".ship/memory/project.md", "own state"),
        (".Ship/token", "own state"),
        (".git/hooks/pre-commit", "git"),
        (".", "folder"),
        ("Agent.md/x", "needs a folder"),
        ("../x", "leaves"),
    ],
)
async def test_places_no_tool_may_write(root: Path, context: ToolContext, path: str, reason: str) -> None:
    before = sorted(str(found) for found in root.rglob("*"))
    with pytest.raises(ToolError, match=reason):
        await write(context, path, "x")
    assert sorted(str(found) for found in root.rglob("*")) == before


async def test_half_a_character_is_refused(root: Path, context: ToolContext) -> None:
    with pytest.raises(ToolError, match="surrogate"):
        await write(context, "a.txt", "\ud83d")
    assert not (root / "a.txt").exists()


async def test_scratch_may_be_written(root: Path, context: ToolContext) -> None:
    assert "Created" in await write(context, ".ship/scratch/a.txt", "x")
    assert (root / ".ship/scratch/a.txt").read_text() == "x"


def test_writing_acts() -> None:
    assert Write.labels.acts
