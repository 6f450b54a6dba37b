"""A command that is told to end leaves in order: it may be the keeper of others."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from shipmate.workspace.layout import Layout
from tests.support.terminal import SHIPMATE, environment
from tests.support.wait import LONG


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + LONG
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        time.sleep(0.05)


def start(folder: Path, thread: str, words: str) -> subprocess.Popen[str]:
    command = [SHIPMATE, "ask", "--thread", thread, words]
    return subprocess.Popen(
        command, cwd=folder, env=environment(folder), text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_keeper_that_is_told_to_end_lets_the_command_of_another_finish(
    workspace: Path, number: signal.Signals
) -> None:
    (workspace / "ship.json").write_text('{"permissions": {"mode": "yolo"}}')
    keeper = start(workspace, "one", "count to 500 slowly")
    wait_for(Layout(workspace).keeper_socket)
    other = start(workspace, "two", "run touch begun; sleep 2; touch done")
    wait_for(workspace / "begun")
    keeper.send_signal(number)
    _, said = keeper.communicate(timeout=LONG)
    assert (keeper.returncode, "Traceback" in said) == (128 + number, False)
    wait_for(workspace / "done")
    # What the first asked is now with the second; told to end as well, it leaves that to the next.
    other.send_signal(signal.SIGTERM)
    out, said = other.communicate(timeout=LONG)
    assert "unknown" not in out
    assert "Traceback" not in said
