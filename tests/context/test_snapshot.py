from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.context.builder import ContextBuilder
from shipmate.context.request import Context, ContextRequest, NamedTool
from shipmate.context.snapshot import LOG_LIMIT, Sent, SnapshotLog, count_common, read_snapshots
from shipmate.values.message import UIMessage, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import Mask
from tests.support.prompt import MOMENT, write_files

THREAD = ThreadId("web", "room", "1")
SENT = Sent(model="m", course=1)


def build(root: Path, minutes: int = 0) -> Context:
    return ContextBuilder(root).build(ContextRequest(now=MOMENT + timedelta(minutes=minutes)))


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_counts_the_bytes_two_prompts_share(head: bytes, one: bytes, two: bytes) -> None:
    before, after = head + one, head + two
    found = count_common(before, after)
    assert before[:found] == after[:found]
    assert before[found : found + 1] != after[found : found + 1] or found == min(len(before), len(after))


def test_sizes_and_hashes_are_kept_and_no_text(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="The password is swordfish.")
    layout = Layout(tmp_path)
    log = SnapshotLog(layout, {}, str)
    log.record(str(THREAD), "run_1", build(tmp_path), SENT)
    log.record(str(THREAD), "run_2", build(tmp_path, 1), SENT)
    first, second = read_snapshots(layout, THREAD)
    assert (first.run_id, second.run_id) == ("run_1", "run_2")
    assert first.kept_bytes is None
    assert second.kept_bytes == second.bytes
    assert [each.name for each in first.sections] == ["core", "agent", "skills", "runtime"]
    path = layout.context_log(str(THREAD))
    assert b"swordfish" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


def test_under_debug_changed_texts_are_kept_masked(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="The password is swordfish.")
    log = SnapshotLog(Layout(tmp_path), {"DEBUG": "1"}, Mask(["swordfish"]))
    log.record(str(THREAD), "run_1", build(tmp_path), SENT)
    write_files(tmp_path, SOUL="Calm.")
    log.record(str(THREAD), "run_2", build(tmp_path, 1), SENT)
    first, second = read_snapshots(Layout(tmp_path), THREAD)
    assert "The password is •••." in first.texts["agent"]
    assert set(second.texts) == {"soul"}


def test_the_log_stays_small_and_survives_a_torn_line(tmp_path: Path) -> None:
    layout = Layout(write_files(tmp_path, Agent="x"))
    log = SnapshotLog(layout, {}, str)
    context = build(tmp_path)
    for turn in range(700):
        log.record(str(THREAD), f"run_{turn}", context, SENT)
    path = layout.context_log(str(THREAD))
    assert path.stat().st_size <= LOG_LIMIT
    with path.open("ab") as file:
        file.write(b'{"at": "torn')
    found = read_snapshots(layout, THREAD)
    assert found[-1].run_id == "run_699"
    assert len(found) > 100


def test_a_thread_without_turns_has_none(tmp_path: Path) -> None:
    assert read_snapshots(Layout(tmp_path), THREAD) == []


def said(text: str, id: str) -> UIMessage:
    return user_message(id, text)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, ""),
        ({"messages": [said("one", "m1"), said("two", "m2"), said("three", "m3")]}, ""),
        ({"messages": [said("one", "m1"), said("else", "m2")]}, "message m2"),
        ({"messages": [said("one", "m1")]}, "message m2"),
        ({"model": "other"}, "model"),
        ({"course": 2}, "course"),
        ({"tools": [NamedTool("read", "Read it.")]}, "tools"),
        ({"files": 1}, "files"),
    ],
)
def test_w3_says_what_of_the_request_before_changed(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    write_files(tmp_path, Agent="x")
    log = SnapshotLog(Layout(tmp_path), {}, str)
    before = Sent(
        model="m",
        course=1,
        tools=[NamedTool("read")],
        messages=[said("one", "m1"), said("two", "m2")],
    )
    context = build(tmp_path)
    assert log.record(str(THREAD), "run_1", context, before).broken_by is None
    after = msgspec.structs.replace(before, **change)
    assert log.record(str(THREAD), "run_2", context, after).broken_by == named


def test_w3_names_the_section_that_changed(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="x", memory__MEMORY="one")
    log = SnapshotLog(Layout(tmp_path), {}, str)
    log.record(str(THREAD), "run_1", build(tmp_path), SENT)
    write_files(tmp_path, memory__MEMORY="two")
    assert log.record(str(THREAD), "run_2", build(tmp_path), SENT).broken_by == "section memory-index"
