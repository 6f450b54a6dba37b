from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.file.search.glob import PATH_LIMIT, Glob
from shipmate.tools.tool import ToolContext


async def glob(context: ToolContext, pattern: str, path: str = ".") -> list[str]:
    tool = Glob()
    output: str = (await tool.run(tool.parse({"pattern": pattern, "path": path}), context)).output
    return output.split("\n")


@pytest.fixture
def tree(root: Path) -> Path:
    for name in (
        "src/a.py",
        "src/deep/er/b.py",
        "src/c.txt",
        "node_modules/x/d.py",
        ".git/e.py",
        ".venv/f.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**/*.py", ".", ["src/a.py", "src/deep/er/b.py"]),
        ("src/**/*.py", ".", ["src/a.py", "src/deep/er/b.py"]),
        ("src/*.py", ".", ["src/a.py"]),
        ("*.py", "src", ["src/a.py"]),
        ("**/er/*", ".", ["src/deep/er/b.py"]),
        ("*.{md,txt}", ".", ["Agent.md"]),
        ("**/*.{md,txt}", ".", ["Agent.md", "src/c.txt"]),
        ("**", "src/deep", ["src/deep/er/b.py"]),
        ("[A-B]gent.??", ".", ["Agent.md"]),
        ("*.py", ".", ["[no file matches *.py]"]),
        ("node_modules/**", ".", ["node_modules/x/d.py"]),
    ],
)
async def test_patterns(
    tree: Path, context: ToolContext, pattern: str, path: str, expected: list[str]
) -> None:
    assert await glob(context, pattern, path) == expected


async def test_an_absolute_pattern_inside_the_workspace_works(tree: Path, context: ToolContext) -> None:
    assert await glob(context, f"{tree}/src/*.py") == ["src/a.py"]


async def test_links_out_are_not_walked(tree: Path, context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.py").write_text("")
    (tree / "link").symlink_to(tmp_path / "out")
    assert await glob(context, "**/*secret*") == ["[no file matches **/*secret*]"]
    with pytest.raises(ToolError, match="leaves the workspace"):
        await glob(context, "link/*.py")


@pytest.mark.parametrize("pattern", ["../*", "a/../../*", "/etc/*", "\0"])
async def test_patterns_that_leave_are_refused(tree: Path, context: ToolContext, pattern: str) -> None:
    with pytest.raises(ToolError):
        await glob(context, pattern)


async def test_many_files_are_cut_and_said(root: Path, context: ToolContext) -> None:
    for number in range(PATH_LIMIT + 5):
        (root / f"{number:04}.t").write_text("")
    found = await glob(context, "*.t")
    assert len(found) == PATH_LIMIT + 1
    assert "narrower" in found[-1]


async def test_a_hostile_pattern_stays_fast(root: Path, context: ToolContext) -> None:
    (root / ("a" * 200)).write_text("")
    assert await glob(context, "*a" * 60 + "b") == [f"[no file matches {'*a' * 60}b]"]
