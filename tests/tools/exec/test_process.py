"""Nothing outlives its call, and no call outlives the process that made it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.process import Process
from shipmate.tools.exec.sandbox.sandbox import Confinement, Sandbox, holds, list_confinements
from shipmate.tools.output import Spool, log_of
from shipmate.tools.tool import ToolContext
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout
from tests.tools.exec.conftest import Run

# Makes sessions of its own, whose parents end; each keeps a file of the workspace open, which shows it.
ESCAPE = (
    "import os,sys,time\n"
    "for _ in range(3):\n"
    "    if os.fork() == 0:\n"
    "        os.setsid()\n"
    "        if os.fork() != 0: os._exit(0)\n"
    "        keep = open(sys.argv[1], 'a')\n"
    "        keep.write('up\\n'); keep.flush()\n"
    "        os.close(1); os.close(2)\n"
    "        time.sleep(300)\n"
    "while open(sys.argv[1]).read().count('up') < 3: time.sleep(0.01)\n"
)


@pytest.fixture
def marker(root: Path) -> Path:
    (root / "src").mkdir()
    (root / "src/escape.py").write_text(ESCAPE)
    (root / "src/marker").touch()
    return root / "src/marker"


def holders(file: Path) -> list[int]:
    """Return the processes that have a file open and can still act: those without memory are being ended."""
    status = file.stat()
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            if (process / "statm").read_text().startswith("0 "):
                continue
            for link in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if os.path.samestat(link.stat(), status):
                        found.append(int(process.name))
    return found


async def test_c6_children_in_sessions_of_their_own_end_with_the_command(run: Run, marker: Path) -> None:
    assert (await run("python3 src/escape.py src/marker")).endswith("[exit 0]")
    assert marker.read_text().count("up") == 3
    assert holders(marker) == []


async def test_without_a_sandbox_children_end_with_the_command_too(
    context: ToolContext, root: Path, marker: Path
) -> None:
    tool = Exec(Sandbox(Layout(root), ()), Jobs(), {})
    output = (await tool.run(tool.parse({"command": "python3 src/escape.py src/marker"}), context)).output
    assert output.endswith("[exit 0]")
    assert holders(marker) == []


async def test_children_end_when_the_time_is_up(run: Run, marker: Path) -> None:
    output = await run("python3 src/escape.py src/marker; sleep 300", timeout=2)
    assert "stopped after 2 s" in output
    assert holders(marker) == []


KEEPER = """
import asyncio, sys
from pathlib import Path
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox import limit
from shipmate.tools.exec.sandbox.sandbox import Sandbox, list_confinements
from shipmate.tools.tool import ToolContext
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of

# Any other process of this machine ends what it finds in control groups that were left behind; here only the
# confinement itself counts.
limit.find_groups = lambda: None

async def main():
    layout = Layout(Path(sys.argv[1]))
    level = sys.argv[2]
    chosen = [each for each in list_confinements(layout) if each.describe() == level]
    tool = Exec(Sandbox(layout, chosen), Jobs(), {})
    context = ToolContext(
        member=captain_of(layout), thread_id="cli:local:test", run_id="run_1", call_id="call_1"
    )
    arguments = {"command": "python3 src/escape.py src/marker; sleep 300", "background": True}
    await tool.run(tool.parse(arguments), context)
    print("started", flush=True)
    await asyncio.sleep(300)

asyncio.run(main())
"""


@pytest.mark.crash
@pytest.mark.parametrize("number", [0, 1, 2, None], ids=["first", "second", "third", "none"])
def test_a_job_ends_with_the_process_that_started_it_however_that_ends(
    root: Path, marker: Path, number: int | None
) -> None:
    layout = Layout(root)
    make_private(layout.scratch)
    working: list[Confinement] = [each for each in list_confinements(layout) if holds(each, layout)]
    if number is not None and number >= len(working):
        pytest.skip("no further confinement works here")
    level = working[number].describe() if number is not None else "none"
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(root), level], stdout=subprocess.PIPE, text=True
    )
    try:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == "started\n"
        until(lambda: marker.read_text().count("up") == 3)
        assert len(holders(marker)) == 3
    finally:
        keeper.send_signal(signal.SIGKILL)
        keeper.wait()
        assert keeper.stdout is not None
        keeper.stdout.close()
    until(lambda: holders(marker) == [])


def until(is_so: Callable[[], bool]) -> None:
    """Wait for what another process does; there is no event to await."""
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)


async def test_what_a_command_leaves_in_its_group_ends_with_it_wherever_it_runs(
    root: Path, context: ToolContext, marker: Path
) -> None:
    """Where no room is left behind to end, the group itself is what is known of its children."""
    spool = Spool(log_of(context), 16_000)
    command = ("/bin/sh", "-c", f"sleep 300 >>{marker} 2>&1 &")
    process = await Process.start(command, root, {"PATH": os.environ["PATH"]}, spool)
    assert await process.wait(20)
    assert await asyncio.to_thread(is_let_go, marker)


def is_let_go(file: Path) -> bool:
    """Tell whether within a while nobody has a file open: who is killed takes a moment to be gone."""
    deadline = time.monotonic() + 10
    while holders(file) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not holders(file)
