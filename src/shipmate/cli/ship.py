"""Open the composed program for a command, and make the events a terminal sends."""

from __future__ import annotations

import asyncio
import getpass
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from shipmate.cli.place import PLATFORM
from shipmate.values.event import TextEvent
from shipmate.values.message import new_id, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

if TYPE_CHECKING:
    from shipmate.app import Shipmate

# The exit code of a command that SIGTERM ended, as a shell would give it.
TOLD_TO_END = 128 + signal.SIGTERM
YOLO = "mode yolo: calls run without asking, but for what ship.json denies or asks about"


@asynccontextmanager
async def open_ship(layout: Layout, *, finishes: bool = True) -> AsyncGenerator[Shipmate]:
    """Compose the workspace for a command.

    One that `finishes` works off what it began or found unfinished, unless another process is there to do so.
    """
    from shipmate.app import Shipmate

    _heed_signals()
    try:
        ship = await Shipmate.open(layout.root)
        try:
            yield ship
        except BaseException:
            await ship.close()
            raise
        if finishes and (busy := ship.keeper.busy()):
            threads = ", ".join(busy)
            click.echo(f"shipmate: finishing {threads}. Ctrl-C leaves that to the next start.", err=True)
        await ship.close(finish=finishes)
    except asyncio.CancelledError as error:
        if is_told_to_end(error):
            raise SystemExit(TOLD_TO_END) from error
        raise


def is_told_to_end(error: asyncio.CancelledError) -> bool:
    """Tell a process that shall end from a person who stops a run with Ctrl-C."""
    return TOLD_TO_END in error.args


def _heed_signals() -> None:
    """Leave in order when told to end, for this may be the keeper of others; end at once when told again."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "a command runs in a task"

    def leave(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        task.cancel(TOLD_TO_END)

    for number in (signal.SIGTERM, signal.SIGHUP):
        # What is ignored, as under nohup, stays so.
        if signal.getsignal(number) is signal.SIG_DFL:
            loop.add_signal_handler(number, leave, number)


async def prime(
    ship: Shipmate, thread_id: ThreadId, refs: tuple[str, ...], *, show_in_ui: bool = True
) -> None:
    """Begin a new thread with priming scripts; nothing is made when one of them cannot be used."""
    from shipmate.priming.library import Library
    from shipmate.priming.replay import Priming, create_dialog

    if refs:
        priming = Priming(script_refs=refs, show_in_ui=show_in_ui)
        library = Library(ship.layout)
        await create_dialog(library, ship.threads, ship.store, thread_id=thread_id, priming=priming)


def make_text(thread_id: ThreadId, text: str, *, steer: bool = False, model: str | None = None) -> TextEvent:
    """Make the event of words typed here."""
    return TextEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=local_user(),
        message_id=new_id("in"),
        timestamp=timestamp(),
        text=text,
        steer=steer,
        model=model,
    )


def local_user() -> str:
    """Name the person at this terminal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return "local"
