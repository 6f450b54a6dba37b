from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.file.search import grep as module
from shipmate.tools.file.search.grep import Grep
from shipmate.tools.tool import ToolContext
from tests.support.wait import LONG


async def grep(context: ToolContext, /, **arguments: object) -> list[str]:
    tool = Grep()
    output: str = (await tool.run(tool.parse(arguments), context)).output
    return output.split("\n")


@pytest.fixture
def tree(root: Path) -> Path:
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("import os\n\ndef Run():\n    pass\n")
    (root / "b.txt").write_text("run away\n你好世界\n")
    (root / "c.bin").write_bytes(b"\0run\n")
    (root / ".env").write_text("run=secret\n")
    return root


async def test_matches_name_path_and_line(tree: Path, context: ToolContext) -> None:
    assert await grep(context, pattern="run", ignore_case=True) == [
        "b.txt:1:run away",
        "src/a.py:3:def Run():",
    ]
    assert await grep(context, pattern="世界") == ["b.txt:2:你好世界"]
    assert await grep(context, pattern="^import", path="src/a.py") == ["src/a.py:1:import os"]
    assert await grep(context, pattern="nothing") == ["[no match]"]


async def test_glob_and_context_narrow_and_widen(tree: Path, context: ToolContext) -> None:
    assert await grep(context, pattern="[Rr]un", glob="*.py") == ["src/a.py:3:def Run():"]
    assert await grep(context, pattern="def", context=1) == [
        "src/a.py-2-",
        "src/a.py:3:def Run():",
        "src/a.py-4-    pass",
    ]


async def test_secrets_and_binaries_are_not_searched(tree: Path, context: ToolContext) -> None:
    assert await grep(context, pattern="secret") == ["[no match]"]
    with pytest.raises(ToolError, match="secrets"):
        await grep(context, pattern="secret", path=".env")


@pytest.mark.parametrize("pattern", ["(", "[", "x" * 2000, "(?P<a>"])
async def test_a_pattern_that_is_none_is_refused(tree: Path, context: ToolContext, pattern: str) -> None:
    with pytest.raises(ToolError):
        await grep(context, pattern=pattern)


async def test_a_pattern_that_backtracks_without_end_is_stopped(
    tree: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.5)
    (tree / "slow.txt").write_text("a" * 40 + "!\n")
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    heart = asyncio.create_task(beat())
    async with asyncio.timeout(LONG):
        found = await grep(context, pattern="^(a|a)*$", path="slow.txt")
    heart.cancel()
    assert "stopped" in found[-1]
    assert beats >= 5


async def test_many_matches_are_cut_and_said(root: Path, context: ToolContext) -> None:
    (root / "many").write_text("x\n" * 1000)
    (root / "wide").write_text("y" * 100_000 + "\n")
    found = await grep(context, pattern="x")
    assert len(found) == module.MATCH_LIMIT + 1
    assert "narrower" in found[-1]
    assert len((await grep(context, pattern="y", path="wide"))[0]) < module.LINE_LIMIT + 20
