"""Sums of what steps used: never a part of the money as the whole, colleagues counted for who asked."""

from __future__ import annotations

from datetime import UTC, datetime

from shipmate.store.port import StepUsage
from shipmate.store.tally import add_up, group_by, start_of


def step(
    member: str, cost: float | None, *, tokens: int = 100, asker: str = "", payer: str = ""
) -> StepUsage:
    return StepUsage(
        at="2026-11-15T10:00:00.000Z" if tokens == 100 else "2026-11-16T10:00:00.000Z",
        thread_id=f"cli:chat:{member}",
        member=member,
        run_id="run_1",
        step=1,
        model="ollama:tiny" if cost is None else "openai:dear",
        input_tokens=tokens,
        output_tokens=10,
        cache_read_tokens=5,
        cache_write_tokens=0,
        cost=cost,
        estimated_tokens=0,
        milliseconds=7,
        asker=asker,
        payer=payer,
    )


def test_sums_by_day_member_thread_and_model() -> None:
    errand = step("nina", 0.5, tokens=300, asker="captain", payer="cli:chat:captain")
    steps = [step("captain", 0.25), step("nina", None), errand]
    assert (add_up(steps).cost, add_up(steps).unpriced, add_up([]).cost) == (None, 1, None)
    assert [*group_by(steps, "day")] == ["2026-11-15", "2026-11-16"]
    members = group_by(steps, "member")
    assert {name: (each.cost, each.requests) for name, each in members.items()} == {
        "captain": (0.75, 2),
        "nina": (None, 1),
    }
    assert [*group_by(steps, "thread")] == ["cli:chat:captain", "cli:chat:nina"]
    assert group_by(steps, "model")["openai:dear"].tokens == 420
    assert start_of(1) == f"{datetime.now(UTC):%Y-%m-%d}T00:00:00.000Z"
