"""Let a process take part in the fleet around a workspace that lives in a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import shipmate
from shipmate.delivery.sender import Sender
from shipmate.fleet.fleet import Fleet
from shipmate.fleet.role import VISITOR, Role
from shipmate.orchestrator.feed import LocalFeed
from shipmate.orchestrator.lane.lanes import Lanes, LocalKeeper
from shipmate.store.postgres.postgres_store import PostgresStore


class Assembling(Protocol):
    """What puts together the parts that work threads and send."""

    def assemble(
        self, feed: LocalFeed, make_lanes: Callable[..., Lanes], make_sender: Callable[..., Sender]
    ) -> LocalKeeper: ...


def board(store: PostgresStore, role: Role | None, *, keeps_time: bool) -> Callable[[Assembling], Fleet]:
    """Return what makes the engine of a workspace; a process without a role only asks."""
    return lambda ship: Fleet(
        store, role or VISITOR, ship.assemble, version=shipmate.__version__, keeps_time=keeps_time
    )
