"""Show skills."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from shipmate.server.guard.error import missing
from shipmate.server.shape import Answer, Json, Slot, tells
from shipmate.server.site import TheShip
from shipmate.skills.skill import Origin, Skill
from shipmate.workspace.layout import CAPTAIN

router = APIRouter(tags=["knowledge"])


class SkillView(Answer):
    """A skill as a list shows it; with its text when it is asked for alone."""

    name: str
    title: str
    description: str
    always: bool
    available: bool
    missing: tuple[str, ...]
    source: Origin
    location: str
    for_model: bool
    for_people: bool
    allowed_tools: Sequence[str]
    problems: Sequence[str]
    text: str | msgspec.UnsetType = msgspec.UNSET


class SkillsView(Answer):
    """The skills."""

    skills: list[SkillView]


@router.get("/api/skills", openapi_extra=tells(SkillsView))
async def read_skills(ship: TheShip, member: Slot = CAPTAIN) -> Response:
    """List the skills a member has."""
    return Json(SkillsView(skills=[_describe(skill) for skill in _skills(ship, member).values()]))


@router.get("/api/skills/{name}", openapi_extra=tells(SkillView))
async def read_skill(ship: TheShip, name: str, member: Slot = CAPTAIN) -> Response:
    """Return one skill with its text."""
    skill = _skills(ship, member).get(name)
    if skill is None:
        raise missing("such skill")
    return Json(msgspec.structs.replace(_describe(skill), text=skill.body))


def _skills(ship: TheShip, member: str) -> dict[str, Skill]:
    return ship.equip(member).context.skills.find().by_name


def _describe(skill: Skill) -> SkillView:
    return SkillView(
        name=skill.name,
        title=skill.title,
        description=skill.description,
        always=skill.always,
        available=skill.is_available,
        missing=skill.missing,
        source=skill.origin,
        location=skill.location,
        for_model=skill.is_for_model,
        for_people=skill.is_for_people,
        allowed_tools=skill.allowed_tools,
        problems=skill.problems,
    )
