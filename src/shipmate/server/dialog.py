"""Make dialogs: new threads of the web."""

from __future__ import annotations

import uuid

from shipmate.server.ask import PLATFORM
from shipmate.server.port import Ship
from shipmate.server.shape import Priming
from shipmate.server.view import HIDE_PRIMING
from shipmate.values.thread_id import ThreadId


def new_room() -> ThreadId:
    """Name a new thread of the web."""
    return ThreadId(PLATFORM, "room", uuid.uuid4().hex)


async def create_dialog(ship: Ship, member: str, title: str, priming: Priming) -> tuple[ThreadId, int]:
    """Make a thread for a member; give its id and how many messages it begins with."""
    thread_id = new_room()
    settings = {HIDE_PRIMING: True} if priming.script_refs and not priming.show_in_ui else {}
    await ship.store.threads.create(str(thread_id), title=title, member=member, settings=settings)
    return thread_id, 0
