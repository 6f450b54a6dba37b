"""Measure priming scripts: parsing, searching, and creating a primed dialog."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from shipmate.priming.convert import to_records
from shipmate.priming.library import Library
from shipmate.priming.ref import ScriptRef
from shipmate.priming.replay import Priming, build_rows, create_dialog
from shipmate.priming.script.parse import parse_script
from shipmate.priming.script.record import Script
from shipmate.priming.script.writer import write_script
from shipmate.store.file_store import open_store
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

RECORDS = 10_000
SCRIPTS = 1_000
DIALOGS = 30


def measure() -> list[dict[str, Any]]:
    """Give the figures of this module."""
    text = write_script(Script({"title": "bench"}, to_records(make_thread(RECORDS // 4))))
    records = parse_script(text).records
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        search = _measure_search(layout)
        beyond = asyncio.run(_measure_creation(layout))
    return [
        {
            "name": f"parse {len(records):,} records",
            "value": _best(lambda: parse_script(text)),
            "unit": "s",
            "bar": "<= 1",
        },
        {
            "name": f"search over {SCRIPTS:,} scripts, warm",
            "value": 1000 * search,
            "unit": "ms",
            "bar": "<= 100",
        },
        {
            "name": "create a primed dialog, beyond replay (median)",
            "value": 1000 * beyond,
            "unit": "ms",
            "bar": "<= 5",
        },
    ]


def make_thread(turns: int) -> list[UIMessage]:
    """Make a thread whose every turn becomes four records: a question, a call, its result, an answer."""
    messages: list[UIMessage] = []
    for number in range(turns):
        metadata = {"timestamp": "2026-03-01T09:30:00.000Z", "course": 1}
        question = {"type": "text", "text": f"Look at file {number}.\nWhat does it say?"}
        call = {
            "type": "tool-read",
            "toolCallId": f"call_{number}",
            "state": "output-available",
            "input": {"path": f"docs/{number}.md"},
            "output": {"text": "```python\nprint('hi')\n```\n", "lines": 3},
        }
        answer = {"type": "text", "text": f"It prints a greeting ({number}).", "state": "done"}
        messages.append({"id": f"u{number}", "role": "user", "parts": [question], "metadata": metadata})
        messages.append(
            {"id": f"a{number}", "role": "assistant", "parts": [call, answer], "metadata": metadata}
        )
    return messages


def _measure_search(layout: Layout) -> float:
    layout.shared_priming.mkdir(parents=True)
    records = to_records(make_thread(2))
    for number in range(SCRIPTS):
        text = write_script(Script({"title": f"Script number {number}"}, records))
        (layout.shared_priming / f"s{number}.md").write_text(text, encoding="utf-8")
    library = Library(layout)
    library.search("captain", "number 99")
    return _best(lambda: library.search("captain", "number 99"))


async def _measure_creation(layout: Layout) -> float:
    """Give what creation costs besides replay: reading the script and putting its rows on disk."""
    library, threads, store = Library(layout), ThreadService(FileLog(layout)), open_store(layout)
    ref = ScriptRef(None, "s1")
    replayed: list[float] = []
    created: list[float] = []
    for number in range(DIALOGS):
        bare, primed = (ThreadId("bench", kind, str(number)) for kind in ("bare", "primed"))
        begin = time.perf_counter()
        await threads.create(bare, build_rows([library.load(ref, "captain")], bare))
        replayed.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        priming = Priming(script_refs=(str(ref),), show_in_ui=True)
        await create_dialog(library, threads, store, thread_id=primed, priming=priming)
        created.append(time.perf_counter() - begin)
    await store.close()
    return median(created) - median(replayed)


def _best(work: Callable[[], object]) -> float:
    spent: list[float] = []
    for _ in range(5):
        begin = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begin)
    return min(spent)
