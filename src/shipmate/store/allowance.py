"""How much of a budget is used, from the files of usage, and what people said about going on beyond it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

import msgspec

from shipmate.store.journal.usage import UsageFiles
from shipmate.store.port import StepUsage
from shipmate.store.tally import name_in
from shipmate.values.message import timestamp
from shipmate.workspace.disk.disk import DISK, Disk, locked, read_file, refusals, replace_file
from shipmate.workspace.layout import Layout
from shipmate.workspace.settings.team_settings import BudgetSettings

Period = Literal["day", "month"]
Unit = Literal["money", "tokens"]
# Requests with a price count in money, the others in tokens.
LIMITS: tuple[tuple[Period, Unit, str], ...] = (
    ("day", "money", "per_day"),
    ("month", "money", "per_month"),
    ("day", "tokens", "tokens_per_day"),
    ("month", "tokens", "tokens_per_month"),
)
LENGTHS: dict[Period, int] = {"day": 10, "month": 7}
DIGITS = 6
STATES = ("free", "warned", "spent", "stopped")


class SpentBudget(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One limit, and how much of it is used."""

    period: Period
    unit: Unit
    # The member whose limit it is; empty for that of the workspace.
    member: str
    limit: float
    spent: float
    state: Literal["free", "warned", "spent", "stopped"]

    @property
    def key(self) -> str:
        """Return the name of the limit."""
        return f"{self.period} {self.unit} {self.member}".strip()

    def amount(self, value: float) -> str:
        """Write a sum in what the limit counts."""
        if self.unit == "tokens":
            return f"{value:,.0f} tokens"
        return f"${value:,.2f}" if value >= 1 else f"${value:,.4f}"


class BudgetMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was said about the limits of one day: whom it warned, and which a person let go on beyond."""

    day: str = ""
    warned: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()


class Allowance:
    """The running sums of one month; what any process appends to the file is read when it is asked for."""

    def __init__(self, layout: Layout, disk: Disk = DISK) -> None:
        self._layout = layout
        self._disk = disk
        self._files = UsageFiles(layout, disk)
        # The file that was read, its inode, and how far.
        self._read = ("", 0, 0)
        self._sums: defaultdict[tuple[str, Unit, str], float] = defaultdict(float)

    def look(self, budget: BudgetSettings, member: str | None = None) -> list[SpentBudget]:
        """Return how the limits stand that bind a member, or all of them."""
        if not budget.is_set:
            return []
        now = timestamp(datetime.now(UTC))
        self._catch_up(now[:7])
        return [*self._judge(budget, now, member)]

    def _judge(self, budget: BudgetSettings, now: str, member: str | None) -> Iterator[SpentBudget]:
        owners = {"": budget, **budget.members}
        for owner, stated in owners.items():
            if owner and member not in (None, owner):
                continue
            for period, unit, name in LIMITS:
                limit = getattr(stated, name)
                if limit is None:
                    continue
                # Ten times ten cents are a dollar, whatever floats make of them.
                spent = round(self._sums.get((now[: LENGTHS[period]], unit, owner), 0.0), DIGITS)
                shares = (budget.warn_at, 1.0, max(1.0, budget.stop))
                state = STATES[sum(spent >= round(share * limit, DIGITS) for share in shares)]
                yield SpentBudget(
                    period=period, unit=unit, member=owner, limit=limit, spent=spent, state=state
                )

    def _catch_up(self, month: str) -> None:
        name, inode, size = next(
            (each for each in self._files.months() if each[0] == f"{month}.jsonl"), (f"{month}.jsonl", 0, 0)
        )
        known, read_inode, offset = self._read
        if (known, read_inode) != (name, inode) or offset > size:
            self._sums.clear()
            offset = 0
        if offset < size:
            steps, offset = self._files.read(name, offset)
            for step in steps:
                self._add(step)
        self._read = (name, inode, offset)

    def _add(self, step: StepUsage) -> None:
        unit: Unit = "tokens" if step.cost is None else "money"
        amount = step.input_tokens + step.output_tokens if step.cost is None else step.cost
        for when in (step.at[:10], step.at[:7]):
            for owner in ("", name_in(step, "member")):
                self._sums[when, unit, owner] += amount

    def mark(self) -> BudgetMark:
        """Return what was said today; what was said on another day holds no longer."""
        day = timestamp(datetime.now(UTC))[:10]
        path = self._layout.budget
        try:
            with refusals(path, self._layout.root):
                found = msgspec.json.decode(read_file(self._disk, path), type=BudgetMark)
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            # Whoever cannot be shown to have been asked is asked again.
            found = BudgetMark()
        return found if found.day == day else BudgetMark(day=day)

    def note(self, key: str, *, leave: bool) -> None:
        """Put on disk that a limit was warned of, or that a person lets work go on beyond it today."""
        path = self._layout.budget
        with refusals(path, self._layout.root), locked(self._disk, path.with_suffix(".lock")):
            known = self.mark()
            if leave:
                known = msgspec.structs.replace(known, leave=tuple({*known.leave, key}))
            known = msgspec.structs.replace(known, warned=tuple({*known.warned, key}))
            replace_file(self._disk, path, msgspec.json.encode(known))
