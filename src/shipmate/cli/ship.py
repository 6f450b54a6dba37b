"""Open the composed program for a command, and make the events a terminal sends."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from shipmate.cli.place import PLATFORM
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.tongue import complain
from shipmate.values.event import Attachment, TextEvent
from shipmate.values.message import new_id, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

if TYPE_CHECKING:
    from shipmate.app import Shipmate

YOLO = "mode yolo: calls run without asking, but for what ship.json denies or asks about"


@asynccontextmanager
async def open_ship(
    layout: Layout, *, finishes: bool = True, keeps_time: bool = False
) -> AsyncGenerator[Shipmate]:
    """Compose the workspace for a command.

    One that `finishes` works off what it began or found unfinished, unless another process is there to do so.
    One that stays open `keeps_time`: as the keeper it begins tasks when they are due.
    """
    from shipmate.app import Shipmate

    ship = await Shipmate.open(layout.root, keeps_time=keeps_time)
    try:
        yield ship
    except BaseException:
        await ship.close()
        raise
    if finishes and (busy := ship.keeper.busy()):
        complain(f"finishing {', '.join(busy)}. Ctrl-C leaves that to the next start.")
    await ship.close(finish=finishes)


async def prime(
    ship: Shipmate, thread_id: ThreadId, refs: tuple[str, ...], *, show_in_ui: bool = True
) -> None:
    """Begin a new thread with priming scripts; nothing is made when one of them cannot be used."""
    if not refs:
        return
    from shipmate.priming.library import Library
    from shipmate.priming.replay import Priming, create_dialog

    dialog = await create_dialog(
        Library(ship.layout),
        ship.threads,
        ship.store,
        thread_id=thread_id,
        priming=Priming(script_refs=refs, show_in_ui=show_in_ui),
        language=ship.config.language,
    )
    for problem in dialog.problems:
        complain(clean(problem))


def make_text(
    thread_id: ThreadId,
    text: str,
    *,
    steer: bool = False,
    model: str | None = None,
    member: str | None = None,
    attachments: tuple[Attachment, ...] = (),
    extra_context: str | None = None,
) -> TextEvent:
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
        member=member,
        attachments=attachments,
        extra_context=extra_context,
    )


def read_names(
    named: tuple[str, ...], model: str | None, member: str | None
) -> tuple[str | None, str | None]:
    """Tell models from members among the names given with -m: a member's id has no colon."""
    from shipmate.models.catalog import PROVIDERS

    for name in named:
        if ":" in name or name in PROVIDERS:
            model = name
        else:
            member = name
    return model, member


def local_user() -> str:
    """Return the name of the person at this terminal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return "local"


def has_screen() -> bool:
    """Return whether a browser could show itself here; on a bare server the printed link is all there is."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
