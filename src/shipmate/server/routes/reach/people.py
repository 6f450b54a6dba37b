"""Show who may talk from platforms and who asks to, let them in and shut them out."""

from __future__ import annotations

import asyncio
from datetime import datetime

from fastapi import APIRouter
from starlette.responses import Response

from shipmate.delivery.reception.people import CODE_LASTS, Stranger
from shipmate.server.guard.security import SLASH
from shipmate.server.shape import Answer, Json, Shape, Slot, empty, tells
from shipmate.server.site import TheShip
from shipmate.values.message import timestamp

router = APIRouter(tags=["platforms"])


class PairBody(Shape):
    """Who is let in: whoever was told the code, as a person of their own or as one of `people`."""

    code: Slot
    person: Slot | None = None


class PersonView(Answer):
    """One person of ship.json."""

    person: str
    # Each as `adapter:id`.
    ids: list[str]


class PairedView(Answer):
    """Somebody who was let in by a code."""

    id: str
    name: str
    person: str | None
    at: str


class WaitingView(Answer):
    """Somebody who was told a code and waits."""

    code: str
    id: str
    name: str
    at: str
    expires_at: str


class PeopleView(Answer):
    """Everybody who may talk from platforms by name, and who asks to."""

    people: list[PersonView]
    paired: list[PairedView]
    waiting: list[WaitingView]


@router.get("/api/people", openapi_extra=tells(PeopleView))
async def read_people(ship: TheShip) -> Response:
    """List who may talk from platforms, and who asks to."""
    paired, waiting = await asyncio.to_thread(lambda: (ship.people.paired(), ship.people.waiting()))
    return Json(
        PeopleView(
            people=[PersonView(person=name, ids=list(ids)) for name, ids in ship.config.people.items()],
            paired=[_show(each) for each in paired],
            waiting=[
                WaitingView(code=code, id=each.id, name=each.name, at=each.at, expires_at=_expiry(each))
                for code, each in waiting.items()
            ],
        )
    )


@router.post("/api/people", openapi_extra=tells(PairedView))
async def pair(ship: TheShip, body: PairBody) -> Response:
    """Let in whoever was told a code."""
    return Json(_show(await asyncio.to_thread(ship.people.pair, body.code, body.person)))


@router.delete("/api/people/codes/{code}", status_code=204)
async def refuse(ship: TheShip, code: str) -> Response:
    """Forget a code: it lets nobody in any more."""
    await asyncio.to_thread(ship.people.refuse, code)
    return empty()


@router.delete("/api/people/paired/{user}", status_code=204)
async def part(ship: TheShip, user: str) -> Response:
    """Shut somebody out again who was let in by a code."""
    await asyncio.to_thread(ship.people.part, user.replace(SLASH, "/"))
    return empty()


def _show(each: Stranger) -> PairedView:
    return PairedView(id=each.id, name=each.name, person=each.person, at=each.at)


def _expiry(each: Stranger) -> str:
    return timestamp(datetime.fromisoformat(each.at) + CODE_LASTS)
