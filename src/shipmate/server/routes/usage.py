"""Tell what models used and cost."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.server.guard.viewer import choose_seen, viewer
from shipmate.server.shape import Answer, Json, tells
from shipmate.server.site import TheShip
from shipmate.store.allowance import SpentBudget
from shipmate.store.tally import Tally, add_up, group_by, name_in, start_of
from shipmate.values.message import JsonObject

router = APIRouter(tags=["usage"])


class Used(Answer):
    """The sum of what models used; no cost when a price is unknown."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    milliseconds: int
    cost: float | None
    unpriced: int


class UsedDay(Used):
    """The sum of one day."""

    day: str


class UsedModel(Used):
    """The sum of one model."""

    model: str


class UsedMember(Used):
    """The sum of one member, with what colleagues did for it."""

    member: str


class UsedThread(Used):
    """The sum of one thread, with what colleagues did who were asked in it."""

    thread: str


class UsageView(Answer):
    """The use of models, by day, model, member and thread."""

    days: list[UsedDay]
    models: list[UsedModel]
    members: list[UsedMember]
    threads: list[UsedThread]
    total: Used
    # How the limits of ship.json stand.
    budget: list[SpentBudget]


@router.get("/api/usage", openapi_extra=tells(UsageView))
async def read_usage(
    ship: TheShip,
    days: Annotated[int, Query(ge=1, le=400)] = 30,
    thread_id: Annotated[str | None, Query(alias="threadId", max_length=200)] = None,
) -> Response:
    """Add up requests, tokens and cost by day, model, member and thread."""
    steps = await ship.store.ledger.usage(start_of(days), thread_id)
    if not viewer().has("admin"):
        seen = await choose_seen(ship, (name_in(step, "thread") for step in steps))
        steps = [step for step in steps if name_in(step, "thread") in seen]
    is_admin = viewer().has("admin")
    budget = ship.home.allowance.look(ship.crew.loaded.config.budget) if is_admin else []
    return Json(
        UsageView(
            days=[UsedDay(day=name, **_figures(each)) for name, each in group_by(steps, "day").items()],
            models=[
                UsedModel(model=name, **_figures(each)) for name, each in group_by(steps, "model").items()
            ],
            members=[
                UsedMember(member=name, **_figures(each)) for name, each in group_by(steps, "member").items()
            ],
            threads=[
                UsedThread(thread=name, **_figures(each)) for name, each in group_by(steps, "thread").items()
            ],
            total=Used(**_figures(add_up(steps))),
            budget=budget,
        )
    )


def _figures(tally: Tally) -> JsonObject:
    return msgspec.structs.asdict(tally)
