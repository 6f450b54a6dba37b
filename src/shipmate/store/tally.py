"""Add up what steps used: by whoever asked for them, by thread, day and model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import Literal

import msgspec

from shipmate.store.port import StepUsage
from shipmate.values.message import timestamp

Grouping = Literal["day", "member", "thread", "model"]


class Tally(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The sum of what models used."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    milliseconds: int
    # None when a price is unknown for any of them; a partial sum would look like the whole.
    cost: float | None
    unpriced: int

    @property
    def tokens(self) -> int:
        """Count what was read and written together."""
        return self.input_tokens + self.output_tokens


def start_of(days: int) -> str:
    """Return the moment from which on so many days count, today with them; days are those of UTC."""
    first = datetime.now(UTC).date() - timedelta(days=days - 1)
    return timestamp(datetime.combine(first, time(), UTC))


def add_up(steps: Iterable[StepUsage]) -> Tally:
    """Return the sum of steps."""
    rows = list(steps)
    costs = [step.cost for step in rows if step.cost is not None]
    return Tally(
        requests=len(rows),
        input_tokens=sum(step.input_tokens for step in rows),
        output_tokens=sum(step.output_tokens for step in rows),
        cache_read_tokens=sum(step.cache_read_tokens for step in rows),
        cache_write_tokens=sum(step.cache_write_tokens for step in rows),
        milliseconds=sum(step.milliseconds for step in rows),
        cost=sum(costs) if rows and len(costs) == len(rows) else None,
        unpriced=len(rows) - len(costs),
    )


def group_by(steps: Iterable[StepUsage], grouping: Grouping) -> dict[str, Tally]:
    """Return the sums by name: days in their order, of the others what used most first."""
    found: defaultdict[str, list[StepUsage]] = defaultdict(list)
    for step in steps:
        found[name_in(step, grouping)].append(step)
    sums = {name: add_up(rows) for name, rows in sorted(found.items())}
    if grouping == "day":
        return sums
    return dict(sorted(sums.items(), key=lambda item: -item[1].tokens))


def name_in(step: StepUsage, grouping: Grouping) -> str:
    """Return what a step counts for; the work of colleagues is that of whoever asked them first."""
    match grouping:
        case "day":
            return step.at[:10]
        case "member":
            return step.asker or step.member
        case "thread":
            return step.payer or step.thread_id
        case "model":
            return step.model
