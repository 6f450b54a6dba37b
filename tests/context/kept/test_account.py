from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shipmate.context.kept.account import list_turns, read_account, write_account
from shipmate.context.kept.kept_file import read_kept
from shipmate.context.request import NamedTool
from shipmate.models.neutral import ModelMessage, TextBlock, describe_message
from shipmate.workspace.layout import Layout
from tests.support.kept import THREAD, TOOLS, build, make_log, said, send
from tests.support.prompt import write_files


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, ""),
        ({"messages": said("one", "two", "three")}, ""),
        ({"messages": [*said("one"), ModelMessage("assistant", [TextBlock("two"), TextBlock("more")])]}, ""),
        ({"messages": said("one", "else")}, "message 2"),
        ({"messages": said("one")}, "message 2"),
        ({"model": "other"}, "model"),
        ({"course": 2}, "course"),
        ({"tools": [NamedTool("read", "Read it.")]}, "tools"),
    ],
)
def test_w3_says_what_of_the_request_before_changed(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    write_files(tmp_path, Agent="x")
    context = build(tmp_path)
    make_log(tmp_path).write(send(context, said("one", "two")))
    # Also known by a process that did not send the first.
    after: dict[str, Any] = {"messages": said("one", "two"), **change}
    make_log(tmp_path).write(send(context, run="run_2", **after))
    turns = list_turns(read_kept(Layout(tmp_path), THREAD))
    assert [turn.broken_by for turn in turns] == [None, named]


def test_w3_names_the_section_that_changed(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x", memory__MEMORY="one")
    log = make_log(tmp_path)
    log.write(send(build(tmp_path), []))
    write_files(tmp_path, memory__MEMORY="two")
    log.write(send(build(tmp_path), [], "run_2"))
    assert list_turns(read_kept(Layout(tmp_path), THREAD))[1].broken_by == "section memory-index"


def test_u5_what_is_sent_and_what_would_be_sent_are_counted_alike(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x", SOUL="calm")
    context, messages = build(tmp_path), said("one", "two")
    make_log(tmp_path).write(send(context, messages))
    sent = read_account(read_kept(Layout(tmp_path), THREAD), 0)
    built = write_account(context, TOOLS, map(describe_message, messages))
    assert (sent.rows, sent.left_out, sent.stable_tokens) == (built.rows, built.left_out, built.stable_tokens)
    assert sent.tokens == sum(row.tokens for row in sent.rows)


def test_u5_a_piece_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x")
    make_log(tmp_path).write(send(build(tmp_path), said("one", "two")))
    layout = Layout(tmp_path)
    path = layout.kept_requests(THREAD)
    gone = read_kept(layout, THREAD).history(0)[1].encode()
    path.write_bytes(b"".join(line for line in path.read_bytes().splitlines(True) if gone not in line[:60]))
    rows = read_account(read_kept(layout, THREAD), 0).of("message")
    assert [(row.text, row.is_known) for row in rows] == [("one", True), ("", False)]
