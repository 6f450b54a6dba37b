"""Turn the points in time that people name into lengths of time."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta


def minutes_until(point: str, now: datetime, zone: str) -> int:
    """Return the minutes to the next `midnight` or time of day (`18:00`) in a zone, at least one."""
    # Only answers with such a point need time zones.
    from shipmate.context.clock import tell_time

    here = tell_time(now, zone)
    at = time() if point == "midnight" else time.fromisoformat(point)
    aim = datetime.combine(here.date(), at, here.tzinfo)
    if aim <= here:
        aim = datetime.combine(here.date() + timedelta(days=1), at, here.tzinfo)
    # In UTC: a day on which the clocks change is not 24 hours long.
    left = aim.astimezone(UTC) - here.astimezone(UTC)
    return max(1, int(left.total_seconds() // 60))
