"""Tell what models used and cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.server.json_response import Json, tells
from shipmate.server.site import TheShip
from shipmate.store.port import StepUsage
from shipmate.values.message import JsonObject, timestamp

router = APIRouter(tags=["usage"])


@router.get("/api/usage", openapi_extra=tells("Usage"))
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
        {
            "days": [{"day": day, **_sum(by_day[day])} for day in sorted(by_day)],
            "models": [{"model": model, **_sum(by_model[model])} for model in sorted(by_model)],
            "total": _sum(steps),
        }
    )


def _sum(steps: Iterable[StepUsage]) -> JsonObject:
    rows = list(steps)
    costs = [step.cost for step in rows if step.cost is not None]
    return {
        "requests": len(rows),
        "inputTokens": sum(step.input_tokens for step in rows),
        "outputTokens": sum(step.output_tokens for step in rows),
        "cacheReadTokens": sum(step.cache_read_tokens for step in rows),
        "cacheWriteTokens": sum(step.cache_write_tokens for step in rows),
        "milliseconds": sum(step.milliseconds for step in rows),
        # None when no price is known for any of them; a partial sum would look like the whole.
        "cost": sum(costs) if rows and len(costs) == len(rows) else None,
        "unpriced": len(rows) - len(costs),
    }
