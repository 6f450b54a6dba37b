"""Open a workspace whose store is a database: its store, and this process's part in the fleet around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import shipmate
from shipmate.fleet.fleet import Fleet
from shipmate.fleet.role import Role, process_name
from shipmate.orchestrator.lane.lanes import LocalKeeper
from shipmate.store.postgres.postgres_store import PostgresStore, open_postgres_store


class Assembling(Protocol):
    """What puts together the parts that work threads and send."""

    @property
    def assemble(self) -> Callable[..., LocalKeeper]: ...


async def board(
    address: str, role: Role, *, keeps_time: bool
) -> tuple[PostgresStore, Callable[[Assembling], Fleet]]:
    """Open the store at an address; return it, and what makes the engine of a composed workspace."""
    store = await open_postgres_store(address, worker=process_name())

    def make_engine(ship: Assembling) -> Fleet:
        return Fleet(store, role, ship.assemble, version=shipmate.__version__, keeps_time=keeps_time)

    return store, make_engine
