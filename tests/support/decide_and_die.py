"""Answer approvals in processes that are killed before each of their writes in turn, and tell what is left.

python -m tests.support.decide_and_die FOLDER WORDS COMMAND…
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shipmate.approvals.service import ApprovalService
from shipmate.store.file_store import FileStore, JournalConsents, open_store
from shipmate.workspace.config import Permissions
from shipmate.workspace.layout import Layout
from tests.support.approval import THREAD, make_call, say

NOW = datetime(2100, 3, 1, 12, tzinfo=UTC)
STEPS = ("open", "write", "fsync", "replace", "rename", "unlink")


def make_service(root: Path) -> tuple[ApprovalService, FileStore]:
    store = open_store(Layout(root))
    service = ApprovalService(
        Layout(root), Permissions(), store, sandbox_works=lambda: True, clock=lambda: NOW
    )
    return service, store


async def ask(root: Path, commands: list[str]) -> None:
    service, store = make_service(root)
    for number, command in enumerate(commands, 1):
        call = make_call(root, "exec", {"command": command}, call_id=f"call-{number}")
        await service.request(call, await service.judge(call))
    await store.close()


async def answer(root: Path, words: str, fatal: int | None = None) -> None:
    service, store = make_service(root)
    pending = await service.pending(THREAD)
    if fatal is not None:
        arm(fatal)
    await service.answer(say(words, message_id="m-1"), pending)
    await store.close()


def arm(fatal: int) -> None:
    """Kill this process before its Nth step on disk from now on."""
    taken = 0

    def guard(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            nonlocal taken
            taken += 1
            if taken == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        return step

    for name in STEPS:
        setattr(os, name, guard(getattr(os, name)))
    for name in ("put_approval", "add_grant"):
        setattr(JournalConsents, name, guard(getattr(JournalConsents, name)))


async def look(root: Path) -> None:
    """Print what a process that comes later finds."""
    service, store = make_service(root)
    grants = await service.grants()
    waiting = await service.pending(THREAD)
    found = sorted(await service.list(), key=lambda each: each.number)
    files = [json.loads(Layout(root).approval(each.id).read_text())["status"] for each in found]
    left = [path.name for path in Layout(root).joint_decisions.glob("*.json")]
    report = {
        "statuses": [each.status for each in found],
        "files": files,
        "waiting": len(waiting),
        "grants": len(grants),
        "left": left,
    }
    print(json.dumps(report), flush=True)
    await store.close()


def fork(work: Coroutine[Any, Any, None]) -> int:
    """Run work in a child; tell how it ended."""
    child = os.fork()
    if child == 0:
        asyncio.run(work)
        os._exit(0)
    work.close()
    return os.waitpid(child, 0)[1]


async def rehearse(root: Path, words: str, commands: list[str]) -> None:
    """Do all of it once here: what is imported and compiled at first use is then there in every child."""
    root.mkdir()
    await ask(root, commands)
    await answer(root, words)
    with contextlib.redirect_stdout(io.StringIO()):
        await look(root)


def sweep(root: Path, words: str, commands: list[str]) -> None:
    asyncio.run(rehearse(root / "first", words, commands))
    base = root / "base"
    base.mkdir()
    assert fork(ask(base, commands)) == 0
    for fatal in range(1, 500):
        folder = root / "w"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base, folder)
        ended = fork(answer(folder, words, fatal))
        assert fork(look(folder)) == 0
        if not os.WIFSIGNALED(ended):
            return


if __name__ == "__main__":
    sweep(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
