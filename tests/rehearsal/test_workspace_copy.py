from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from shipmate.errors import UserError
from shipmate.priming.script.writer import write_script
from shipmate.rehearsal.perform import perform
from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.rehearsal.workspace_copy import WorkspaceCopy
from shipmate.store.file_store import open_store
from shipmate.tools.exec.preview import replica
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import Layout
from tests.support.cassette import STEP, approved, called, make_script, make_workspace, snapshot, wish, words

SECONDS = 60
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "ship"


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    place = tmp_path / "tmp"
    place.mkdir()
    return place


def wait_until(holds: Callable[[], bool]) -> None:
    """Look at the disk until something holds: another process brings it about."""
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.01)


@contextmanager
def rehearsing(
    root: Path, temporary: Path, tools: str, *parts: JsonObject
) -> Generator[subprocess.Popen[bytes]]:
    turns = [(wish(str(each["type"])[5:], **each["input"]), [STEP, approved(each)]) for each in parts]
    script = temporary.parent / "script.md"
    script.write_text(write_script(make_script(*turns, ("hello", [words("Done.")]))))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.rehearse_and_die", str(root), str(script), tools],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


async def list_all(layout: Layout) -> Sequence[object]:
    """Return every thread, approval and hit that some list shows."""
    store = open_store(layout)
    await store.reconcile()
    found = [
        *await store.threads.list(archived=None),
        *await store.threads.list(binned=True),
        *await store.search.find("Done"),
        *await store.consents.approvals(),
    ]
    await store.close()
    return found


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
async def test_a_kill_in_the_middle_of_a_command_leaves_no_copy(root: Path, temporary: Path) -> None:
    layout = make_workspace(root)
    before = snapshot(root)
    command = "echo x > begun; sleep 300"
    with rehearsing(
        root, temporary, "sandbox", called("exec", output="recorded", command=command, timeout=400)
    ) as process:
        wait_until(lambda: bool(list(temporary.glob(f"shipmate-{process.pid}-*/ship/begun"))))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        copies = [
            folder for folder in temporary.glob(f"shipmate-{process.pid}-*") if (folder / "ship").exists()
        ]
        wait_until(lambda: not any(folder.exists() for folder in copies))
    assert snapshot(root) == before
    assert await list_all(layout) == []


@pytest.mark.parametrize("tools", ["script", "live"])
async def test_a_kill_leaves_nothing_in_lists_or_search(root: Path, temporary: Path, tools: str) -> None:
    layout = make_workspace(root, permissions={"allow": ["write"]})
    before = snapshot(root)
    with rehearsing(
        root,
        temporary,
        tools,
        called("read", "r1", output="# Mate", path="Agent.md"),
        called("write", "w1", output="recorded", path="made.md", content="x"),
        called("exec", "e1", output="recorded", command="touch other.md"),
    ) as process:
        assert process.stdout is not None
        # From here on it is somewhere in one rehearsal after the other.
        assert process.stdout.readline() == b"again\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    if tools == "script":
        assert snapshot(root) == before
    assert not list(layout.threads.glob("*.jsonl"))
    assert not list(layout.approvals.glob("*.json"))
    assert await list_all(layout) == []
    wait_until(lambda: not list((layout.logs / "calls").glob("*")))


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
async def test_p2_a_kill_in_the_middle_of_a_live_command_leaves_nothing(root: Path, temporary: Path) -> None:
    """What it printed goes with it; how the workspace stood before it, the next start puts right."""
    layout = make_workspace(root, permissions={"mode": "yolo"})
    command = "echo printed; touch begun; sleep 300"
    with rehearsing(
        root, temporary, "live", called("exec", output="recorded", command=command, timeout=400)
    ) as process:
        wait_until(lambda: (root / "begun").exists() and bool(list(layout.logs.rglob("*.log"))))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not list((layout.logs / "calls").glob("*")))
    assert await list_all(layout) == []
    script = make_script(("hello", [words("Hi.")]))
    await perform(layout, script, Setting(model="rehearsal", tools="live"))
    assert not [path for path in layout.rooms.rglob("*") if path.is_file()]
    assert not list((layout.logs / "calls").glob("*"))


async def test_p2_logs_of_a_rehearsal_whose_remover_was_killed_too_go_with_the_next(root: Path) -> None:
    layout = make_workspace(root)
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    left = layout.call_log(f"cli:rehearsal:{gone.pid}-abc-1", "call").parent
    running = layout.call_log(f"cli:rehearsal:{os.getpid()}-abc-1", "call").parent
    for folder in (left, running):
        folder.mkdir(parents=True)
        (folder / "c1.log").write_text("printed")
    script = make_script(("hello", [words("Hi.")]))
    await perform(layout, script, Setting(model="script", tools="live"))
    assert not left.exists()
    assert running.exists(), "what another process rehearses is its own"


def test_a_copy_left_by_a_process_that_is_gone_is_removed_by_the_next(
    root: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    process = subprocess.Popen(["true"])
    process.wait()
    left = temporary / f"shipmate-{process.pid}-abc" / "ship"
    left.mkdir(parents=True)
    copy = WorkspaceCopy(make_workspace(root))
    copy.make()
    assert not left.exists()
    copy.remove()
    assert list(temporary.iterdir()) == []


def test_a_copy_holds_files_and_neither_secrets_nor_state(root: Path) -> None:
    layout = make_workspace(root, env={"TOKEN": "s3cret-value"})
    (root / ".env").write_text("KEY=s3cret-value\n")
    (root / ".ship" / "threads").mkdir(parents=True)
    (root / ".ship" / "threads" / "a.jsonl").write_text("s3cret-value")
    (root / ".ship" / "memory").mkdir()
    (root / ".ship" / "memory" / "project.md").write_text("# Sea\n")
    (root / "members" / "ux").mkdir(parents=True)
    (root / "members" / "ux" / "Agent.md").write_text("# UX\n")
    copy = WorkspaceCopy(layout)
    copy.make()
    try:
        held = snapshot(copy.layout.root)
        assert held["members/ux/Agent.md"] == b"# UX\n"
        assert held[".ship/memory/project.md"] == b"# Sea\n"
        assert not any(b"s3cret-value" in data for data in held.values())
        assert copy.layout.root.parent.stat().st_mode & 0o777 == 0o700
    finally:
        copy.remove()
    assert not copy.layout.root.parent.exists()


def test_state_that_lies_elsewhere_is_not_written_from_the_copy(root: Path, tmp_path: Path) -> None:
    layout = make_workspace(root)
    (tmp_path / "state").mkdir()
    (root / ".ship").symlink_to(tmp_path / "state")
    copy = WorkspaceCopy(layout)
    copy.make()
    try:
        assert not copy.layout.ship.is_symlink()
        (copy.layout.ship / "x").write_text("x")
    finally:
        copy.remove()
    assert list((tmp_path / "state").iterdir()) == []


def test_a_workspace_that_is_too_large_is_refused_with_what_to_do(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "SIZE_LIMIT", 10)
    layout = make_workspace(root)
    copy = WorkspaceCopy(layout)
    with pytest.raises(UserError, match="--tools script"):
        copy.make()
    copy.remove()
    assert not copy.layout.root.parent.exists()


def test_paths_of_the_workspace_are_those_of_the_copy_and_back(tmp_path: Path) -> None:
    copy = WorkspaceCopy(make_workspace(tmp_path / "ship"))
    root, other = str(tmp_path / "ship"), str(copy.layout.root)
    given = {"command": f"cat {root}/a '{root}' {root}.bak {root}-2/a x{root} {root}."}
    entered = copy.enter(given)
    assert entered == {"command": f"cat {other}/a '{other}' {root}.bak {root}-2/a x{root} {other}."}
    assert copy.enter(entered) == entered
    assert copy.leave(entered) == given
