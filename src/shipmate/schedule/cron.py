"""Read cron lines, and find when one is due next by the clock of a zone, also when that clock is changed.

The rules of crontab(5): a line whose hour begins with `*` goes with the clock as it shows, so it is due in
both hours when one comes twice, and in none when one is left out. Any other is due once: at the first of two
equal times, and at the end of the gap for a time that the clock leaves out.
"""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from shipmate.schedule.schedule_wording import refuse

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
MONTHS = {name.lower(): place for place, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {name: place for place, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
PIECE = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d{1,4}))?", re.ASCII)
LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MINUTE = timedelta(minutes=1)
# The 29th of February is at most eight years away.
YEARS = 9


class Cron(msgspec.Struct, frozen=True):
    """A cron line: the values of its five fields, in order."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    # Sunday is 0.
    weekdays: frozenset[int]
    # A day counts when either field has it, where both are given; else when both have it.
    either_day: bool
    # Due whenever the clock shows it, rather than once a day.
    flows: bool

    def is_day(self, moment: datetime) -> bool:
        """Return whether the line is due on a day at all."""
        if moment.month not in self.months:
            return False
        is_day, is_weekday = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        return is_day or is_weekday if self.either_day else is_day and is_weekday

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time behind a moment by a clock that is never changed."""
        moment = (moment + MINUTE).replace(second=0, microsecond=0)
        last = moment.year + YEARS
        while moment.year < last:
            if not self.is_day(moment):
                moment = self._next_day(moment)
                continue
            place = bisect_left(self.hours, moment.hour)
            if place < len(self.hours) and self.hours[place] == moment.hour:
                minute = bisect_left(self.minutes, moment.minute)
                if minute < len(self.minutes):
                    return moment.replace(minute=self.minutes[minute])
                place += 1
            if place < len(self.hours):
                return moment.replace(hour=self.hours[place], minute=self.minutes[0])
            moment = self._next_day(moment)
        return None

    def _next_day(self, moment: datetime) -> datetime:
        """Return the beginning of the next day that may count; months without one are left out."""
        day = moment.replace(hour=0, minute=0)
        if day.month not in self.months or (not self.either_day and day.day >= max(self.days)):
            return (day.replace(day=28) + timedelta(days=4)).replace(day=1)
        # Every month has 28 days.
        first = 0 if self.either_day else min(28, min(self.days))
        return day.replace(day=first) if day.day < first else day + timedelta(days=1)


def read_cron(text: str) -> Cron:
    """Read a cron line; raise for one that cannot be read or is never due."""
    line = ALIASES.get(text.strip().lower(), text)
    fields = line.split()
    if len(fields) != len(FIELDS):
        raise refuse("cron-fields", line=text[:100], count=str(len(fields)))
    minutes, hours, days, months, weekdays = (
        _read_field(field, *described) for field, described in zip(fields, FIELDS, strict=True)
    )
    either = not fields[2].startswith(("*", "?")) and not fields[4].startswith(("*", "?"))
    found = Cron(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        frozenset(days),
        frozenset(months),
        frozenset(value % 7 for value in weekdays),
        either,
        fields[1].startswith("*"),
    )
    if not either and not any(min(found.days) <= LENGTHS[month - 1] for month in found.months):
        raise refuse("cron-never", line=text[:100])
    return found


def next_due(cron: Cron, zone: tzinfo | None, after: datetime) -> datetime | None:
    """Return the first moment behind another at which a line is due by the clock of a zone, both in UTC."""
    return _next_flowing(cron, zone, after) if cron.flows else _next_fixed(cron, zone, after)


def resolve(local: datetime, zone: tzinfo | None) -> datetime:
    """Return when a clock shows a time first, in UTC; a time it leaves out is the end of the gap."""
    first = _to_utc(local, zone, 0)
    if _show(first, zone) == local:
        return first
    # The clock is changed somewhere between what the time would be by either way of counting.
    before, behind = _to_utc(local, zone, 1), first
    offset = _show(before, zone) - before.replace(tzinfo=None)
    while behind - before > timedelta(seconds=1):
        middle = before + (behind - before) / 2
        if _show(middle, zone) - middle.replace(tzinfo=None) == offset:
            before = middle
        else:
            behind = middle
    return (behind + timedelta(microseconds=500_000)).replace(microsecond=0)


def _next_fixed(cron: Cron, zone: tzinfo | None, after: datetime) -> datetime | None:
    local: datetime | None = _show(after, zone)
    while local is not None:
        # What the clock shows a second time was due before, and what a gap swallowed is due at its end.
        local = cron.after(local)
        if local is not None and (due := resolve(local, zone)) > after:
            return due
    return None


def _next_flowing(cron: Cron, zone: tzinfo | None, after: datetime) -> datetime | None:
    moment = after.replace(second=0, microsecond=0) + MINUTE
    last = after.year + YEARS
    while moment.year < last:
        local = _show(moment, zone)
        if not cron.is_day(local):
            following = cron.after(local)
            if following is None:
                return None
            day = resolve(following.replace(hour=0, minute=0), zone)
            moment = day if day > moment else moment + MINUTE
            continue
        place = bisect_left(cron.minutes, local.minute)
        if local.hour in cron.hours and place < len(cron.minutes):
            due = moment + MINUTE * (cron.minutes[place] - local.minute)
            shown = _show(due, zone)
            if shown == local.replace(minute=cron.minutes[place]):
                return due
        moment = _next_change(moment, local, zone)
    return None


def _next_change(moment: datetime, local: datetime, zone: tzinfo | None) -> datetime:
    """Return the beginning of the next hour as the clock shows it, or where it is changed before that."""
    following = moment + MINUTE * (60 - local.minute)
    if _show(following, zone) == local.replace(minute=0) + timedelta(hours=1):
        return following
    while moment < following:
        moment += MINUTE
        if _show(moment, zone) != local + MINUTE:
            return moment
        local += MINUTE
    return moment


def _show(moment: datetime, zone: tzinfo | None) -> datetime:
    """Return what a clock in a zone shows at a moment."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def _to_utc(local: datetime, zone: tzinfo | None, fold: int) -> datetime:
    if zone is None:
        return local.replace(fold=fold).astimezone(UTC)
    return local.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def _read_field(text: str, name: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    names = {"month": MONTHS, "weekday": WEEKDAYS}.get(name, {})
    for piece in text.lower().split(","):
        match = PIECE.fullmatch("*" if piece == "?" and name in ("day", "weekday") else piece)
        if match is None:
            raise refuse("cron-value", field=name, value=text[:60], low=str(low), high=str(high))
        first, last, step = match.groups()
        begin = low if first is None else _read_value(first, names)
        # A step behind one value goes on to the end, as in crontab.
        end = high if first is None or (step and last is None) else _read_value(last or first, names)
        if name == "weekday" and first is None:
            end = 6
        every = int(step or 1)
        if not low <= begin <= end <= high or not every:
            raise refuse("cron-value", field=name, value=text[:60], low=str(low), high=str(high))
        found |= set(range(begin, end + 1, every))
    return found


def _read_value(text: str, names: dict[str, int]) -> int:
    if text in names:
        return names[text]
    # What is no number is out of every range.
    return int(text) if text.isdigit() and len(text) <= 2 else -1
