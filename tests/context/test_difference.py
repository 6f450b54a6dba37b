from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from shipmate.context.builder import ContextBuilder
from shipmate.context.difference import compare
from shipmate.context.request import ContextRequest
from shipmate.context.snapshot import Sent, Snapshot, SnapshotLog, count_common
from shipmate.workspace.layout import Layout
from tests.support.prompt import MOMENT, write_files

THREAD = "web:room:1"


class Turns:
    """Build turns of one thread and remember both what is known of them and what they said."""

    def __init__(self, root: Path, debug: str = "") -> None:
        self.log = SnapshotLog(Layout(root), {"DEBUG": debug}, str)
        self.builder = ContextBuilder(root)
        self.known: list[Snapshot] = []
        self.prompts: list[bytes] = []

    def add(self, minutes: int, extra: str | None = None, *, restarted: bool = False) -> None:
        if restarted:
            self.log = SnapshotLog(self.log._layout, {}, str)  # pyright: ignore[reportPrivateUsage]
        request = ContextRequest(now=MOMENT + timedelta(minutes=minutes), extra_context=extra)
        context = self.builder.build(request)
        self.prompts.append(context.system.encode())
        self.known.append(self.log.record(THREAD, f"run_{minutes}", context, Sent(model="m", course=1)))


def test_equal_prompts_have_no_difference(tmp_path: Path) -> None:
    turns = Turns(write_files(tmp_path, Agent="x"))
    turns.add(0)
    turns.add(0)
    found = compare(turns.known, 0, 1)
    assert found.changes == []
    assert found.breaks_at is None


def test_names_the_byte_and_the_section_that_broke_the_prefix(tmp_path: Path) -> None:
    turns = Turns(write_files(tmp_path, Agent="x", memory__MEMORY="one two three"))
    turns.add(0)
    write_files(tmp_path, memory__MEMORY="one TWO three")
    turns.add(1, "in a group")
    found = compare(turns.known, 0, 1)
    assert found.is_exact
    assert found.breaks_at == count_common(*turns.prompts)
    assert found.breaks_in == "memory-index"
    assert [(change.name, change.kind) for change in found.changes] == [
        ("memory-index", "changed"),
    ]


def test_distant_turns_are_compared_by_what_lay_between(tmp_path: Path) -> None:
    turns = Turns(write_files(tmp_path, Agent="x", USER="first"))
    turns.add(0)
    turns.add(1)
    write_files(tmp_path, USER="second")
    turns.add(2)
    turns.add(3)
    found = compare(turns.known, 0, 3)
    assert (found.is_exact, found.breaks_in) == (True, "user")
    assert found.breaks_at == count_common(turns.prompts[0], turns.prompts[3])


def test_after_a_restart_the_section_is_named_and_the_byte_is_not_claimed(tmp_path: Path) -> None:
    turns = Turns(write_files(tmp_path, Agent="x", USER="first"))
    turns.add(0)
    write_files(tmp_path, USER="second")
    turns.add(1, restarted=True)
    found = compare(turns.known, 0, 1)
    assert not found.is_exact
    assert found.breaks_in == "user"
    assert found.breaks_at is not None
    assert found.breaks_at <= count_common(*turns.prompts)


def test_under_debug_the_texts_are_shown(tmp_path: Path) -> None:
    turns = Turns(write_files(tmp_path, Agent="x", USER="first"), debug="1")
    turns.add(0)
    turns.add(0)
    write_files(tmp_path, USER="second")
    turns.add(0)
    change = compare(turns.known, 1, 2).changes[0]
    assert change.text_before == "## USER.md\n\nfirst"
    assert change.text_after == "## USER.md\n\nsecond"


def test_a_section_that_goes_is_named(tmp_path: Path) -> None:
    turns = Turns(write_files(tmp_path, Agent="x", USER="first"))
    turns.add(0)
    (tmp_path / "USER.md").unlink()
    turns.add(0)
    found = compare(turns.known, 0, 1)
    assert [(change.name, change.kind) for change in found.changes] == [("user", "removed")]
    assert found.breaks_at == count_common(*turns.prompts)
