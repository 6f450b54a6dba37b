from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shipmate.approvals.reply.reply import minutes_until

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("point", "now", "minutes"),
    [
        ("18:00", datetime(2026, 7, 1, 15, 0, tzinfo=UTC), 60),
        # At the very moment the next one is meant.
        ("18:00", datetime(2026, 7, 1, 16, 0, tzinfo=UTC), 24 * 60),
        ("18:00", datetime(2026, 7, 1, 15, 59, 50, tzinfo=UTC), 1),
        # A day of 25 hours, and one of 23.
        ("midnight", datetime(2026, 10, 24, 22, 30, tzinfo=UTC), 24 * 60 + 30),
        ("midnight", datetime(2026, 3, 28, 23, 30, tzinfo=UTC), 22 * 60 + 30),
    ],
)
def test_a_point_in_time_is_the_next_one_in_the_zone(point: str, now: datetime, minutes: int) -> None:
    assert minutes_until(point, now, BERLIN) == minutes
