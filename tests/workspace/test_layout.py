"""No name that comes from outside leads out of the folder it belongs in."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import PathError
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.private import write_private
from shipmate.workspace.layout import Layout

names = st.text(min_size=1, max_size=300) | st.sampled_from(
    ["..", ".", "../../etc/passwd", "a/b", "\x00", "..."]
)
LAYOUT = Layout(Path("/ws"))


@given(names)
def test_foreign_names_become_one_file_name(name: str) -> None:
    for path, folder in (
        (LAYOUT.user_memory(name), LAYOUT.ship / "memory" / "users"),
        (LAYOUT.approval(name), LAYOUT.approvals),
        (LAYOUT.call_log("web:room:1", name), LAYOUT.logs / "calls" / ThreadId("web", "room", "1").encode()),
    ):
        assert Path(os.path.normpath(path)).parent == folder
        assert len(path.name.encode()) <= 255
        assert not path.name.startswith(".")


@pytest.mark.parametrize("member", ["", "..", "../x", "a/b", ".hidden", "x" * 65, "名"])
def test_a_member_id_that_could_lead_astray_is_refused(member: str) -> None:
    with pytest.raises(PathError):
        LAYOUT.member(member)
    with pytest.raises(PathError):
        LAYOUT.recent_priming(member)


def test_the_captain_lives_in_the_workspace_and_others_in_members() -> None:
    assert LAYOUT.member("captain") == LAYOUT
    assert LAYOUT.member("ux").root == Path("/ws/members/ux")
    assert LAYOUT.daily_note(date(2026, 2, 3)) == Path("/ws/memory/2026-02-03.md")


def test_a_private_file_is_replaced_whole_and_left_private(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    write_private(path, b"one")
    write_private(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["b.json"]
