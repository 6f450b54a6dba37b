"""Read when a task is due: a cron line, an interval, one moment, a heartbeat, or by hand alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from shipmate.schedule.cron import Cron, next_due, read_cron, resolve
from shipmate.schedule.schedule_wording import refuse

Kind: TypeAlias = Literal["manual", "once", "every", "heartbeat", "cron"]
SPAN = re.compile(r"(\d{1,6})\s*(s|m|h|d|w|sec|min|hours?|days?|weeks?|minutes?|seconds?)")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
# What is wanted more often is no task; what is wanted more seldom has a date.
SHORTEST, LONGEST = timedelta(seconds=10), timedelta(days=366)
PULSE = timedelta(minutes=30)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class When(msgspec.Struct, frozen=True):
    """When a task is due. All moments are in UTC; a zone says how the clock of a cron line goes."""

    kind: Kind
    zone: tzinfo | None = None
    cron: Cron | None = None
    span: timedelta | None = None
    at: datetime | None = None

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time behind a moment; None when there is none."""
        if self.cron is not None:
            return next_due(self.cron, self.zone, moment)
        if self.span is not None:
            # Counted from one moment for all, so that every process comes to the same times.
            return EPOCH + self.span * ((moment - EPOCH) // self.span + 1)
        return self.at if self.at is not None and self.at > moment else None

    def upcoming(self, moment: datetime, count: int) -> list[datetime]:
        """Return the next few times behind a moment."""
        found: list[datetime] = []
        while len(found) < count and (due := self.after(found[-1] if found else moment)) is not None:
            found.append(due)
        return found


def read_when(text: str, zone: str = "") -> When:
    """Read when a task is due; raise with what to write instead."""
    words = " ".join(text.split())
    where = find_zone(zone)
    head, _, rest = words.partition(" ")
    match head.lower():
        case "":
            raise refuse("when-missing")
        case "@manual" | "manual":
            return When("manual")
        case "every" | "@every":
            return When("every", span=_read_span(rest))
        case "heartbeat" | "@heartbeat":
            return When("heartbeat", span=_read_span(rest) if rest else PULSE)
        case name if name.startswith("time:"):
            return When("once", where, at=_read_moment(words.partition(":")[2].strip(), where))
        case name if name.startswith(("cron_tz=", "tz=")):
            return read_when(rest, head.partition("=")[2])
        case _:
            return When("cron", where, _read_line(words))


@lru_cache(1024)
def _read_line(words: str) -> Cron:
    return read_cron(words)


@lru_cache(256)
def find_zone(name: str) -> tzinfo | None:
    """Find a zone by its name; an empty one is the machine's own."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise refuse("zone-unknown", zone=name[:60]) from None


def _read_span(text: str) -> timedelta:
    pieces = SPAN.findall(text.lower())
    if not pieces or SPAN.sub("", text.lower()).strip():
        raise refuse("every-bad", text=text[:60])
    span = timedelta(seconds=sum(int(count) * UNITS[unit[0]] for count, unit in pieces))
    if not SHORTEST <= span <= LONGEST:
        raise refuse("every-range", text=text[:60])
    return span


def _read_moment(text: str, zone: tzinfo | None) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        moment = found.astimezone(UTC) if found.tzinfo else resolve(found, zone)
    except (ValueError, OverflowError):
        raise refuse("time-bad", text=text[:60]) from None
    # Whole seconds: the time is part of the name an occurrence has.
    return moment.replace(microsecond=0)
