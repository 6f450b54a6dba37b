"""Who may reach the keeper: no command that a tool runs, however it hides where it came from."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from shipmate.app import Shipmate
from shipmate.errors import StorageError
from shipmate.models.scripted import ScriptedModel, call
from shipmate.orchestrator.keeper.frame import TURNED_AWAY
from shipmate.orchestrator.keeper.unix_socket import StreamLink, UnixSocket
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.toolset import Toolset
from shipmate.workspace.layout import Layout
from tests.support.terminal import SHIPMATE
from tests.support.wait import LONG
from tests.support.workspace import ROOM, Probe, messages_of, open_workspace, said, talk, tools_of

KNOCK = """
import os, socket, sys, time

def connect():
    knocking = socket.socket(socket.AF_UNIX)
    knocking.settimeout(20)
    knocking.connect(sys.argv[1])
    return knocking

def greet(knocking):
    hello = b'{"is":"hello","number":1,"version":1}'
    knocking.sendall(len(hello).to_bytes(4, "big") + hello)
    return b"welcome" in knocking.recv(999)

def tell(connect):
    try:
        found = "welcome" if greet(connect()) else "refused"
    except OSError as error:
        found = f"refused {error}"
    with open("told.part", "w") as file:
        file.write(found)
    os.rename("told.part", "told")

way = sys.argv[2]
if way == "child":
    tell(connect)
elif way == "orphan":
    if os.fork() == 0:
        os.setsid()
        middle = os.getpid()
        if os.fork() == 0:
            # Whoever started this one is gone.
            while os.getppid() == middle:
                time.sleep(0.01)
            tell(connect)
        os._exit(0)
else:
    # Whoever connected is gone before the keeper can look at it.
    def inherit():
        carrying, carried = socket.socketpair()
        if os.fork() == 0:
            try:
                socket.send_fds(carrying, [b"x"], [connect().fileno()])
            finally:
                os._exit(0)
        os.wait()
        carrying.close()
        _, handles, _, _ = socket.recv_fds(carried, 1, 1)
        if not handles:
            raise OSError("nothing to inherit")
        return socket.socket(fileno=handles[0])

    tell(inherit)
"""
# The command lives until what it left behind has told how it went.
LINE = "{python} knock.py {socket} {way}; while [ ! -e told ]; do sleep 0.02; done; cat told"
FIRST, SECOND = ScriptedModel({"": ["From the first."]}), ScriptedModel({"": ["From the second."]})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    (tmp_path / "ship.json").write_text('{"permissions": {"mode": "yolo", "ask": ["seal"]}}')
    (tmp_path / "knock.py").write_text(KNOCK)
    return tmp_path


async def open_with_exec(folder: Path, model: ScriptedModel, *, confined: bool) -> tuple[Shipmate, Probe]:
    sandbox = Sandbox(Layout(folder)) if confined else Sandbox(Layout(folder), candidates=[])
    assert sandbox.works is confined
    seal = Probe("seal", acts=True)
    tools = Toolset([Exec(sandbox, Jobs(), {}), seal])
    return await Shipmate.open(folder, model=model, environ={}, toolset=tools), seal


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("way", ["child", "orphan", "heir"])
async def test_a_command_that_a_tool_runs_is_not_let_in(workspace: Path, way: str, confined: bool) -> None:
    line = LINE.format(python=sys.executable, socket=Layout(workspace).keeper_socket, way=way)
    model = ScriptedModel([[call("exec", command=line)], "Done."])
    ship, _ = await open_with_exec(workspace, model, confined=confined)
    try:
        assert ship.keeper.keeps
        await asyncio.wait_for(talk(ship, "knock"), LONG)
        ((_, _, output),) = tools_of((await messages_of(ship))[-1])
    finally:
        await ship.close()
    assert "refused" in output
    assert "welcome" not in output


@pytest.mark.parametrize("confined", [True, False])
async def test_a_command_that_a_tool_runs_cannot_approve(workspace: Path, confined: bool) -> None:
    model = ScriptedModel(
        {
            "ask": [[call("seal", mark="x")], "Sealed."],
            "try": [
                [call("exec", command=f"{SHIPMATE} ask --thread {ROOM} yes; echo code $?")],
                "Done.",
            ],
        }
    )
    ship, seal = await open_with_exec(workspace, model, confined=confined)
    try:
        assert (await talk(ship, "ask")).status == "suspended"
        await asyncio.wait_for((await ship.receive(said("try it"))).outcome(), LONG)
        waiting = await ship.approvals.pending(ROOM)
        output = tools_of((await messages_of(ship))[-1])[-1][2]
    finally:
        await ship.close()
    assert [each.status for each in waiting] == ["requested"]
    assert seal.marks == []
    assert "code 0" not in output
    if not confined:
        # It is told why, at once.
        assert TURNED_AWAY in output


@pytest.mark.parametrize(
    "names", [["keeper.lock"], ["keeper.sock"], ["keeper.lock", "keeper.sock"]], ids=" and ".join
)
async def test_deleting_its_files_neither_makes_a_second_keeper_nor_hides_the_first(
    tmp_path: Path, names: list[str]
) -> None:
    async with open_workspace(tmp_path, FIRST) as first:
        for name in names:
            (tmp_path / ".ship" / name).unlink()
        async with asyncio.timeout(LONG), open_workspace(tmp_path, SECOND) as second:
            assert (first.keeper.keeps, second.keeper.keeps) == (True, False)
            assert (await talk(second, "hello")).text == "From the first."


async def test_deleting_the_folder_of_state_makes_no_second_keeper(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, FIRST) as first:
        shutil.rmtree(tmp_path / ".ship")
        async with asyncio.timeout(LONG), open_workspace(tmp_path, SECOND) as second:
            assert (first.keeper.keeps, second.keeper.keeps) == (True, False)


@pytest.mark.parametrize("name", ["keeper.lock", "keeper.sock"])
async def test_what_stands_in_the_way_is_named_and_leaves_nothing_held(tmp_path: Path, name: str) -> None:
    obstacle = tmp_path / ".ship" / name
    (obstacle / "inner").mkdir(parents=True)
    with pytest.raises(StorageError, match=rf"cannot use \.ship/{name}"):
        async with open_workspace(tmp_path, FIRST):
            pass
    shutil.rmtree(obstacle)
    async with open_workspace(tmp_path, FIRST) as first:
        assert first.keeper.keeps


async def test_whoever_keeps_is_named_while_it_does(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert UnixSocket(layout).holder() is None
    one, two = UnixSocket(layout), UnixSocket(layout)
    assert (one.hold(), two.hold()) == (True, False)
    assert two.holder() is not None
    one.release()
    assert two.holder() is None
    assert two.hold() is True
    two.release()


async def test_a_process_asked_to_end_while_it_begins_to_listen_ends_without_a_trace(tmp_path: Path) -> None:
    async def welcome(link: StreamLink) -> None:
        link.close()

    layout, turns = Layout(tmp_path), 0
    while True:
        place = UnixSocket(layout)
        assert place.hold()
        listening = asyncio.create_task(place.listen(welcome))
        for _ in range(turns):
            await asyncio.sleep(0)
        is_listening = listening.done()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await place.close()
        place.release()
        assert await place.connect() is None
        if is_listening:
            break
        turns += 1
    assert turns > 1, "it was never cut short once it had begun"
