"""A run can be cut off only while nothing acts in it."""

from __future__ import annotations

from shipmate.orchestrator.control import Control


async def test_a_run_is_quiet_when_the_last_call_that_acts_has_ended() -> None:
    control = Control()
    async with control.acting():
        async with control.acting():
            assert not control.is_quiet.is_set()
        assert not control.is_quiet.is_set()
    assert control.is_quiet.is_set()
