"""The shared projects of a workspace: list them, make one, and name files by the project they belong to."""

from __future__ import annotations

import re

import msgspec

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.workspace.disk.private import make_private, write_private
from shipmate.workspace.file import FileCache
from shipmate.workspace.layout import MEMBER_ID
from shipmate.workspace.project import read_projects

PROJECT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# How other agents call the project that a path is in.
KEYS = ("project", "project_id", "projectId")
LINE_LIMIT = 400


def in_project(arguments: JsonObject) -> JsonObject:
    """Return arguments whose path begins with the project they name, if they name one."""
    named = [key for key in KEYS if key in arguments]
    if not named:
        return arguments
    project = arguments[named[0]]
    if not isinstance(project, str) or not PROJECT_ID.fullmatch(project):
        raise ToolInputError(f"{str(project)[:64]!r} is no project; project_list names them. Nothing ran.")
    path = str(arguments.get("path") or "").lstrip("/") or "."
    rest = {key: value for key, value in arguments.items() if key not in KEYS}
    return {**rest, "path": f"projects/{project}/{path}"}


class ProjectListArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class ProjectList(Tool[ProjectListArguments]):
    """The tool that lists the projects and what the member may do in each."""

    name = "project_list"
    description = "List the shared projects under projects/ and whether you may write in each."
    arguments = ProjectListArguments
    labels = Labels(reads_private=True)

    async def run(self, arguments: ProjectListArguments, context: ToolContext) -> ToolResult:
        projects = read_projects(context.layout, FileCache(context.folder))
        listed = [
            {
                "id": each.id,
                "name": each.name,
                "description": each.description,
                "path": f"projects/{each.id}",
                "may_write": each.may_write(context.member.id),
            }
            for each in projects
        ]
        return ToolResult(output=listed)


class ProjectCreateArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    name: str
    description: str = ""
    # Members who may write; empty means all.
    editors: tuple[str, ...] = ()


class ProjectCreate(Tool[ProjectCreateArguments]):
    """The tool that begins a project, and settles who may write in it."""

    name = "project_create"
    description = "Begin a shared project: projects/<id>/, writable by editors, or by all members."
    arguments = ProjectCreateArguments
    labels = Labels(acts=True)

    async def picture(self, arguments: ProjectCreateArguments, context: ToolContext) -> Picture:
        data = _meta(arguments, context)
        target: JsonObject = {"path": f"projects/{arguments.id}", "state": "absent"}
        return Picture(reveal(f"projects/{arguments.id}/meta.json\n{data.decode()}"), target)

    async def run(self, arguments: ProjectCreateArguments, context: ToolContext) -> ToolResult:
        data = _meta(arguments, context)
        folder = make_private(context.layout.projects / arguments.id)
        write_private(folder / "meta.json", data)
        return ToolResult(output=f"Made projects/{arguments.id}/.")


def _meta(arguments: ProjectCreateArguments, context: ToolContext) -> bytes:
    if not PROJECT_ID.fullmatch(arguments.id):
        raise ToolError(f"{arguments.id[:64]!r} is no id: letters, digits, '.', '_', '-'. Nothing was made.")
    place = context.layout.projects
    if place.is_symlink() or (place / arguments.id).exists() or (place / arguments.id).is_symlink():
        raise ToolError(f"projects/{arguments.id} is there already. Nothing was made.")
    if wrong := [each for each in arguments.editors if not MEMBER_ID.fullmatch(each)]:
        raise ToolError(f"{wrong[0][:64]!r} is no id of a member. Nothing was made.")
    lines = {"name": arguments.name, "description": arguments.description}
    told = {key: " ".join(clean(value).split())[:LINE_LIMIT] for key, value in lines.items()}
    meta = {"id": arguments.id, **told, "tags": [], "editors": list(arguments.editors)}
    return msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n"
