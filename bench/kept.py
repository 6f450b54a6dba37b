"""The cost of keeping what models are sent: time on the way of a turn and in all, and bytes on disk."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from shipmate.context.builder import ContextBuilder
from shipmate.context.kept.kept_file import read_kept
from shipmate.context.kept.request_log import RequestLog, SentRequest
from shipmate.context.request import ContextRequest
from shipmate.models.neutral import ModelMessage, TextBlock, describe_message
from shipmate.tools.toolset import default_toolset
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import Config, ContextSettings
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of
from shipmate.workspace.secret.secret import Mask

THREAD = "web:room:1"
TURNS = 200
HISTORIES = (0, 200, 10_000)
QUESTION = "And what of the second half? Please look at it again, and say briefly what you find. "
ANSWER = "The second half holds what the first one promised, but for the last page, which is missing. "


def measure() -> list[dict[str, Any]]:
    """Measure turns that change nothing but what was said, in threads of several lengths."""
    rows: list[dict[str, Any]] = []
    for count in HISTORIES:
        with tempfile.TemporaryDirectory() as folder:
            milliseconds, size = _keep(Path(folder), count)
        rows += [
            row(f"keeping the request of a turn, {count:,} messages before, CPU", milliseconds, "ms", "<= 1"),
            row(f"the same, on disk, {count:,} messages before", size, "bytes", "<= 2000"),
        ]
    with tempfile.TemporaryDirectory() as folder:
        rows.append(row("reading 200 kept turns back", _read(Path(folder)), "ms", None))
    return rows


def row(name: str, value: float, unit: str, bar: str | None) -> dict[str, Any]:
    """Return one figure."""
    return {"name": name, "value": value, "unit": unit, "bar": bar}


def _open(root: Path) -> tuple[RequestLog, ContextBuilder, list[Any]]:
    (root / "Agent.md").write_text("# Captain\n\n" + "Be kind to files, and say what you did. " * 40)
    layout = Layout(root)
    layout.thread(ThreadId.parse(THREAD)).parent.mkdir(parents=True)
    layout.thread(ThreadId.parse(THREAD)).touch()
    captain = captain_of(layout, Config())
    return (
        RequestLog(layout, ContextSettings(), Mask(())),
        ContextBuilder(root),
        default_toolset(captain).specs(),
    )


def _keep(root: Path, count: int) -> tuple[float, int]:
    """Return what a turn costs in the thread that keeps, at the median, and how many bytes it adds."""
    log, builder, tools = _open(root)
    messages = [_say(number, f"{ANSWER} {number}") for number in range(count)]
    _write(log, builder, tools, messages, 0)
    path = Layout(root).kept_requests(THREAD)
    before = path.stat().st_size
    taken: list[float] = []
    for turn in range(1, TURNS + 1):
        messages = [*messages, _say(0, f"{QUESTION} {turn}"), _say(1, f"{ANSWER} {turn}")]
        taken.append(_write(log, builder, tools, messages, turn))
    return statistics.median(taken) * 1000, (path.stat().st_size - before) // TURNS


def _say(number: int, text: str) -> ModelMessage:
    return ModelMessage("assistant" if number % 2 else "user", [TextBlock(text)])


def _write(
    log: RequestLog, builder: ContextBuilder, tools: list[Any], messages: list[ModelMessage], turn: int
) -> float:
    sent = SentRequest(
        thread_id=THREAD,
        run_id=f"run_{turn}",
        step=1,
        model="m",
        context=builder.build(ContextRequest(tools=tools)),
        tools=tools,
        messages=messages,
        describe=describe_message,
        window=128_000,
        asked=f"m{turn}",
        words=QUESTION,
    )
    began = time.thread_time()
    log.write(sent)
    return time.thread_time() - began


def _read(root: Path) -> float:
    _keep(root, 0)
    began = time.perf_counter()
    assert len(read_kept(Layout(root), THREAD).steps) == TURNS + 1
    return (time.perf_counter() - began) * 1000
