"""Sets of file changes take effect together or not at all, wherever the process ends."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shipmate.errors import TargetChangedError
from shipmate.tools.exec.preview.replica import Replica
from shipmate.tools.file.change.changeset import Change, Changeset, recover
from shipmate.tools.file.change.state import State, look
from shipmate.workspace.layout import Layout
from tests.support.tree import read_tree

# Everything that changes a disk goes through one of these.
STEPS = ("rename", "replace", "unlink", "rmdir", "mkdir", "chmod", "fsync", "symlink")


def make_base(root: Path) -> None:
    (root / "keep.txt").write_text("keep\n")
    (root / "change.txt").write_text("old\n")
    (root / "gone.txt").write_text("gone\n")
    (root / "mode.sh").write_text("#!/bin/sh\n")
    (root / "folder" / "deep").mkdir(parents=True)
    (root / "folder" / "deep" / "leaf.txt").write_text("leaf\n")
    (root / "turns").mkdir()
    (root / "turns" / "inner.txt").write_text("inner\n")
    (root / "becomes").write_text("a file\n")
    (root / "link").symlink_to("keep.txt")
    (root / "closed").mkdir()
    (root / "closed" / "inside.txt").write_text("1\n")
    (root / "closed").chmod(0o555)


def change_all(root: Path) -> None:
    (root / "change.txt").write_text("new\n")
    (root / "gone.txt").unlink()
    (root / "mode.sh").chmod(0o755)
    shutil.rmtree(root / "folder")
    shutil.rmtree(root / "turns")
    (root / "turns").write_text("now a file\n")
    (root / "becomes").unlink()
    (root / "becomes" / "sub").mkdir(parents=True)
    (root / "becomes" / "sub" / "leaf.txt").write_text("leaf\n")
    (root / "link").unlink()
    (root / "link").symlink_to("change.txt")
    (root / "new").mkdir(mode=0o750)
    (root / "new" / "quiet").touch(mode=0o400)
    (root / "closed").chmod(0o755)
    (root / "closed" / "inside.txt").write_text("2\n")
    (root / "closed").chmod(0o555)


def find_changes(root: Path, change: Callable[[Path], object], name: str = "set") -> Changeset:
    """Keep as a changeset what a function does to a copy of the workspace."""
    layout = Layout(root)
    layout.trials.mkdir(parents=True, exist_ok=True)
    replica = Replica(root, layout.trials / f"{name}-copy")
    replica.make()
    change(replica.folder)
    changes = Changeset(root, layout.trial(name))
    for effect in replica.read().found:
        content, after = "", effect.after
        if after.kind == "link":
            content, after = changes.stage_link(after.digest)
        elif effect.source is not None and after.digest != effect.before.digest:
            with effect.source.open("rb") as source:
                content, after = changes.stage(source.fileno(), after.mode)
        changes.changes.append(Change(effect.path, effect.before, after, content))
    changes.write()
    return changes


@pytest.fixture
def wanted(root: Path, tmp_path: Path) -> dict[str, tuple[str, int, bytes]]:
    """Make the base in the workspace and return what it looks like once all is changed."""
    make_base(root)
    twin = tmp_path / "twin"
    shutil.copytree(root, twin, symlinks=True)
    change_all(twin)
    return read_tree(twin)


def test_applies_every_kind_of_change(root: Path, wanted: dict[str, tuple[str, int, bytes]]) -> None:
    changes = find_changes(root, change_all)
    assert changes.apply() == []
    assert read_tree(root) == wanted
    assert not changes.folder.exists()


def run_until(step: int, act: Callable[[], object]) -> bool:
    """Act in a child process that ends abruptly after so many steps; tell whether it got to the end."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        taken = 0

        def guard(function: Callable[..., object]) -> Callable[..., object]:
            def guarded(*arguments: object, **named: object) -> object:
                nonlocal taken
                taken += 1
                if taken > step:
                    os._exit(9)
                return function(*arguments, **named)

            return guarded

        try:
            for name in STEPS:
                setattr(os, name, guard(getattr(os, name)))
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 0


def test_a_kill_at_any_step_leaves_all_or_nothing(
    root: Path, wanted: dict[str, tuple[str, int, bytes]]
) -> None:
    before = read_tree(root)
    outcomes: set[bool] = set()
    pristine = root.with_name("pristine")
    shutil.copytree(root, pristine, symlinks=True)
    finished = False
    for step in range(1000):
        shutil.rmtree(root)
        shutil.copytree(pristine, root, symlinks=True)
        changes = find_changes(root, change_all)
        finished = run_until(step, changes.apply)
        recover(Layout(root))
        now = read_tree(root)
        assert now in (before, wanted)
        outcomes.add(now == wanted)
        # Recovering again changes nothing.
        assert recover(Layout(root)) == []
        assert read_tree(root) == now
        if finished:
            break
    assert finished
    assert outcomes == {False, True}


def test_a_kill_during_recovery_is_recovered_too(
    root: Path, wanted: dict[str, tuple[str, int, bytes]]
) -> None:
    changes = find_changes(root, change_all)
    # Far enough that the mark is there and some of the changes are in place.
    assert not run_until(20, changes.apply)
    step = 0
    while not run_until(step, lambda: recover(Layout(root))):
        step += 3
    recover(Layout(root))
    assert read_tree(root) == wanted


CHANGED: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "change.txt").write_text("somebody's\n"),
    "mode": lambda root: (root / "change.txt").chmod(0o600),
    "removed": lambda root: (root / "change.txt").unlink(),
    "a new file in a folder that goes": lambda root: (root / "folder" / "deep" / "x").touch(),
    "a file where one is added": lambda root: (root / "new").mkdir(),
    "a link in place of a folder": lambda root: swap(root / "folder"),
    "the link itself": lambda root: ((root / "link").unlink(), (root / "link").symlink_to("mode.sh")),
    "a closed folder opened": lambda root: (root / "closed").chmod(0o777),
}


def swap(folder: Path) -> None:
    moved = folder.rename(folder.with_name("moved"))
    folder.symlink_to(moved.name)


@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_base_refuses_all(root: Path, what: str) -> None:
    make_base(root)
    changes = find_changes(root, change_all)
    CHANGED[what](root)
    before = read_tree(root)
    with pytest.raises(TargetChangedError):
        changes.apply()
    assert read_tree(root) == before
    assert recover(Layout(root)) == []
    assert read_tree(root) == before


def test_nothing_is_put_in_place_through_a_link(root: Path, tmp_path: Path) -> None:
    (root / "docs").mkdir()
    changes = find_changes(root, lambda copy: (copy / "docs" / "a.md").write_text("new\n"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "docs").rmdir()
    (root / "docs").symlink_to(outside)
    with pytest.raises(TargetChangedError):
        changes.apply()
    assert list(outside.iterdir()) == []


def test_recovery_leaves_alone_what_somebody_changed_after_the_crash(root: Path) -> None:
    (root / "a.txt").write_text("old\n")
    (root / "b.txt").write_text("old\n")

    def change(copy: Path) -> None:
        (copy / "a.txt").write_text("new\n")
        (copy / "b.txt").write_text("new\n")

    changes = find_changes(root, change)
    # After the mark (written, synced, renamed, its folder synced) nothing is in place yet.
    assert not run_until(3, changes.apply)
    (root / "b.txt").write_text("somebody's\n")
    assert recover(Layout(root)) == ["set"]
    assert (root / "a.txt").read_text() == "new\n"
    assert (root / "b.txt").read_text() == "somebody's\n"


def test_a_kept_changeset_is_read_again(root: Path) -> None:
    make_base(root)
    changes = find_changes(root, change_all)
    again = Changeset.read(root, changes.folder)
    assert again.digest == changes.digest
    assert again.changes == changes.changes


def test_states_tell_apart_what_matters(root: Path) -> None:
    (root / "a").write_text("1")
    first = look(root, "a")
    (root / "a").write_text("2")
    assert not look(root, "a").matches(first)
    assert look(root, "b") == State()
    assert look(root, "a/b").kind == "unreachable"
