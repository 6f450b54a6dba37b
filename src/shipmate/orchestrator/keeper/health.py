"""How it stands with an engine: who is there, what waits, and what nobody serves."""

from __future__ import annotations

import msgspec


class FleetProcess(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One process of a fleet."""

    worker: str
    role: str
    members: list[str] | None
    concurrency: int
    version: str
    since: str
    is_draining: bool
    silent: bool

    @property
    def serves(self) -> bool:
        """Return whether it takes jobs."""
        return self.concurrency > 0 and not self.is_draining and not self.silent


class EngineHealth(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How an engine stands."""

    engine: str
    processes: list[FleetProcess] = []
    # Events that wait, by member.
    waiting: dict[str, int] = {}
    running: int = 0
    # Members whose events wait and whom no process serves, and the threads of those events.
    unserved: list[str] = []
    stranded: list[str] = []
