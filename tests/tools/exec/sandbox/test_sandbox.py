from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from shipmate.tools.exec.sandbox import sandbox as sandbox_module
from shipmate.tools.exec.sandbox.bubblewrap import TEMPORARY_BYTES, Bubblewrap, find_bubblewraps
from shipmate.tools.exec.sandbox.landlock import Landlock
from shipmate.tools.exec.sandbox.limit import Limiter
from shipmate.tools.exec.sandbox.room import Room
from shipmate.tools.exec.sandbox.sandbox import Confinement, Sandbox, holds, list_confinements
from shipmate.tools.exec.sandbox.seatbelt import Seatbelt
from shipmate.workspace.layout import Layout

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="Linux confinement")


@pytest.fixture(params=[0, 1, 2], ids=["first", "second", "third"])
def confinement(request: pytest.FixtureRequest, layout: Layout) -> Confinement:
    """Give each way to confine commands that works on this machine."""
    working = [each for each in list_confinements(layout) if holds(each, layout)]
    if request.param >= len(working):
        pytest.skip("no further confinement works here")
    return working[request.param]


@pytest.fixture
def layout(root: Path) -> Layout:
    (root / ".env").write_text("KEY=hidden-value")
    (root / "ship.json").write_text('{"llm": {"apiKey": "hidden-value"}}')
    (root / "src").mkdir()
    (root / "src" / "a.txt").write_text("visible")
    for name in (".ship/token", ".ship/approvals/x.json", ".ship/memory/project.md", "members/bo/.env"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("hidden-value" if "memory" not in name else "remembered")
    layout = Layout(root)
    layout.scratch.mkdir(parents=True)
    return layout


def run(confinement: Confinement, layout: Layout, command: str, *, network: bool = False) -> str:
    sandbox = Sandbox(layout, [confinement])
    room = sandbox.open_room(network=network)
    try:
        wrapped = sandbox.wrap(["sh", "-c", command], room)
        done = subprocess.run(
            wrapped, cwd=layout.root, capture_output=True, text=True, timeout=20, check=False
        )
        return done.stdout
    finally:
        sandbox.close_room(room)


def test_the_workspace_is_writable_and_the_system_readable(confinement: Confinement, layout: Layout) -> None:
    assert run(confinement, layout, "cat src/a.txt; echo new > src/b.txt; cat src/b.txt") == "visiblenew\n"
    assert run(confinement, layout, "ls /usr/bin >/dev/null && echo yes") == "yes\n"
    assert run(
        confinement, layout, "echo x > .ship/scratch/x; cat .ship/scratch/x .ship/memory/project.md"
    ) == ("x\nremembered")


@pytest.mark.parametrize(
    "path",
    [".env", "ship.json", "members/bo/.env", ".ship/token", ".ship/approvals/x.json", "/proc/self/cwd/.env"],
)
def test_secrets_and_state_are_hidden(confinement: Confinement, layout: Layout, path: str) -> None:
    assert "hidden" not in run(
        confinement, layout, f"cat {path}; cp {path} src/copy; mv {path} src/moved; cat src/*"
    )
    run(confinement, layout, f"echo forged > {path}; rm -f {path}; ln {path} src/hard; chmod 777 {path}")
    assert (layout.root / path.replace("/proc/self/cwd/", "")).read_text().count("hidden-value") == 1


def test_memory_is_read_only_and_configuration_cannot_be_made(
    confinement: Confinement, layout: Layout
) -> None:
    layout.config.unlink()
    sandbox = Sandbox(layout, [confinement])
    assert sandbox.works
    assert not layout.config.exists()
    forge = (
        "echo forged > .ship/memory/project.md; echo forged > ship.json; mv src/a.txt ship.json; rm ship.json"
    )
    room = sandbox.open_room()
    subprocess.run(sandbox.wrap(["sh", "-c", forge], room), check=False, capture_output=True)
    assert layout.config.read_text() == "{}\n"
    sandbox.close_room(room)
    assert layout.project_memory.read_text() == "remembered"
    assert not layout.config.exists()


def test_a_secret_behind_a_link_is_hidden_too(
    confinement: Confinement, layout: Layout, tmp_path: Path
) -> None:
    layout.env.unlink()
    (layout.root / "src" / "settings").write_text("hidden-value")
    layout.env.symlink_to("src/settings")
    (tmp_path / "outer").write_text("hidden-value")
    (layout.root / ".env.local").symlink_to(tmp_path / "outer")
    assert "hidden" not in run(confinement, layout, "cat .env src/settings .env.local; true")
    assert run(confinement, layout, "cat src/a.txt") == "visible"


def test_nothing_outside_is_written_or_private(
    confinement: Confinement, layout: Layout, tmp_path: Path
) -> None:
    (tmp_path / "private.txt").write_text("hidden-value")
    shown = run(
        confinement,
        layout,
        f"cat {tmp_path}/private.txt; echo x > {tmp_path}/new; cat /etc/shadow; ls {Path.home()}/.ssh",
    )
    assert shown == ""
    assert not (tmp_path / "new").exists()


def test_another_process_keeps_its_environment_to_itself(confinement: Confinement, layout: Layout) -> None:
    other = subprocess.Popen(["sleep", "30"], env={"KEY": "hidden-value"})
    try:
        shown = run(
            confinement,
            layout,
            f"cat /proc/{other.pid}/environ; for f in /proc/*/environ; do cat $f; done; true",
        )
        assert "hidden-value" not in shown
    finally:
        other.kill()
        other.wait()


def test_c6_a_command_ends_no_process_outside(confinement: Confinement, layout: Layout) -> None:
    other = subprocess.Popen(["sleep", "30"])
    try:
        assert run(confinement, layout, f"kill -9 {other.pid} && echo sent; kill -0 $PPID; true") == ""
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize(
    "family", ["AF_INET, socket.SOCK_STREAM", "AF_INET, socket.SOCK_DGRAM", "AF_INET6, socket.SOCK_STREAM"]
)
def test_the_network_is_out_of_reach(confinement: Confinement, layout: Layout, family: str) -> None:
    kind = socket.SOCK_DGRAM if "DGRAM" in family else socket.SOCK_STREAM
    version = socket.AF_INET6 if "INET6" in family else socket.AF_INET
    with socket.socket(version, kind) as server:
        server.bind(("::1" if version == socket.AF_INET6 else "127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.settimeout(0)
        address = server.getsockname()[:2]
        connect = f"s = socket.socket(socket.{family}); s.settimeout(1); s.connect({address})"
        script = f"import socket; {connect}; s.send(b'out')"
        command = f'{sys.executable} -I -S -c "{script}" && echo sent'
        run(confinement, layout, command)
        # What had reached us would lie in the queue by now, however slow the machine is.
        taken = _take(server, kind)
    assert taken == b""


def _take(server: socket.socket, kind: int) -> bytes:
    try:
        if kind == socket.SOCK_DGRAM:
            return server.recv(10)
        connection, _ = server.accept()
        with connection:
            return connection.recv(10) or b"connected"
    except BlockingIOError:
        return b""


def test_the_network_is_there_when_allowed(confinement: Confinement, layout: Layout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"import socket; socket.create_connection({server.getsockname()}).send(b'out')"
        assert (
            run(confinement, layout, f'{sys.executable} -I -S -c "{script}" && echo sent', network=True)
            == "sent\n"
        )


# io_uring makes sockets without socket(2), and numbers of the x32 kind name the same calls once more.
@linux_only
@pytest.mark.parametrize("call", ["425, 1, 0", "0x40000000 + 41, 1, 1, 0"], ids=["io_uring", "x32"])
def test_c6_calls_that_would_go_round_the_filter_are_refused(
    confinement: Confinement, layout: Layout, call: str
) -> None:
    # Without a network of its own bubblewrap needs no filter.
    script = (
        f"import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall({call}), ctypes.get_errno())"
    )
    shown = run(confinement, layout, f'{sys.executable} -I -S -c "{script}"', network=True)
    assert shown == f"-1 {errno.EPERM}\n"


def test_nothing_is_made_beside_the_workspace_and_little_in_its_state(
    confinement: Confinement, layout: Layout
) -> None:
    for name in (".ship/logs/calls/one", ".ship/uploads/one", ".ssh/one"):
        (layout.root / name).parent.mkdir(parents=True, exist_ok=True)
        (layout.root / name).write_text("shown\n")
    places = "/new /etc/new /usr/new .ship/new .ship/logs/calls/new .ship/uploads/new .ssh/new"
    made = run(confinement, layout, f"for place in {places}; do (echo x >$place) && echo $place; done; true")
    assert made == ""
    shown = run(confinement, layout, "cat .ship/logs/calls/one .ship/uploads/one .ssh/one")
    assert shown == "shown\nshown\n"
    assert run(confinement, layout, "echo x >.ship/scratch/new && echo made") == "made\n"


@linux_only
def test_c13_what_is_put_into_memory_as_files_is_bounded(layout: Layout) -> None:
    for confinement in find_bubblewraps(layout):
        assert run(confinement, layout, "df --output=size /tmp | tail -1").strip() == str(
            TEMPORARY_BYTES >> 10
        )


@linux_only
def test_every_confinement_that_can_work_on_this_machine_holds(layout: Layout) -> None:
    """Without this a broken one would only be left out, here and by the tests of each confinement."""
    for confinement in list_confinements(layout):
        program = confinement.describe().removeprefix("bubblewrap (").removesuffix(")")
        trial = [program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
        if confinement.level == "landlock" or subprocess.run(trial, check=False).returncode == 0:
            assert holds(confinement, layout), confinement.describe()


def test_a_probe_that_does_not_hold_counts_for_nothing(layout: Layout) -> None:
    class Open:
        level = limits = "open"
        kill_signal = signal.SIGKILL

        def describe(self) -> str:
            return "open"

        def wrap(self, command: Sequence[str], room: Room) -> list[str]:
            return list(command)

    class Broken(Open):
        def wrap(self, command: Sequence[str], room: Room) -> list[str]:
            return ["/nonexistent/bwrap", *command]

    sandbox = Sandbox(layout, [Broken(), Open()])
    assert not sandbox.works
    assert sandbox.level == "none"
    # Nothing is tried where no sandbox works, so nothing is said of how.
    (finding,) = sandbox.findings()
    assert "every command asks" in finding.message


def test_findings_name_what_confines(layout: Layout) -> None:
    sandbox = Sandbox(layout)
    finding, *others = sandbox.findings()
    assert [other.subject for other in others] == ([] if sandbox.can_overlay else ["preview"])
    assert finding.subject == "sandbox"
    assert sandbox.works == (finding.level == "ok" or sandbox.level == "landlock")
    limited = Sandbox(layout, [Landlock(layout)])
    if limited.works:
        assert "top of the workspace" in limited.findings()[0].message


def test_c14_doctor_says_that_commands_ask_where_processes_cannot_be_limited(
    confinement: Confinement, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_module, "find_limiter", lambda limits: (Limiter(limits, None), False))
    sandbox = Sandbox(layout, [confinement])
    assert not sandbox.works
    assert sandbox.level == confinement.level
    assert "processes cannot be limited here, so every command asks first" in sandbox.findings()[0].message


def test_c14_doctor_names_the_limits_and_a_missing_overlay(layout: Layout) -> None:
    first = Sandbox(layout).findings()[0]
    assert "limits by" in first.message
    (_, missing) = Sandbox(layout, [Landlock(layout)]).findings()
    assert missing.subject == "preview"
    assert "--overlay" in missing.message


@linux_only
def test_a_bwrap_inside_the_workspace_is_not_taken(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = layout.root / "bwrap"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(layout.root))
    assert all(str(fake) not in each.describe() for each in find_bubblewraps(layout))


def test_own_code_inside_the_workspace_is_read_only(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    (layout.root / ".venv").mkdir()
    monkeypatch.setattr(sys, "prefix", str(layout.root / ".venv"))
    options = Bubblewrap(Path("/usr/bin/bwrap"), layout).wrap(["true"], Room(home=Path("/nowhere/home")))
    opened, closed = options.index(str(layout.root)), options.index(str(layout.root / ".venv"))
    assert opened < closed
    assert options[closed - 1] == "--ro-bind-try"


def test_the_seatbelt_profile_closes_and_hides_at_any_depth(layout: Layout) -> None:
    for name in ("sub/.git/config", "sub/deep/.env", "skills/one/SKILL.md"):
        (layout.root / name).parent.mkdir(parents=True, exist_ok=True)
        (layout.root / name).touch()
    room = Room(home=Path("/nowhere/home"))
    lines = Seatbelt(layout).profile(room).splitlines()
    closed = next(line for line in lines if line.startswith("(deny file-write* "))
    hidden = next(line for line in lines if line.startswith("(deny file-read* file-write* "))
    pinned = next(line for line in lines if line.startswith("(deny file-write-unlink "))
    assert all(f'"{layout.root / name}"' in closed for name in ("sub/.git", "skills", "Agent.md", "members"))
    assert f'"{layout.root / "sub/deep/.env"}"' in hidden
    assert all(f'(literal "{layout.root / name}")' in pinned for name in ("sub", "sub/deep"))
    assert '"/nowhere/home"' in next(
        line for line in lines if line.startswith("(allow file-read* file-write*")
    )


def test_the_seatbelt_profile_denies_after_it_allows(layout: Layout) -> None:
    profile = Seatbelt(layout).profile(Room(home=Path("/nowhere/home")))
    lines = profile.splitlines()
    allow = next(i for i, line in enumerate(lines) if "file-write*" in line and f'"{layout.root}"' in line)
    deny = next(i for i, line in enumerate(lines) if line.startswith("(deny") and f'"{layout.ship}"' in line)
    scratch = next(i for i, line in enumerate(lines) if f'"{layout.scratch}"' in line)
    assert allow < deny < scratch
    assert "network" not in profile
    assert profile.count("(") == profile.count(")")
    assert "(allow network" in Seatbelt(layout).profile(Room(home=Path("/nowhere/home"), network=True))


CLOSING = """
import asyncio, sys
from pathlib import Path
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.tool import ToolContext
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of

async def main(root: Path, *commands: str) -> None:
    layout = Layout(root)
    tool = Exec(Sandbox(layout), Jobs(), {})
    for number, command in enumerate(commands):
        context = ToolContext(
            member=captain_of(layout), thread_id="web:room:1", run_id="r", call_id=f"c{number}"
        )
        print((await tool.run(tool.parse({"command": command}), context)).output)

asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
"""


@pytest.mark.parametrize("folder", [".", "sub", "sub/deep"])
def test_c2_closing_a_folder_hides_nothing_in_it(root: Path, folder: str) -> None:
    """A folder that may be entered but not listed is one that git works in all the same."""
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "shut").mkdir(mode=0o300)
    (root / "Agent.md").write_text("# Captain\n")
    made = f"mkdir {folder}/.git {folder}/.husky; echo x > {folder}/.git/config; chmod 311 {folder} sub"
    line = [sys.executable, "-c", CLOSING, str(root), made, "echo pirate > Agent.md"]
    if os.geteuid() == 0:
        # Root may list whatever is closed.
        powers = "-dac_override,-dac_read_search"
        line = ["setpriv", f"--inh-caps={powers}", f"--bounding-set={powers}", *line]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("[refused:") >= 2, done.stdout
    assert not (root / folder / ".git").exists()
    assert not (root / folder / ".husky").exists()
    assert (root / "Agent.md").read_text() == "# Captain\n"
    assert stat.S_IMODE((root / "shut").stat().st_mode) == 0o300


def test_c2_a_kill_of_our_process_leaves_nothing_that_a_command_made(root: Path) -> None:
    """Whoever opens the workspace next does what the killed process could not do any more."""
    (root / "Agent.md").write_text("# Captain\n")
    (root / "skills").mkdir()
    os.mkfifo(root / "told")
    made = "mkdir -p .husky sub/.vscode; echo x > .husky/x; echo x > SOUL.md; echo x > plain; echo > told"
    with subprocess.Popen([sys.executable, "-c", CLOSING, str(root), f"{made}; sleep 60"]) as process:
        (root / "told").read_text()
        process.kill()
    (line, *_) = lines = Sandbox(Layout(root)).recover()
    assert line.startswith("[refused: ")
    assert len(lines) == 3
    assert not any((root / name).exists() for name in (".husky", "sub/.vscode", "SOUL.md"))
    assert (root / "plain").exists()
    assert (root / "Agent.md").exists()
    assert Sandbox(Layout(root)).recover() == []
