"""Open the composed program for a command, and make the events a terminal sends."""

from __future__ import annotations

import getpass
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from shipmate.cli.place import PLATFORM
from shipmate.errors import UserError
from shipmate.models.port import Model
from shipmate.values.event import TextEvent
from shipmate.values.message import new_id, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

if TYPE_CHECKING:
    from shipmate.app import Shipmate

YOLO = "mode yolo: calls run without asking, but for what ship.json denies or asks about"


@asynccontextmanager
async def open_ship(layout: Layout, model_name: str | None = None) -> AsyncGenerator[Shipmate]:
    """Compose the workspace, with another model when one is named."""
    from shipmate.app import Shipmate

    model = name_model(layout, model_name) if model_name else None
    ship = await Shipmate.open(layout.root, model=model)
    try:
        yield ship
    finally:
        await ship.close()


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


def name_model(layout: Layout, name: str) -> Model:
    """Choose the model `provider:model` names; the rest of `llm` in ship.json holds for its provider."""
    from shipmate.models.choose import choose_model
    from shipmate.workspace.load import load_config

    provider, _, model = name.partition(":")
    if not model and provider != "rehearsal":
        raise UserError(f"--model {name}: write provider:model, for example anthropic:claude-sonnet-4-6.")
    loaded = load_config(layout)
    llm = loaded.config.llm
    if llm.provider != provider:
        llm = msgspec.structs.replace(llm, base_url=None, api_key=None, fallback=())
    return choose_model(msgspec.structs.replace(llm, provider=provider, model=model or None), loaded.environ)


def make_text(thread_id: ThreadId, text: str, *, steer: bool = False) -> TextEvent:
    """Make the event of words typed here."""
    return TextEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=local_user(),
        message_id=new_id("in"),
        timestamp=timestamp(),
        text=text,
        steer=steer,
    )


def local_user() -> str:
    """Name the person at this terminal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return "local"
