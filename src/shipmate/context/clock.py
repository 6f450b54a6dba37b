"""Tell the time in the configured zone."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import cache
from zoneinfo import ZoneInfo


@cache
def find_zone(name: str) -> tzinfo | None:
    """Find a zone by name; None for the machine's own, also when there is no such zone."""
    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):
        # An unknown zone is a KeyError; odd names raise the others. All mean the same to the caller.
        return None


def tell_time(now: datetime | None, zone: str) -> datetime:
    """Return a moment (now by default) in a zone; one without a zone is taken as UTC."""
    moment = now or datetime.now(UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(find_zone(zone))
