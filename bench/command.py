"""The cost of consent in 50,000 files: judging a command, confining it, trying it out, recording it."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from shipmate.approvals.audit import Audit, AuditEntry
from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import Call
from shipmate.store.file_store import open_store
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.preview.trial import Trials
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.tool import ToolContext
from shipmate.values.message import new_id
from shipmate.workspace.config import Permissions
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of

FOLDERS, FILES_EACH, TRACKED = 5_000, 10, 300
REPOSITORY = Path(__file__).parents[1]
RULES = Permissions(
    allow=(
        "exec(git status)",
        "exec(git log *)",
        "exec(ls *)",
        "exec(grep *)",
        "exec(cat *)",
        "write(docs/**)",
    ),
    ask=("exec(git push *)", "write(docs/plan/**)"),
    deny=("exec(rm *)", "exec(sudo *)", "read(private/**)", "write(infra/**)"),
)
LINES = {
    "covered": "git status",
    "covered, with paths": "grep -n tide part-1/folder-7/file-3.txt part-2/folder-9/file-4.txt",
    "uncovered": "make test",
    "shell text": 'for f in part-1/*/*.txt; do wc -l "$f"; done | sort -n | tail -5 && git log --oneline',
}
JUDGED, PAIRS, APPENDS = 300, 40, 100
Act = Callable[[], Awaitable[Any]]


def measure() -> list[dict[str, Any]]:
    """Measure in a process of its own, in a fresh workspace."""
    child = subprocess.run(
        [sys.executable, "-m", "bench.command"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    )
    return json.loads(child.stdout.splitlines()[-1])


def make_workspace(root: Path) -> None:
    """Make 50,000 files in 5,000 folders, with a repository, secrets, skills and a member."""
    for number in range(FOLDERS):
        folder = root / f"part-{number % 50}" / f"folder-{number}"
        folder.mkdir(parents=True)
        for file in range(FILES_EACH):
            (folder / f"file-{file}.txt").write_text(f"the tide of {number}, {file}\n")
    for place in ("Agent.md", "members/mate/Agent.md", "skills/a/SKILL.md", "skills/b/SKILL.md"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("# One\n\nWords.\n")
    for place in (".env", "part-3/folder-3/.env", "part-4/.npmrc", "part-5/folder-5/id_rsa"):
        (root / place).write_text("SECRET=1\n")
    tracked = [f"part-{number % 50}/folder-{number}/file-0.txt" for number in range(TRACKED)]
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "Agent.md", *tracked], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


class Bench:
    """One workspace and what acts in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.layout = root, Layout(root)
        self.sandbox = Sandbox(self.layout)
        self.plain = Exec(self.sandbox, Jobs(), {})
        self.trying = Exec(self.sandbox, Jobs(), {}, trials=Trials(self.layout))
        self.store = open_store(self.layout)
        self.service = ApprovalService(
            self.layout, RULES, self.store, sandbox_works=lambda: self.sandbox.works
        )

    def context(self, expected: Any = None) -> ToolContext:
        return ToolContext(
            member=captain_of(self.layout),
            thread_id="cli:dm:ann",
            run_id="r1",
            call_id=new_id("c"),
            expected=expected,
        )

    def call(self, line: str) -> Call:
        raw = {"command": line}
        context = self.context()
        return Call(
            call_id=context.call_id,
            message_id="m1",
            tool=self.plain,
            arguments=self.plain.parse(raw),
            raw=raw,
            context=context,
        )

    async def bare(self, *words: str) -> None:
        """Start a program as `exec` would, but for all that is ours."""
        pipe, joined = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        process = await asyncio.create_subprocess_exec(
            *words, cwd=self.root, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=joined
        )
        await process.communicate()

    async def confined(self, line: str) -> None:
        result = await self.plain.run(self.plain.parse({"command": line}), self.context())
        assert "[exit 0]" in result.output, result

    async def tried(self, line: str) -> Any:
        context = self.context()
        picture = await self.trying.picture(self.trying.parse({"command": line}), context)
        assert bool(picture.result) or "trial" in picture.target, picture
        return context, picture


async def main(root: Path) -> list[dict[str, Any]]:
    """Measure everything once."""
    make_workspace(root)
    bench = Bench(root)
    began = time.perf_counter()
    await bench.confined("true")
    cold = (time.perf_counter() - began) * 1000
    began = time.perf_counter()
    await bench.tried("true")
    cold_trial = (time.perf_counter() - began) * 1000
    rows = await _judging(bench)
    rows += await _confined(bench)
    rows.append(_row("the first sandboxed command of a process, probes and first look included", cold))
    rows += await _tried(bench)
    rows.append(_row("the first previewed command, probe of the overlay included", cold_trial))
    rows.append(_audit(bench))
    await bench.store.close()
    return rows


async def _judging(bench: Bench) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, line in LINES.items():
        call = bench.call(line)
        spent: list[float] = []
        busy = time.process_time()
        for _ in range(JUDGED):
            began = time.perf_counter()
            bench.service.policy.judge(call, await bench.service.grants())
            spent.append((time.perf_counter() - began) * 1000)
        busy = (time.process_time() - busy) * 1000 / JUDGED
        rows.append(_row(f"judge a command, {name}, p50", statistics.median(spent), bar="<= 1"))
        rows.append(_row("  p95 of it", statistics.quantiles(spent, n=20)[-1]))
        rows.append(_row("  its processor time", busy))
    return rows


async def _confined(bench: Bench) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in ("true", "git --version"):
        words = line.split()
        rows += await _compare(
            f"`{line}` sandboxed, over the bare program, p50",
            "<= 15",
            lambda words=words: bench.bare(*words),
            lambda line=line: bench.confined(line),
        )
    return rows


async def _tried(bench: Bench) -> list[dict[str, Any]]:
    script = "echo tide > part-7/folder-7/file-0.txt"
    target = bench.root / "part-7/folder-7/file-0.txt"
    rows = await _compare(
        "`true` previewed, no effect, over the bare program, p50",
        "<= 30",
        lambda: bench.bare("true"),
        lambda: bench.tried("true"),
    )
    before = target.read_text()
    rows += await _compare(
        "a command that writes a file previewed, over the bare command, p50",
        "<= 30",
        lambda: bench.bare("bash", "--noprofile", "--norc", "-c", script),
        lambda: _restored(target, before, bench, script),
    )
    applying: list[float] = []
    for _ in range(PAIRS):
        target.write_text(before)
        context, picture = await bench.tried(script)
        expecting = bench.trying.parse({"command": script})
        bound = _with_target(context, picture.target)
        began = time.perf_counter()
        await bench.trying.run(expecting, bound)
        applying.append((time.perf_counter() - began) * 1000)
        assert target.read_text() == "tide\n"
    return [*rows, _row("apply what it wrote, on disk, p50", statistics.median(applying))]


async def _restored(target: Path, before: str, bench: Bench, script: str) -> None:
    if target.read_text() != before:
        target.write_text(before)
    _, picture = await bench.tried(script)
    assert picture.text, picture


def _with_target(context: ToolContext, target: Any) -> ToolContext:
    from msgspec.structs import replace

    return replace(context, expected=target)


async def _compare(name: str, bar: str, bare: Act, ours: Act) -> list[dict[str, Any]]:
    """Time two ways of doing a thing in turns; what others do on the machine meets both alike."""
    for act in (bare, ours, bare, ours):
        await act()
    times: tuple[list[float], list[float]] = ([], [])
    busy = [0.0, 0.0]
    for _ in range(PAIRS):
        for index, act in enumerate((bare, ours)):
            worked, began = _processor_ms(), time.perf_counter()
            await act()
            times[index].append((time.perf_counter() - began) * 1000)
            busy[index] += _processor_ms() - worked
    over = statistics.median(times[1]) - statistics.median(times[0])
    return [
        _row(name, over, bar=bar),
        _row("  the bare program itself, p50", statistics.median(times[0])),
        _row("  over it at the fastest of each", min(times[1]) - min(times[0])),
        _row("  over it in processor time, ours and the children's", (busy[1] - busy[0]) / PAIRS),
    ]


def _audit(bench: Bench) -> dict[str, Any]:
    audit = Audit(bench.layout)
    spent: list[float] = []
    for number in range(APPENDS):
        entry = AuditEntry(event="allowed", call_id=f"c{number}", tool="exec", what="git status", by="rule")
        began = time.perf_counter()
        audit.append(entry)
        spent.append((time.perf_counter() - began) * 1000)
    return _row("one entry of the audit log, on disk, p50", statistics.median(spent))


def _processor_ms() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return (own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime) * 1000


def _row(name: str, value: float, bar: str | None = None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": "ms", "bar": bar}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        print(json.dumps(asyncio.run(main(Path(place)))))
