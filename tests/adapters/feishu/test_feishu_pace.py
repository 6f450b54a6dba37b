"""Many chats that stream at once stay within the platform's limits."""

from __future__ import annotations

from shipmate.adapters.feishu.feishu_pace import FeishuPace
from shipmate.errors import SendLaterError


def test_fifty_chats_that_change_a_card_each_second_hold_the_limits() -> None:
    now = 0.0
    pace = FeishuPace(clock=lambda: now)
    done: list[float] = []
    waits: list[float] = []
    while now < 180:
        try:
            pace.step()
            done.append(now)
        except SendLaterError as error:
            waits.append(error.retry_after or 0)
        now += 0.02
    for size, limit in ((1.0, 50), (60.0, 1000)):
        assert max(sum(at <= each < at + size for each in done) for at in done) <= limit
    assert len(done) > 2700
    assert all(0 < wait <= 60 for wait in waits)
