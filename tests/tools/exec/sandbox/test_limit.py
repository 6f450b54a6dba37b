"""Limits, tried with commands that take all they can get."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.limit import Limiter, Limits, find_limiter
from shipmate.tools.exec.sandbox.removal import finish_removals
from shipmate.tools.exec.sandbox.sandbox import Confinement, Sandbox
from shipmate.workspace.layout import Layout
from tests.support.running import command_lines
from tests.tools.exec.conftest import Run

SMALL = Limits(processes=64, memory=200 << 20, file=8 << 20, cpu=1)


@pytest.fixture
async def confined(mode: Confinement, root: Path) -> AsyncIterator[Exec]:
    tool = Exec(Sandbox(Layout(root), [mode], limits=SMALL), Jobs(), {})
    yield tool
    await tool.close()


async def longest_pause(task: asyncio.Task[str]) -> float:
    """Return how long this process did not get to answer while a command ran."""
    longest, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    return longest


async def test_c13_a_fork_bomb_is_bounded_and_leaves_nothing(run: Run) -> None:
    script = (
        "import os,time\n"
        "for _ in range(4000):\n"
        "    try:\n"
        "        if os.fork() == 0: os.setsid()\n"
        "    except OSError: time.sleep(0.001)\n"
        "time.sleep(60)\n"
    )
    task = asyncio.create_task(run(f"{sys.executable} -I -S -c '{script}'", timeout=8))
    while not task.done():
        assert bombs(script) <= SMALL.processes + 4
        await asyncio.sleep(0.05)
    output = task.result()
    assert "stopped after" in output
    assert bombs(script) == 0
    assert "a limit was reached: at most 64 processes" in output


def bombs(script: str) -> int:
    """Count the processes that run a script."""
    return sum(script.encode() in line and b"--\0" not in line for line in command_lines())


async def test_c13_a_memory_bomb_ends_and_others_are_answered_meanwhile(run: Run) -> None:
    script = "x = []\nwhile True: x.append(bytearray(1 << 24))"
    task = asyncio.create_task(run(f"{sys.executable} -I -S -c '{script}'", timeout=60))
    assert await longest_pause(task) < 5
    output = task.result()
    assert "[exit 0]" not in output
    assert "memory" in output.lower()


@pytest.mark.parametrize(
    "command", ["dd if=/dev/zero of=src/big bs=1M count=100000", "truncate -s 100G src/big", "yes > src/big"]
)
async def test_c13_no_file_grows_past_its_limit(run: Run, root: Path, command: str) -> None:
    (root / "src").mkdir()
    output = await run(command)
    assert "[exit 0]" not in output
    assert (root / "src/big").stat().st_size <= SMALL.file
    assert "in one file" in output or "File too large" in output


async def test_c13_processor_time_is_bounded(run: Run) -> None:
    output = await run("while :; do :; done", timeout=60)
    assert "processor time" in output


def test_c13_the_way_found_here_bounds_processes() -> None:
    limiter, is_bounded = find_limiter(Limits())
    assert is_bounded
    assert limiter.describe() in ("control groups", "resource limits")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_c13_an_ordinary_user_is_bound_by_limits_on_its_processes() -> None:
    """Root is bound by no such limit, so there it must be said that it does not hold."""
    assert not Limiter(Limits(), None).holds()
    assert as_nobody(lambda: str(Limiter(Limits(), None).holds())) == "True"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_has_a_sandbox_with_limits_and_overlays() -> None:
    def tell() -> str:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "Agent.md").write_text("# Captain\n")
            sandbox = Sandbox(Layout(Path(folder)))
            return f"{sandbox.works} {sandbox.level} {sandbox.can_overlay} {sandbox.findings()[0].message}"

    told = as_nobody(tell)
    assert told.startswith("True bubblewrap True ")
    assert told.endswith("limits by resource limits")


def as_nobody(tell: Callable[[], str]) -> str:
    """Return what a function says when another user calls it."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            os.write(write_end, tell().encode())
        except BaseException as error:
            os.write(write_end, repr(error).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as file:
        told = file.read()
    os.waitpid(child, 0)
    return told


def test_what_is_ended_runs_no_more_and_leaves_no_group(tmp_path: Path) -> None:
    """Groups are removed when the kernel is ready for it, but by the end of `end` nobody acts any more."""
    limiter, _ = find_limiter(Limits())
    if limiter.describe() != "control groups":
        pytest.skip("no control groups here")
    for number in range(5):
        name = f"shipmate-{os.getpid()}-ended{number}"
        beat = tmp_path / f"beat{number}"
        loop = f"while :; do echo x >> {beat}; done"
        command = f"(setsid sh -c '{loop}' &); (setsid sh -c '{loop}' &); {loop}"
        process = subprocess.Popen(limiter.wrap(["sh", "-c", command], name), stderr=subprocess.DEVNULL)
        while not beat.exists():
            assert process.poll() is None
        limiter.end(name, None)
        size = beat.stat().st_size
        assert process.wait(5) == -9
        finish_removals()
        assert beat.stat().st_size == size
        assert not list(Path("/sys/fs/cgroup").glob(f"**/{name}"))


async def test_the_processes_of_a_command_are_gone_before_the_next(run: Run, root: Path) -> None:
    """A group is never used twice, and nobody of an earlier command is in that of a later one."""
    await run("sh -c 'setsid sleep 300 & setsid sleep 300 & true'")
    groups = [Path(parent) for parent in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup") if Path(parent).is_dir()]
    finish_removals()
    left = [each for group in groups for each in group.glob(f"**/shipmate-{os.getpid()}-*/cgroup.procs")]
    assert [each for each in left if each.read_text().split()] == []
    assert "sleep 300" not in await run("ps -e -o args= | grep '[s]leep 300'; true")


def test_groups_of_killed_processes_are_swept() -> None:
    limiter, _ = find_limiter(Limits())
    if limiter.describe() != "control groups":
        pytest.skip("no control groups here")
    ended = subprocess.Popen(["true"])
    ended.wait()
    name = f"shipmate-{ended.pid}-left"
    joins = limiter.wrap(["true"], name)[2]
    assert name in joins
    find_limiter(Limits())
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{name}"))
