"""Show the adapters of ship.json and how it stands with each."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from shipmate.delivery.reception.listening import HearingState
from shipmate.errors import ConfigError
from shipmate.server.guard.error import hide_root
from shipmate.server.port import Ship
from shipmate.server.shape import Answer, Json, tells
from shipmate.server.site import TheShip
from shipmate.workspace.layout import CAPTAIN

router = APIRouter(tags=["platforms"])


class AdapterView(Answer):
    """One adapter, and how it stands with its platform."""

    name: str
    kind: str
    # Who answers there.
    member: str
    state: HearingState
    # Since when it stands so, as far as this server knows.
    since: str | None
    # What is wrong, while something is.
    trouble: str | None
    last_event_at: str | None


class AdapterList(Answer):
    """The adapters of ship.json."""

    adapters: list[AdapterView]


@router.get("/api/adapters", openapi_extra=tells(AdapterList))
async def read_adapters(ship: TheShip) -> Response:
    """List the adapters of ship.json, those that are switched off too."""
    return Json(AdapterList(adapters=[_show(ship, *each) for each in ship.config.adapters.items()]))


def _show(ship: Ship, name: str, raw: Any) -> AdapterView:
    given = raw if isinstance(raw, dict) else {}
    hearing = ship.listening.look(name)
    state, trouble = hearing.state, hearing.trouble
    if name in ship.adapters.names:
        try:
            ship.adapters.find(name)
        except ConfigError as error:
            state, trouble = "trouble", str(error)
    return AdapterView(
        name=name,
        kind=str(given.get("kind") or name),
        member=str(given.get("member") or CAPTAIN),
        state=state,
        since=hearing.since or None,
        trouble=hide_root(trouble, str(ship.layout.root)) or None,
        last_event_at=hearing.last_event_at,
    )
