"""Counting requests."""

from __future__ import annotations

from shipmate.server.guard.rate import REMEMBERED, RateLimit


def test_a_burst_passes_and_then_the_rate_holds() -> None:
    now = 0.0
    limit = RateLimit(rate=2, burst=3, clock=lambda: now)
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.wait("b") == 0
    now = 0.5
    assert limit.wait("a") == 0
    assert limit.wait("a") == 0.5


def test_many_callers_take_bounded_memory() -> None:
    limit = RateLimit(rate=1, burst=1, clock=lambda: 0.0)
    assert limit.wait("first") == 0
    assert limit.wait("first") > 0
    for number in range(REMEMBERED):
        limit.wait(str(number))
    assert limit.wait("first") == 0
