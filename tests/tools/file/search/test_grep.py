from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.file.edit import EditArguments, replace
from shipmate.tools.file.search import grep as module
from shipmate.tools.file.search.grep import Grep
from shipmate.tools.file.search.wildcard import Wildcard
from shipmate.tools.tool import ToolContext
from tests.support.cost import measure
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


@pytest.mark.parametrize(
    "pattern",
    ["a{99999999}", "(?R)?a", "(a|(?1)b)*", "(?:x+x+)+y", "^(a|a)*$", "(a?){300}a{300}", "(?:foo){e<=30}"],
)
async def test_no_pattern_takes_this_process_along(
    root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(module, "SECONDS", 1.0)
    (root / "a.txt").write_text("a" * 50_000 + "!\n" + "x" * 50_000 + "\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tool = Grep()
    try:
        output = (await tool.run(tool.parse({"pattern": pattern}), context)).output
    except ToolError as error:
        output = str(error)
    assert len(output) < 2_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


async def test_a_search_goes_on_after_one_that_was_ended(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_text("ahoy\n")
    tool = Grep()
    with pytest.raises(ToolError, match=r"repeats too much|could not be read"):
        await tool.run(tool.parse({"pattern": "a{99999999}"}), context)
    assert (await tool.run(tool.parse({"pattern": "ahoy"}), context)).output == "a.txt:1:ahoy"


async def test_many_small_files_are_searched_in_order(root: Path, context: ToolContext) -> None:
    for number in range(450):
        (root / f"f{number:03}.txt").write_text("x\n" * (number % 3) + ("here\n" if number % 90 == 0 else ""))
    tool = Grep()
    output = (await tool.run(tool.parse({"pattern": "here"}), context)).output
    assert output.split("\n") == [f"f{n:03}.txt:{n % 3 + 1}:here" for n in range(0, 450, 90)]


@pytest.mark.parametrize("pattern", ["[" * 5_000, "**/" * 2_000, "*a" * 3_000, "{" * 2_000])
def test_a_pattern_of_paths_has_a_limit(pattern: str) -> None:
    with pytest.raises(ToolError, match="longer than 1000"):
        Wildcard(pattern)


@pytest.mark.parametrize(
    "pattern", ["**/" * 330, "*a" * 490 + "b", "[" * 999, "?*" * 490, "{a,b}" * 5 + "*" * 900]
)
def test_a_pattern_of_paths_within_it_is_fast(pattern: str) -> None:
    cost = measure("tests.tools.file.search.test_grep:match_often", repr(pattern))
    assert cost.error == ""
    assert cost.seconds < 5


def match_often(pattern: str) -> None:
    wildcard = Wildcard(pattern)
    for _ in range(20):
        wildcard.matches(["a" * 255] * 20)


def test_an_edit_cannot_multiply_a_file() -> None:
    with pytest.raises(ToolError, match="would grow past 20 MB"):
        replace("a" * 5_000_000, EditArguments("f", "a", "b" * 1_000, all=True))
    assert replace("aXb", EditArguments("f", "X", "Y" * 1_000)) == "a" + "Y" * 1_000 + "b"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'a\\n' * 2_500_000", "'b\\n' * 2_500_000"),
        ("'a\\nb\\n' * 1_000", "'b\\na\\n' * 1_000"),
        ("''.join(f'{n % 7}\\n' for n in range(1_990))", "''.join(f'{n % 11}\\n' for n in range(1_990))"),
        ("'x\\n' * 3", "'x\\ny\\n' * 900_000"),
    ],
)
def test_a_diff_costs_little(old: str, new: str) -> None:
    cost = measure("tests.tools.file.search.test_grep:compare", old, new)
    assert cost.error == ""
    assert cost.seconds < 10
    assert cost.megabytes < 200


def compare(old: str, new: str) -> str:
    from shipmate.tools.file.diff import summary, unified

    summary(old, new)
    return unified("f", old, new)


def test_a_diff_of_very_many_lines_shows_both_texts_whole() -> None:
    from shipmate.tools.file.diff import LINE_LIMIT, summary, unified

    old, new = "a\n" * LINE_LIMIT, "b\nc"
    diff = unified("f", old, new)
    assert diff.startswith(f"--- f\n+++ f\n@@ -1,{LINE_LIMIT} +1,2 @@\n-a\n-a\n")
    assert diff.endswith("-a\n+b\n+c\n\\ No newline at end of file\n")
    assert diff.count("\n-a") == LINE_LIMIT
    assert summary(old, new) == f"+2 −{LINE_LIMIT} lines"
