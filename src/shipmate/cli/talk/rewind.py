"""Choose a run whose files are to be put back, and put them back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from shipmate.errors import NotFoundError
from shipmate.tools.file.change.rewind import Rewinds, RunChanges
from shipmate.workspace.layout import Layout

Ask = Callable[[list[str]], Awaitable[str]]
YES = ("y", "yes", "是", "好")
MARKS = {"added": "+", "changed": "~", "removed": "-"}
OBSTACLES = {"changed-since": "  (changed since)", "not-kept": "  (no copy was kept)"}
BACK = "Put these back as they were before the run?"
FILES_SHOWN = 20


async def rewind(layout: Layout, thread_id: str, wanted: str, ask: Ask) -> list[str]:
    """Ask which run, and whether; return what to say at the end."""
    rewinds = Rewinds(layout)
    runs = await asyncio.to_thread(rewinds.of_thread, thread_id)
    if not runs:
        return ["no run of this thread changed files, or they are no longer kept"]
    chosen = await _choose(runs, wanted, ask)
    if chosen is None:
        return ["nothing was put back"]
    if not chosen.can_rewind:
        return [*describe_run(chosen), "nothing can be put back: all of a run's files are, or none"]
    question = "They were put back. Make the run's changes again?" if chosen.is_rewound else BACK
    answer = await ask([*describe_run(chosen), f"{question} y/n"])
    if answer.casefold() not in YES:
        return ["nothing was put back"]
    done = await asyncio.to_thread(rewinds.rewind, chosen.run_id)
    paths = ", ".join(file.path for file in done.files)
    return [
        f"{'made again' if chosen.is_rewound else 'put back'}: {paths}",
        "/rewind once more takes that back",
    ]


async def _choose(runs: Sequence[RunChanges], wanted: str, ask: Ask) -> RunChanges | None:
    if not wanted and len(runs) == 1:
        return runs[0]
    if not wanted:
        listed = [line for place, run in enumerate(runs, 1) for line in _list_run(place, run)]
        wanted = await ask([*listed, f"Which? 1–{len(runs)}, or nothing"])
    if not wanted:
        return None
    by_name = {run.run_id: run for run in runs} | {str(place): run for place, run in enumerate(runs, 1)}
    if wanted not in by_name:
        raise NotFoundError(f"there is no run {wanted} here that changed files. /rewind lists them.")
    return by_name[wanted]


def _list_run(place: int, run: RunChanges) -> list[str]:
    how = "put back" if run.is_rewound else ", ".join(run.tools)
    return [f"{place}  {run.at[:10]} {run.at[11:16]} UTC  {how}  {run.run_id}", *describe_run(run)]


def describe_run(run: RunChanges) -> list[str]:
    """Write the files a run changed, one a line."""
    lines = [
        f"   {MARKS[file.change]} {file.path}{OBSTACLES.get(file.obstacle, '')}"
        for file in run.files[:FILES_SHOWN]
    ]
    more = len(run.files) - FILES_SHOWN
    return [*lines, f"   and {more} more"] if more > 0 else lines
