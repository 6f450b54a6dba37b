"""Hold people of a team to what they may use: messages a minute, and money or tokens by day and month."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping

from shipmate.server.guard.error import ApiError
from shipmate.server.guard.rate import RateLimit
from shipmate.server.guard.security import busy
from shipmate.server.guard.viewer import viewer
from shipmate.server.port import Ship
from shipmate.store.allowance import LENGTHS, LIMITS, SpentBudget
from shipmate.store.port import ThreadInfo
from shipmate.store.tally import name_in
from shipmate.team.right import OWNED_BY
from shipmate.team.team import Team
from shipmate.team.user import User
from shipmate.values.message import timestamp
from shipmate.workspace.settings.team_settings import TeamLimit

# How old the sums may be that a message is judged by.
FRESH_SECONDS = 10.0
WORDS = {"day": "today", "month": "this month"}


class Quota:
    """What people of one team used; without limits in ship.json nothing is looked at."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._rates: dict[int, RateLimit] = {}
        self._sums: Mapping[tuple[str, str, str], float] = {}
        self._until = 0.0
        # Whose a thread is never changes.
        self._owners: dict[str, str] = {}

    async def check(self, ship: Ship, info: ThreadInfo | None) -> None:
        """Refuse a message beyond a limit: of whoever says it, or of those whose thread it is."""
        limits = ship.crew.loaded.config.team.limits
        asking = viewer()
        if not limits:
            return
        owner = str(info.settings.get(OWNED_BY, "")) if info is not None else asking.uid
        for user in await self._team.users.list():
            limit = limits.get(user.id) or limits.get(user.role)
            if limit is None or user.uid not in (asking.uid, owner):
                continue
            if user.uid == asking.uid and limit.per_minute:
                self._count(user, limit.per_minute)
            await self._check_sums(ship, user, limit)

    def _count(self, user: User, per_minute: int) -> None:
        rate = self._rates.setdefault(per_minute, RateLimit(per_minute / 60, per_minute))
        if wait := rate.wait(user.uid):
            raise busy(wait)

    async def _check_sums(self, ship: Ship, user: User, limit: TeamLimit) -> None:
        stated = {name: getattr(limit, name) for _, _, name in LIMITS}
        if not any(stated.values()):
            return
        sums = await self._add_up(ship)
        now = timestamp()
        for period, unit, name in LIMITS:
            spent = sums.get((user.uid, now[: LENGTHS[period]], unit), 0.0)
            if stated[name] is not None and spent >= stated[name]:
                said = SpentBudget(
                    period=period, unit=unit, member="", limit=stated[name], spent=spent, state="spent"
                )
                used = f"{said.amount(spent)} of {said.amount(said.limit)}"
                raise ApiError(
                    429,
                    "budget",
                    f"What {user.id} may use {WORDS[period]} is used up ({used}).",
                    f"Wait for the next {period}, or ask an admin to raise `team.limits`.",
                )

    async def _add_up(self, ship: Ship) -> Mapping[tuple[str, str, str], float]:
        if time.monotonic() < self._until:
            return self._sums
        sums: defaultdict[tuple[str, str, str], float] = defaultdict(float)
        for step in await ship.store.ledger.usage(f"{timestamp()[:7]}-01"):
            owner = await self._owner_of(ship, name_in(step, "thread"))
            unit = "tokens" if step.cost is None else "money"
            amount = step.input_tokens + step.output_tokens if step.cost is None else step.cost
            for length in LENGTHS.values() if owner else ():
                sums[owner, step.at[:length], unit] += amount
        self._sums, self._until = sums, time.monotonic() + FRESH_SECONDS
        return sums

    async def _owner_of(self, ship: Ship, thread_id: str) -> str:
        known = self._owners.get(thread_id)
        if known is None:
            info = await ship.store.threads.find(thread_id)
            known = str(info.settings.get(OWNED_BY, "")) if info is not None else ""
            self._owners[thread_id] = known
        return known
