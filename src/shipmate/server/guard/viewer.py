"""Know who is asking, wherever a request is worked on: the owner, unless the guard says who else."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar

from shipmate.crew.ask_member import CREW
from shipmate.server.guard.error import ApiError, missing
from shipmate.server.port import Ship, read_if_there
from shipmate.store.port import ThreadInfo
from shipmate.team.right import THE_OWNER, Viewer
from shipmate.team.user import Role
from shipmate.thread.errand import errand_of
from shipmate.values.thread_id import ThreadId

# Each request is a task of its own, with a context of its own.
VIEWER: ContextVar[Viewer] = ContextVar("viewer", default=THE_OWNER)


def viewer() -> Viewer:
    """Return who is asking."""
    return VIEWER.get()


def forbidden(next_: str = "Ask an admin.") -> ApiError:
    """Say that somebody may not do this."""
    return ApiError(403, "forbidden", "You may not do this.", next_)


def need(role: Role) -> Viewer:
    """Refuse whoever may less than a role; return who is asking."""
    asking = viewer()
    if not asking.has(role):
        raise forbidden()
    return asking


async def sees(ship: Ship, thread_id: str) -> bool:
    """Return whether a thread is theirs to see."""
    asking = viewer()
    if asking.has("admin"):
        return True
    info = await ship.store.threads.find(await _payer_of(ship, thread_id))
    return info is not None and asking.sees(info.settings)


async def _payer_of(ship: Ship, thread_id: str) -> str:
    """Return the thread of a person in which a thread between members began; any other is its own."""
    if not thread_id.startswith(f"{CREW}:"):
        return thread_id
    thread = await read_if_there(ship, ThreadId.parse(thread_id))
    errand = None if thread is None else errand_of(thread)
    return thread_id if errand is None else errand.payer


async def choose_seen(ship: Ship, thread_ids: Iterable[str]) -> set[str]:
    """Return those of the threads that are theirs to see."""
    return {each for each in set(thread_ids) if await sees(ship, each)}


def check_sight(info: ThreadInfo | None) -> None:
    """Refuse a thread that is not theirs in the very words for one that is not there."""
    asking = viewer()
    if not asking.has("admin") and (info is None or not asking.sees(info.settings)):
        raise missing("such thread")
