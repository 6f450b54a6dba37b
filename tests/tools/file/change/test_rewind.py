"""What a run changed can be put back as long as nobody changed it since."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from shipmate.errors import NotFoundError, RewindError
from shipmate.tools.file.change.changeset import recover
from shipmate.tools.file.change.rewind import Rewinds
from shipmate.tools.file.edit import Edit, EditArguments
from shipmate.tools.file.write import Write, WriteArguments
from shipmate.tools.tool import ToolContext
from tests.support.tree import read_tree
from tests.tools.file.change.test_changeset import change_all, find_changes, make_base, run_until


async def write(context: ToolContext, path: str, content: str) -> None:
    await Write().run(WriteArguments(path, content), context)


async def edit(context: ToolContext, path: str, old: str, new: str) -> None:
    await Edit().run(EditArguments(path, old, new), context)


@pytest.fixture
def rewinds(context: ToolContext) -> Rewinds:
    return Rewinds(context.layout)


async def test_a_run_is_rewound_whole(root: Path, context: ToolContext, rewinds: Rewinds) -> None:
    (root / "a.txt").write_text("one\n")
    (root / "a.txt").chmod(0o640)
    before = read_tree(root)
    await write(context, "a.txt", "two\n")
    await edit(context, "a.txt", "two", "three")
    await write(context, "new.txt", "new\n")
    found = rewinds.rewind(context.run_id)
    assert [(file.path, file.change) for file in found.files] == [("a.txt", "changed"), ("new.txt", "added")]
    assert read_tree(root) == before


async def test_rewinding_again_takes_it_back(root: Path, context: ToolContext, rewinds: Rewinds) -> None:
    (root / "a.txt").write_text("one\n")
    before = read_tree(root)
    await write(context, "a.txt", "two\n")
    await write(context, "b.txt", "new\n")
    after = read_tree(root)
    for wanted in (before, after, before, after):
        rewinds.rewind(context.run_id)
        assert read_tree(root) == wanted


async def test_what_somebody_changed_since_keeps_all_as_it_is(
    root: Path, context: ToolContext, rewinds: Rewinds
) -> None:
    (root / "a.txt").write_text("one\n")
    await write(context, "a.txt", "two\n")
    await write(context, "b.txt", "new\n")
    (root / "b.txt").write_text("mine\n")
    before = read_tree(root)
    with pytest.raises(RewindError, match=r"b\.txt"):
        rewinds.rewind(context.run_id)
    assert read_tree(root) == before
    found = rewinds.of_run(context.run_id)
    assert not found.can_rewind
    assert [file.obstacle for file in found.files] == ["", "changed-since"]


async def test_a_run_that_changed_what_was_too_large_to_keep_is_not_rewound(
    root: Path, context: ToolContext, rewinds: Rewinds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shipmate.tools.file.change.rewind.FILE_LIMIT", 3)
    (root / "a.txt").write_text("large\n")
    await write(context, "a.txt", "two\n")
    await write(context, "b.txt", "new\n")
    before = read_tree(root)
    assert [file.obstacle for file in rewinds.of_run(context.run_id).files] == ["not-kept", ""]
    with pytest.raises(RewindError, match="no copy was kept"):
        rewinds.rewind(context.run_id)
    assert read_tree(root) == before


async def test_what_somebody_changed_in_between_is_not_lost(
    root: Path, context: ToolContext, rewinds: Rewinds
) -> None:
    (root / "a.txt").write_text("one\n")
    await write(context, "a.txt", "two\n")
    (root / "a.txt").write_text("mine\n")
    await edit(context, "a.txt", "mine", "theirs")
    with pytest.raises(RewindError):
        rewinds.rewind(context.run_id)
    assert (root / "a.txt").read_text() == "theirs\n"


async def test_runs_are_rewound_apart(root: Path, context: ToolContext, rewinds: Rewinds) -> None:
    later = msgspec.structs.replace(context, run_id="run_2")
    await write(context, "a.txt", "one\n")
    await write(later, "b.txt", "two\n")
    await write(later, "c.txt", "three\n")
    assert [each.run_id for each in rewinds.of_thread(context.thread_id)] == ["run_2", "run_1"]
    assert rewinds.of_thread("cli:local:other") == []
    rewinds.rewind("run_2")
    assert sorted(path.name for path in root.glob("*.txt")) == ["a.txt"]


async def test_a_run_that_changed_nothing_is_told(rewinds: Rewinds) -> None:
    with pytest.raises(NotFoundError):
        rewinds.rewind("run_0")
    with pytest.raises(NotFoundError):
        rewinds.of_run("../../threads")


async def test_every_kind_of_change_is_rewound(root: Path, context: ToolContext, rewinds: Rewinds) -> None:
    make_base(root)
    before = read_tree(root)
    changes = find_changes(root, change_all)
    rewinds.keep(context, "exec", changes.changes)
    changes.apply()
    after = read_tree(root)
    assert after != before
    rewinds.rewind(context.run_id)
    assert read_tree(root) == before
    rewinds.rewind(context.run_id)
    assert read_tree(root) == after


async def test_a_file_put_into_a_new_folder_keeps_it(
    root: Path, context: ToolContext, rewinds: Rewinds
) -> None:
    changes = find_changes(root, lambda copy: (copy / "new").mkdir())
    rewinds.keep(context, "exec", changes.changes)
    changes.apply()
    (root / "new" / "mine.txt").write_text("mine\n")
    with pytest.raises(RewindError):
        rewinds.rewind(context.run_id)
    assert (root / "new" / "mine.txt").read_text() == "mine\n"


async def test_a_kill_while_rewinding_leaves_all_or_nothing(
    root: Path, context: ToolContext, rewinds: Rewinds
) -> None:
    (root / "a.txt").write_text("one\n")
    before = read_tree(root)
    await write(context, "a.txt", "two\n")
    await write(context, "b.txt", "new\n")
    after = read_tree(root)
    pristine = root.with_name("pristine")
    shutil.copytree(root, pristine)
    outcomes: set[bool] = set()
    finished = False
    for step in range(200):
        shutil.rmtree(root)
        shutil.copytree(pristine, root)
        finished = run_until(step, lambda: rewinds.rewind(context.run_id))
        recover(context.layout)
        now = read_tree(root)
        assert now in (before, after)
        outcomes.add(now == before)
        if now == after:
            # Nothing of the attempt stands in the way of the next.
            rewinds.rewind(context.run_id)
            assert read_tree(root) == before
        if finished:
            break
    assert finished
    assert outcomes == {False, True}


async def test_a_change_that_never_happened_does_not_stand_in_the_way(
    root: Path, context: ToolContext, rewinds: Rewinds
) -> None:
    (root / "a.txt").write_text("one\n")
    changes = find_changes(root, lambda copy: (copy / "a.txt").write_text("two\n"))
    # The process ended after the copies were kept and before anything was changed.
    rewinds.keep(context, "exec", changes.changes)
    await write(context, "a.txt", "three\n")
    rewinds.rewind(context.run_id)
    assert (root / "a.txt").read_text() == "one\n"


async def test_a_damaged_copy_is_not_put_back(root: Path, context: ToolContext, rewinds: Rewinds) -> None:
    (root / "a.txt").write_text("one\n")
    await write(context, "a.txt", "two\n")
    (copy,) = context.layout.rewinds.glob("*/*/old/*")
    copy.write_text("broken\n")
    with pytest.raises(RewindError, match="damaged"):
        rewinds.rewind(context.run_id)
    assert (root / "a.txt").read_text() == "two\n"


async def test_old_runs_are_forgotten(root: Path, context: ToolContext, rewinds: Rewinds) -> None:
    (root / "a.txt").write_text("one\n")
    await write(context, "a.txt", "two\n")
    long_ago = 1_000_000_000
    os.utime(context.layout.rewind(context.run_id), (long_ago, long_ago))
    await write(msgspec.structs.replace(context, run_id="run_2"), "b.txt", "new\n")
    assert [each.run_id for each in rewinds.of_thread(context.thread_id)] == ["run_2"]


async def test_what_is_kept_is_private(root: Path, context: ToolContext, rewinds: Rewinds) -> None:
    (root / "a.txt").write_text("one\n")
    await write(context, "a.txt", "two\n")
    assert context.layout.rewinds.stat().st_mode & 0o077 == 0
