"""Leave in good order when the system asks a command to end, or its terminal is closed."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

from shipmate.cli.terminal.tongue import complain

Result = TypeVar("Result")
SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_told: list[signal.Signals] = []


def is_leaving() -> bool:
    """Return whether this process was asked to end: then nothing is stopped, the next keeper goes on."""
    return bool(_told)


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run the work of a command to its end, or until the process is asked to end."""
    try:
        return asyncio.run(_listen(work))
    except asyncio.CancelledError:
        if not _told:
            raise
        with contextlib.suppress(OSError):
            # A closed terminal shows nothing any more.
            complain("asked to end; what was begun goes on with the next process")
        raise click.exceptions.Exit(128 + _told[0]) from None


async def _listen(work: Coroutine[Any, Any, Result]) -> Result:
    task = asyncio.current_task()
    assert task is not None, "this runs in a task"

    def leave(number: signal.Signals) -> None:
        # Once is enough: a second request must not cut off the leaving itself.
        if not _told:
            _told.append(number)
            task.cancel()

    for number in SIGNALS:
        # What is ignored, as under nohup, stays so.
        if signal.getsignal(number) is signal.SIG_DFL:
            asyncio.get_running_loop().add_signal_handler(number, leave, number)
    return await work
