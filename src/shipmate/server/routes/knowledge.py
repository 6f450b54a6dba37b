"""Show skills and tasks."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from shipmate.server import shape
from shipmate.server.guard.error import missing
from shipmate.server.json_response import Json, tells
from shipmate.server.revision import modified_at
from shipmate.server.site import TheShip
from shipmate.skills.skill import Skill
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import CAPTAIN

HEADING = re.compile(r"^#\s+(.+)$", re.MULTILINE)
router = APIRouter(tags=["knowledge"])


@router.get("/api/skills", openapi_extra=tells("Skills"))
async def read_skills(ship: TheShip, member: shape.Slot = CAPTAIN) -> Response:
    """List the skills a member has."""
    return Json({"skills": [_describe(skill) for skill in _skills(ship, member).values()]})


@router.get("/api/skills/{name}", openapi_extra=tells("Skill"))
async def read_skill(ship: TheShip, name: str, member: shape.Slot = CAPTAIN) -> Response:
    """Return one skill with its text."""
    skill = _skills(ship, member).get(name)
    if skill is None:
        raise missing("such skill")
    return Json({**_describe(skill), "text": skill.body})


@router.get("/api/tasks", openapi_extra=tells("Tasks"))
async def read_tasks(ship: TheShip) -> Response:
    """List the task files."""
    folder = ship.layout.tasks
    files = sorted(folder.glob("*.md")) if folder.is_dir() else []
    return Json({"tasks": [_task(path) for path in files if path.is_file()]})


def _skills(ship: TheShip, member: str) -> dict[str, Skill]:
    return ship.equip(member).context.skills.find().by_name


def _describe(skill: Skill) -> JsonObject:
    return {
        "name": skill.name,
        "title": skill.title,
        "description": skill.description,
        "always": skill.always,
        "available": skill.is_available,
        "missing": skill.missing,
        "source": skill.origin,
        "location": skill.location,
        "forModel": skill.is_for_model,
        "forPeople": skill.is_for_people,
        "allowedTools": skill.allowed_tools,
        "problems": skill.problems,
    }


def _task(path: Path) -> JsonObject:
    text = path.read_text(encoding="utf-8", errors="replace")
    heading = HEADING.search(text)
    title = heading[1] if heading else path.stem
    return {"id": path.stem, "title": title, "text": text, "updatedAt": modified_at(path)}
