"""Show skills and tasks."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from shipmate.server.guard.error import missing
from shipmate.server.revision import modified_at
from shipmate.server.shape import Answer, Json, Slot, tells
from shipmate.server.site import TheShip
from shipmate.skills.skill import Origin, Skill
from shipmate.workspace.layout import CAPTAIN

HEADING = re.compile(r"^#\s+(.+)$", re.MULTILINE)
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
    text: str | msgspec.UnsetType = msgspec.UNSET


class SkillsView(Answer):
    """The skills."""

    skills: list[SkillView]


class Task(Answer):
    """A task file."""

    id: str
    title: str
    text: str
    updated_at: str


class TaskList(Answer):
    """The tasks."""

    tasks: list[Task]


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


@router.get("/api/tasks", openapi_extra=tells(TaskList))
async def read_tasks(ship: TheShip) -> Response:
    """List the task files."""
    folder = ship.layout.tasks
    files = sorted(folder.glob("*.md")) if folder.is_dir() else []
    return Json(TaskList(tasks=[_task(path) for path in files if path.is_file()]))


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
    )


def _task(path: Path) -> Task:
    text = path.read_text(encoding="utf-8", errors="replace")
    heading = HEADING.search(text)
    title = heading[1] if heading else path.stem
    return Task(id=path.stem, title=title, text=text, updated_at=modified_at(path))
