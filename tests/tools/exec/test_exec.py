from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from shipmate.errors import TargetChangedError, ToolError, ToolInputError
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs, JobTool
from shipmate.tools.exec.preview.trial import Trials
from shipmate.tools.exec.sandbox.room import Room
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.tool import ToolContext
from shipmate.workspace.layout import Layout


@pytest.fixture(params=["sandbox", "none"])
async def tool(request: pytest.FixtureRequest, root: Path) -> AsyncIterator[Exec]:
    """Give `exec` in the machine's best sandbox, and with none."""
    sandbox = Sandbox(Layout(root), None if request.param == "sandbox" else ())
    tool = Exec(sandbox, Jobs(), {"PRIVATE": "mine"})
    yield tool
    await tool.close()


async def run(tool: Exec, context: ToolContext, command: str, **more: object) -> str:
    return (await tool.run(tool.parse({"command": command, **more}), context)).output


async def test_output_and_exit_code(tool: Exec, context: ToolContext) -> None:
    assert await run(tool, context, "echo hi; echo err >&2; exit 3") == "hi\nerr\n[exit 3]"
    assert await run(tool, context, "true") == "[exit 0]"


async def test_it_runs_in_the_workspace_with_bash_grammar(tool: Exec, context: ToolContext) -> None:
    assert (
        await run(tool, context, "pwd; [[ -f Agent.md ]] && echo here") == f"{context.folder}\nhere\n[exit 0]"
    )


async def test_the_whole_output_is_logged(tool: Exec, context: ToolContext, root: Path) -> None:
    output = await run(tool, context, "for i in $(seq 20000); do echo line $i; done")
    log = context.layout.call_log(context.thread_id, context.call_id)
    assert log.read_text() == "".join(f"line {n}\n" for n in range(1, 20001))
    assert output.startswith("line 1\n")
    assert output.endswith("line 20000\n[exit 0]")
    assert str(log.relative_to(root)) in output
    assert len(output) < Exec.budget + 300
    assert log.stat().st_mode & 0o777 == 0o600


async def test_huge_output_does_not_fill_memory(tool: Exec, context: ToolContext) -> None:
    tracemalloc.start()
    output = await run(tool, context, "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo end")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000
    assert output.endswith("end\n[exit 0]")
    assert context.layout.call_log(context.thread_id, context.call_id).stat().st_size == 50_000_005


async def test_escapes_are_stripped_and_characters_kept_whole(tool: Exec, context: ToolContext) -> None:
    assert await run(tool, context, r"printf '\033[31mred\033[0m\a\n10%%\r100%%\n'") == "red\n100%\n[exit 0]"
    output = await run(tool, context, "for i in $(seq 30000); do printf 汉字; done")
    assert "\ufffd" not in output
    assert set(output.partition("\n")[0]) == {"汉", "字"}


async def test_a_command_past_its_time_is_ended_with_all_it_started(
    tool: Exec, context: ToolContext, root: Path
) -> None:
    (root / "sub").mkdir()
    output = await run(
        tool, context, "(while :; do date +%N > sub/beat; sleep 0.05; done) & sleep 60", timeout=6
    )
    assert output.endswith("[stopped after 6 s]")
    await assert_still(root / "sub/beat")


async def test_what_a_command_leaves_behind_is_ended(tool: Exec, context: ToolContext, root: Path) -> None:
    (root / "sub").mkdir()
    command = (
        "(while :; do date +%N > sub/beat; sleep 0.05; done) & until [ -s sub/beat ]; do :; done; echo done"
    )
    assert "done" in await run(tool, context, command)
    await assert_still(root / "sub/beat")


async def test_a_child_that_leaves_the_group_is_not_waited_for(tool: Exec, context: ToolContext) -> None:
    assert await run(tool, context, "setsid sleep 3 & echo done") == "done\n[exit 0]"


async def test_a_program_that_cannot_be_started_says_so(root: Path, context: ToolContext) -> None:
    class Broken(Sandbox):
        def wrap(self, command: Sequence[str], room: Room) -> list[str]:
            return ["/nonexistent/bwrap", *command]

    with pytest.raises(ToolError, match="could not be started"):
        await run(Exec(Broken(Layout(root)), Jobs(), {}), context, "true")


async def test_a_cancelled_run_ends_the_command(tool: Exec, context: ToolContext, root: Path) -> None:
    (root / "sub").mkdir()
    task = asyncio.create_task(run(tool, context, "while :; do date +%N > sub/beat; sleep 0.05; done"))
    await until(lambda: (root / "sub/beat").exists())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await assert_still(root / "sub/beat")


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what another process does; files have no events to await."""
    for _ in range(2000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to hold")


async def assert_still(beat: Path) -> None:
    """See that nobody writes the file any more."""
    # A write that had begun when the signal came may still end.
    await asyncio.sleep(0.2)
    before = beat.stat().st_mtime_ns
    await asyncio.sleep(0.25)
    assert beat.stat().st_mtime_ns == before


async def test_the_environment_is_cleared(
    tool: Exec, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "ANTHROPIC_API_KEY",
        "SHIPMATE_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "HARMLESS_LOOKING",
        "HTTP_PROXY",
    ):
        monkeypatch.setenv(name, "hidden-value")
    output = await run(tool, context, "env")
    names = {line.partition("=")[0] for line in output.splitlines()}
    assert "hidden-value" not in output
    assert {
        "PATH",
        "HOME",
        "SHIPMATE_WORKSPACE",
        "SHIPMATE_THREAD",
        "SHIPMATE_RUN",
        "SHIPMATE_MEMBER",
    } <= names
    assert f"SHIPMATE_THREAD={context.thread_id}" in output
    assert f"HOME={Path.home()}\n" not in output
    assert (
        await run(tool, context, "echo ok > ~/file; cat ~/file; mktemp > /dev/null && echo tmp")
        == "ok\ntmp\n[exit 0]"
    )


@pytest.mark.parametrize("command", ["", "   ", "a\0b", "x" * 1_000_000])
async def test_commands_no_shell_can_take_are_refused(tool: Exec, context: ToolContext, command: str) -> None:
    with pytest.raises(ToolError):
        await run(tool, context, command)


@pytest.mark.parametrize("timeout", [0, -1, 100_000, "soon"])
def test_bad_timeouts_run_nothing(tool: Exec, timeout: object) -> None:
    with pytest.raises(ToolInputError, match="Nothing ran"):
        tool.parse({"command": "true", "timeout": timeout})


async def test_stdin_is_empty_and_no_terminal(tool: Exec, context: ToolContext) -> None:
    assert await run(tool, context, "cat; tty") == "not a tty\n[exit 1]"


async def test_background_jobs_can_be_read_and_stopped(tool: Exec, context: ToolContext, root: Path) -> None:
    jobs = Jobs()
    tool, job = Exec(tool.sandbox, jobs, {}), JobTool(jobs)
    (root / "sub").mkdir()
    command = "date +%N > sub/beat; echo started; while :; do date +%N > sub/beat; sleep 0.05; done"
    assert "job1" in await run(tool, context, command, background=True)

    async def act(action: str, context: ToolContext = context, **more: str) -> str:
        return (await job.run(job.parse({"action": action, **more}), context)).output

    log = context.layout.call_log(context.thread_id, context.call_id)
    await until(lambda: "started" in log.read_text())
    assert "started" in await act("read", id="job1")
    assert "running" in await act("list")
    other = msgspec.structs.replace(context, thread_id="cli:local:other")
    assert await act("list", other) == "No jobs."
    with pytest.raises(ToolError, match="no job"):
        await act("stop", other, id="job1")
    assert "exit -9" in await act("stop", id="job1")
    await assert_still(root / "sub/beat")
    assert "exit -9" in await act("stop", id="job1")
    await tool.close()


async def test_closing_ends_jobs(tool: Exec, context: ToolContext, root: Path) -> None:
    (root / "sub").mkdir()
    await run(tool, context, "while :; do date +%N > sub/beat; sleep 0.05; done", background=True)
    await until(lambda: (root / "sub/beat").exists())
    await tool.close()
    await assert_still(root / "sub/beat")


async def test_jobs_are_counted(tool: Exec, context: ToolContext) -> None:
    for number in range(10):
        await run(tool, msgspec.structs.replace(context, call_id=f"c{number}"), "sleep 60", background=True)
    with pytest.raises(ToolError, match="10 jobs"):
        await run(tool, context, "sleep 60", background=True)


async def test_preview_shows_the_command_and_labels_tell_of_the_network(
    tool: Exec, context: ToolContext
) -> None:
    arguments = tool.parse({"command": "curl x\x1b[1A", "network": True})
    assert (await tool.picture(arguments, context)).text == "curl x\\u{1b}[1A\n[with network]"
    assert tool.labels_for(arguments).reads_untrusted
    assert not tool.labels_for(tool.parse({"command": "ls"})).reads_untrusted
    assert tool.labels_for(arguments).acts


async def test_what_may_hold_strangers_words_is_labelled_so(
    tool: Exec, context: ToolContext, root: Path
) -> None:
    for command in ("cat .ship/uploads/a", "cat .SHIP/uploads/a"):
        assert tool.labels_for(tool.parse({"command": command})).reads_untrusted, command
    jobs = Jobs()
    job = JobTool(jobs)
    for reaches_out in (True, False):
        started = Exec(tool.sandbox, jobs, {}, network=reaches_out)
        name = (await run(started, context, "true", background=True)).split()[1].rstrip(".")
        labels = job.labels_for(job.parse({"action": "read", "id": name}))
        assert labels.reads_untrusted is reaches_out
    await jobs.close()


async def test_c14_without_a_sandbox_nothing_is_tried(
    context: ToolContext, root: Path, tmp_path: Path
) -> None:
    """A trial that nothing confines would be the command itself, unasked."""
    tool = Exec(Sandbox(Layout(root), ()), Jobs(), {}, trials=Trials(Layout(root)))
    picture = await tool.picture(tool.parse({"command": f"echo x | tee {tmp_path}/outside"}), context)
    assert picture.result is None
    assert "trial" not in picture.target
    assert not (tmp_path / "outside").exists()


async def test_a_yes_to_effects_counts_for_nothing_where_nothing_is_tried_any_more(
    tool: Exec, context: ToolContext, root: Path
) -> None:
    """The mode may have changed between the question and the answer."""
    expected = {"trial": "trl_0", "changes": "0"}
    bound = msgspec.structs.replace(context, expected=expected)
    with pytest.raises(TargetChangedError):
        await run(tool, bound, "touch made")
    assert not (root / "made").exists()


@pytest.mark.parametrize("background", [False, True])
async def test_c10_a_private_variable_is_masked_in_what_its_command_prints(
    tool: Exec, context: ToolContext, background: bool
) -> None:
    jobs = Jobs()
    given = Exec(tool.sandbox, jobs, {"TOKEN": "swordfish-0123456789"})
    command = "printf 'first %s last' $TOKEN"
    printed = await run(given, context, command, variables=["TOKEN"], background=background)
    if background:
        (job,) = jobs.of(context.thread_id)
        await job.watch
        read = JobTool(jobs)
        printed = (await read.run(read.parse({"action": "read", "id": job.id}), context)).output
    log = context.layout.call_log(context.thread_id, context.call_id).read_text()
    for text in (printed, log):
        assert "swordfish" not in text
        assert "first" in text
        assert "last" in text
    await given.close()


async def test_c7_the_question_says_what_the_words_of_a_command_do_not(
    tool: Exec, context: ToolContext
) -> None:
    arguments = tool.parse({"command": "ls", "background": True, "variables": ["PRIVATE", "O\u202eTHER"]})
    shown = (await tool.picture(arguments, context)).text
    assert shown == "ls\n[with background and the private variables PRIVATE, O\\u{202e}THER]"
