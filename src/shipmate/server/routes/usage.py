"""Tell what models used and cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.server.shape import Answer, Json, tells
from shipmate.server.site import TheShip
from shipmate.store.port import StepUsage
from shipmate.values.message import JsonObject, timestamp

router = APIRouter(tags=["usage"])


class Used(Answer):
    """The sum of what models used; no cost when a price is unknown."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    milliseconds: int
    # None when no price is known for any of them; a partial sum would look like the whole.
    cost: float | None
    unpriced: int


class UsedDay(Used):
    """The sum of one day."""

    day: str


class UsedModel(Used):
    """The sum of one model."""

    model: str


class UsageView(Answer):
    """The use of models, by day and by model."""

    days: list[UsedDay]
    models: list[UsedModel]
    total: Used


@router.get("/api/usage", openapi_extra=tells(UsageView))
async def read_usage(
    ship: TheShip,
    days: Annotated[int, Query(ge=1, le=400)] = 30,
    thread_id: Annotated[str | None, Query(alias="threadId", max_length=200)] = None,
) -> Response:
    """Add up requests, tokens and cost by day and by model."""
    since = datetime.now(UTC) - timedelta(days=days)
    steps = await ship.store.ledger.usage(timestamp(since), thread_id)
    by_day: defaultdict[str, list[StepUsage]] = defaultdict(list)
    by_model: defaultdict[str, list[StepUsage]] = defaultdict(list)
    for step in steps:
        by_day[step.at[:10]].append(step)
        by_model[step.model].append(step)
    return Json(
        UsageView(
            days=[UsedDay(day=day, **_sum(by_day[day])) for day in sorted(by_day)],
            models=[UsedModel(model=model, **_sum(by_model[model])) for model in sorted(by_model)],
            total=Used(**_sum(steps)),
        )
    )


def _sum(steps: Iterable[StepUsage]) -> JsonObject:
    rows = list(steps)
    costs = [step.cost for step in rows if step.cost is not None]
    return {
        "requests": len(rows),
        "input_tokens": sum(step.input_tokens for step in rows),
        "output_tokens": sum(step.output_tokens for step in rows),
        "cache_read_tokens": sum(step.cache_read_tokens for step in rows),
        "cache_write_tokens": sum(step.cache_write_tokens for step in rows),
        "milliseconds": sum(step.milliseconds for step in rows),
        "cost": sum(costs) if rows and len(costs) == len(rows) else None,
        "unpriced": len(rows) - len(costs),
    }
