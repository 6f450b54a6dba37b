"""What a library does with a stranger's bytes costs a child process, never this one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shipmate.decoding.worker import ANSWER_LIMIT, Work, call, call_aside, end_idle
from shipmate.errors import DecodingError, DecodingLimitError

HERE = Path(__file__).parent


def work(name: str, **more: float) -> Work:
    return Work(
        function=f"tests.decoding.deed:{name}",
        subject="The thing",
        seconds=more.get("seconds", 5.0),
        memory=int(more.get("memory", 100_000_000)),
        wall_seconds=more.get("wall_seconds", 30.0),
    )


@pytest.fixture(autouse=True)
def _reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the child find this folder's functions as it finds the package's."""
    from shipmate.decoding import worker

    end_idle()
    start = worker.subprocess.Popen
    root = str(HERE.parents[1])

    def popen(command: list[str], **more: object) -> subprocess.Popen[bytes]:
        return start([*command[:-1], root], **more)  # type: ignore[call-overload]

    monkeypatch.setattr(worker.subprocess, "Popen", popen)


def test_bytes_go_and_come() -> None:
    assert call(work("echo"), b"ahoy" * 1_000_000, times=2) == b"ahoy" * 2_000_000


def test_the_next_call_finds_the_process_warm() -> None:
    assert call(work("whoami"), b"") == call(work("whoami"), b"")


def test_a_refusal_says_why() -> None:
    with pytest.raises(DecodingError, match="no such harbour"):
        call(work("refuse"), b"")
    with pytest.raises(DecodingError, match="The thing could not be read: ZeroDivisionError"):
        call(work("fail"), b"")
    assert call(work("echo"), b"still", times=1) == b"still"


def test_work_without_end_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(DecodingLimitError, match=r"within 0\.3 s of work"):
        call(work("spin", seconds=0.3), b"")
    assert time.monotonic() - began < 20


def test_waiting_without_end_is_ended() -> None:
    with pytest.raises(DecodingLimitError):
        call(work("wait", wall_seconds=0.5), b"")


def test_more_memory_than_a_call_may_take_is_refused() -> None:
    with pytest.raises(DecodingLimitError):
        call(work("hoard"), b"")
    assert call(work("hoard", memory=1_000_000_000), b"") == b"x"


def test_an_answer_without_end_is_not_taken() -> None:
    plenty = work("echo", memory=1_000_000_000)
    with pytest.raises(DecodingLimitError):
        call(plenty, b"x" * 1_000_000, times=ANSWER_LIMIT // 1_000_000 + 1)
    assert len(call(plenty, b"x" * 1_000_000, times=60)) == 60_000_000


def test_what_it_prints_is_no_answer() -> None:
    assert call(work("chatter"), b"x") == b"x"


def test_the_child_has_no_variables_of_ours_and_cannot_write_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HARBOUR_KEY", "secret")
    assert b"HARBOUR_KEY" not in call(work("environment"), b"")
    with pytest.raises(DecodingError, match="OSError"):
        call(work("write"), str(tmp_path / "out").encode())


async def test_a_cancelled_call_ends_its_process(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    os.mkfifo(marker)
    task = asyncio.create_task(call_aside(work("report", seconds=60), str(marker).encode()))
    pid = int(await asyncio.to_thread(marker.read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(_gone, pid)


def _gone(pid: int) -> bool:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        os.sched_yield()
    return False


async def test_the_loop_goes_on_meanwhile() -> None:
    """The longest time the loop stood still is far below that of the work."""
    longest = 0.0
    task = asyncio.create_task(call_aside(work("spin", seconds=1.0), b"x" * 10_000_000))
    while not task.done():
        before = time.monotonic()
        await asyncio.sleep(0.005)
        longest = max(longest, time.monotonic() - before)
    with pytest.raises(DecodingLimitError):
        await task
    assert longest < 0.7


def test_the_child_dies_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    program = (
        "import os; from shipmate.decoding import worker; print(worker._start().pid, flush=True); os._exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert _gone(int(done.stdout)), done.stderr
