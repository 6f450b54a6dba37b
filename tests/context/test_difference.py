from __future__ import annotations

from pathlib import Path

from shipmate.context.difference import (
    COMPARED_LINES,
    SHOWN_LINES,
    Difference,
    compare,
    count_common,
    diff_texts,
)
from shipmate.context.kept.account import read_account
from shipmate.context.kept.kept_file import read_kept
from shipmate.context.request import NamedTool
from shipmate.workspace.layout import Layout
from tests.support.kept import THREAD, TOOLS, build, make_log, said, send
from tests.support.prompt import write_files


def differ(root: Path, before: int, after: int) -> Difference:
    kept = read_kept(Layout(root), THREAD)
    return compare(read_account(kept, before), read_account(kept, after))


def test_equal_requests_have_no_difference(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x")
    log = make_log(tmp_path)
    for run in ("run_1", "run_2"):
        log.write(send(build(tmp_path), said("hi"), run))
    found = differ(tmp_path, 0, 1)
    assert (found.changes, found.breaks_at, found.breaks_in) == ([], None, "")
    assert found.same_tokens == found.total_tokens


def test_u5_the_words_that_changed_are_shown(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x", USER="one\ntwo\nthree")
    log = make_log(tmp_path)
    first = build(tmp_path)
    log.write(send(first, said("hi")))
    write_files(tmp_path, USER="one\nTWO\nthree", SOUL="calm")
    second = build(tmp_path)
    tools = [TOOLS[0], NamedTool("grep", "Search.")]
    log.write(send(second, said("hi", "ho"), "run_2", tools=tools))
    found = differ(tmp_path, 0, 1)
    told = [(change.kind, change.name, change.change) for change in found.changes]
    assert told == [
        ("section", "soul", "added"),
        ("section", "user", "changed"),
        ("tool", "write", "removed"),
        ("tool", "grep", "added"),
        ("message", "2", "added"),
    ]
    assert found.changes[1].diff.splitlines()[-4:] == [" one", "-two", "+TWO", " three"]
    assert found.changes[4].diff == "@@ -0,0 +1 @@\n+ho"
    assert found.breaks_at == count_common(first.lasting.encode(), second.lasting.encode())
    assert found.breaks_in == "section soul"
    assert 0 < found.same_tokens < found.total_tokens


def test_a_section_that_goes_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x", USER="first")
    log = make_log(tmp_path)
    log.write(send(build(tmp_path), []))
    (tmp_path / "USER.md").unlink()
    log.write(send(build(tmp_path), [], "run_2"))
    (change,) = differ(tmp_path, 0, 1).changes
    assert (change.name, change.change, change.tokens_after) == ("user", "removed", 0)
    assert change.diff.splitlines()[-1] == "-first"


def test_texts_of_any_length_are_told_in_bounded_time_and_space() -> None:
    before = "\n".join("x" for _ in range(COMPARED_LINES))
    shown = diff_texts(before, before.replace("x", "y"))
    assert len(shown.splitlines()) == SHOWN_LINES + 1
