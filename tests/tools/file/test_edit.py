from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import ToolError
from shipmate.tools.file.edit import Edit, EditArguments, replace
from shipmate.tools.tool import ToolContext


async def edit(context: ToolContext, old: str, new: str, path: str = "a.txt", *, all: bool = False) -> str:
    tool = Edit()
    arguments = tool.parse({"path": path, "old": old, "new": new, "all": all})
    shown = (await tool.picture(arguments, context)).text
    output: str = (await tool.run(arguments, context)).output
    assert output == (shown or "").replace("\\u{d}", "")
    return output


async def test_one_passage_is_replaced_and_the_diff_shown(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    diff = await edit(context, "two\n", "zwei\ndrei\n")
    assert (root / "a.txt").read_text() == "one\nzwei\ndrei\nthree\n"
    assert "-two\n+zwei\n+drei\n" in diff


async def test_several_matches_are_refused_with_their_lines(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_text("x = 1\ny\nx = 1\n")
    with pytest.raises(ToolError, match=r"2 times in a\.txt, at lines 1, 3"):
        await edit(context, "x = 1", "x = 2")
    assert (root / "a.txt").read_text() == "x = 1\ny\nx = 1\n"
    await edit(context, "x = 1", "x = 2", all=True)
    assert (root / "a.txt").read_text() == "x = 2\ny\nx = 2\n"


async def test_no_match_points_at_a_line_that_is_nearly_it(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_text("def f():\n\treturn 1\n")
    with pytest.raises(ToolError, match="line 2 begins alike"):
        await edit(context, "    return 1", "    return 2")
    with pytest.raises(ToolError, match="no such passage"):
        await edit(context, "gone", "x")


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("one", "one")])
async def test_empty_and_idle_changes_are_refused(
    root: Path, context: ToolContext, old: str, new: str
) -> None:
    (root / "a.txt").write_text("one")
    with pytest.raises(ToolError, match="must not be empty"):
        await edit(context, old, new)


async def test_windows_line_ends_are_kept(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    await edit(context, "one\ntwo", "1\n2")
    assert (root / "a.txt").read_bytes() == b"1\r\n2\r\n"


async def test_bytes_folders_and_missing_files_are_refused(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_bytes(b"\xff\xff")
    (root / "sub").mkdir()
    with pytest.raises(ToolError, match="not UTF-8"):
        await edit(context, "a", "b")
    with pytest.raises(ToolError, match="folder"):
        await edit(context, "a", "b", "sub")
    with pytest.raises(ToolError, match="no such file"):
        await edit(context, "a", "b", "none.txt")
    with pytest.raises(ToolError, match="secrets"):
        await edit(context, "a", "b", ".env")


async def test_a_long_diff_is_kept_whole_in_the_log(root: Path, context: ToolContext) -> None:
    (root / "a.txt").write_text("x\n" * 5000)
    tool = Edit()
    output: str = (await tool.run(EditArguments("a.txt", "x", "y", all=True), context)).output
    assert len(output) < Edit.budget + 200
    log = context.layout.call_log(context.thread_id, context.call_id)
    assert str(log.relative_to(root)) in output
    assert log.read_text().count("\n+y") == 5000


@given(st.text(), st.text(min_size=1, max_size=5), st.text(max_size=5))
def test_a_change_touches_nothing_but_the_passage(text: str, old: str, new: str) -> None:
    try:
        result = replace(text, EditArguments("a", old, new))
    except ToolError:
        assert old == new or text.count(old) != 1
    else:
        head, _, tail = text.partition(old)
        assert result == head + new + tail
