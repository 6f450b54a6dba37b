"""What a question about a command is bound to: change any of it, and the answer no longer counts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shipmate.errors import TargetChangedError
from shipmate.tools.exec.exec import DIGEST_LIMIT, Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.tool import ToolContext
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import Layout


@pytest.fixture
def tool(root: Path) -> Exec:
    return Exec(Sandbox(Layout(root), []), Jobs(), {})


async def target(tool: Exec, context: ToolContext, command: str, **more: object) -> JsonObject:
    """Return what a question about a command would be bound to now."""
    return (await tool.picture(tool.parse({"command": command, **more}), context)).target


def replace_content(root: Path) -> None:
    (root / "a.sh").write_text("echo 2\n")


def lead_elsewhere(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("same.sh")


def lead_to_another_absent(root: Path) -> None:
    (root / "absent").unlink()
    (root / "absent").symlink_to("not-there-either")


def become_a_folder(root: Path) -> None:
    (root / "a.sh").unlink()
    (root / "a.sh").mkdir()


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("sh a.sh", replace_content),
        ("sh a.sh", become_a_folder),
        # What only a shell can read names its files as well.
        ("true && sh a.sh | cat", replace_content),
        ("cat <a.sh;true", replace_content),
        # Another file of the same content is another file.
        ("rm link", lead_elsewhere),
        # A link to what is not there is a place to write to.
        ("cp a.sh absent", lead_to_another_absent),
        ("cp a.sh absent", lambda root: (root / "absent").unlink()),
    ],
)
async def test_c7_what_a_command_names_is_part_of_its_target(
    tool: Exec, context: ToolContext, root: Path, command: str, change: Callable[[Path], object]
) -> None:
    for name in ("a.sh", "same.sh"):
        (root / name).write_text("echo 1\n")
    (root / "link").symlink_to("a.sh")
    (root / "absent").symlink_to("not-there")
    shown = await target(tool, context, command)
    assert await target(tool, context, command) == shown
    change(root)
    assert await target(tool, context, command) != shown


async def test_c7_a_file_too_large_to_be_read_is_known_by_its_change(
    tool: Exec, context: ToolContext, root: Path
) -> None:
    large = root / "large.bin"
    large.touch()
    os.truncate(large, DIGEST_LIMIT + 1)
    shown = await target(tool, context, "sh large.bin")
    status = large.stat()
    with large.open("r+b") as file:
        file.write(b"x")
    os.utime(large, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert await target(tool, context, "sh large.bin") != shown


async def test_c7_the_program_and_the_private_variables_are_part_of_the_target(
    tool: Exec, context: ToolContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir(mode=0o755)
    for name in ("one", "two"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    (programs / "greet-them").symlink_to("one")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{programs}")
    shown = await target(tool, context, "greet-them")
    assert await target(tool, context, "greet-them", variables=["TOKEN"]) != shown
    (programs / "greet-them").unlink()
    (programs / "greet-them").symlink_to("two")
    assert await target(tool, context, "greet-them") != shown


async def test_a_pipe_that_nobody_writes_to_keeps_no_question_waiting(
    tool: Exec, context: ToolContext, root: Path
) -> None:
    os.mkfifo(root / "pipe")
    asking = asyncio.create_task(target(tool, context, "cat pipe"))
    done, _ = await asyncio.wait([asking], timeout=10)
    if not done:
        # Lets go of who waits, so that the test can end.
        os.close(os.open(root / "pipe", os.O_RDWR))
    assert done


async def test_c7_a_command_looks_itself_before_it_runs(tool: Exec, context: ToolContext, root: Path) -> None:
    """What changes after the answer was confirmed is seen by the tool."""
    (root / "a.sh").write_text("echo 1 > done\n")
    arguments = tool.parse({"command": "sh a.sh"})
    expected = (await tool.picture(arguments, context)).target
    (root / "a.sh").write_text("echo 2 > done\n")
    bound = ToolContext(
        member=context.member,
        thread_id=context.thread_id,
        run_id=context.run_id,
        call_id=context.call_id,
        expected=expected,
    )
    with pytest.raises(TargetChangedError):
        await tool.run(arguments, bound)
    assert not (root / "done").exists()
