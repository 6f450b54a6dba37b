"""Show members and edit their Markdown files; edit memory the same way."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from shipmate.errors import PathError
from shipmate.server import shape
from shipmate.server.guard.error import missing
from shipmate.server.json_response import Json, tells
from shipmate.server.port import Ship
from shipmate.server.revision import list_revisions, modified_at, read_document, version_of, write_document
from shipmate.server.site import TheShip
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member

DOCUMENTS = ("Agent.md", "AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md", "RELATIONS.md")
router = APIRouter(tags=["members"])


@router.get("/api/members", openapi_extra=tells("Members"))
async def read_members(ship: TheShip) -> Response:
    """List the members."""
    return Json({"members": [describe_member(each) for each in ship.crew.list()]})


def describe_member(member: Member) -> JsonObject:
    """Return what a list of members shows of one."""
    return {
        "id": member.id,
        "name": member.name,
        "description": member.description,
        "kind": member.kind,
    }


@router.get("/api/members/{member_id}/files", openapi_extra=tells("Documents"))
async def read_files(ship: TheShip, member_id: str) -> Response:
    """List a member's Markdown files, those that could exist included."""
    layout = _layout(ship, member_id)
    return Json({"files": [_info(layout.bootstrap(name), name) for name in DOCUMENTS]})


@router.get("/api/members/{member_id}/files/{name}", openapi_extra=tells("DocumentText"))
async def read_file(ship: TheShip, member_id: str, name: str) -> Response:
    """Return one file of a member."""
    return Json(read_document(_document(ship, member_id, name), name))


@router.put("/api/members/{member_id}/files/{name}", openapi_extra=tells("DocumentSaved"))
async def write_file(ship: TheShip, member_id: str, name: str, body: shape.DocumentChange) -> Response:
    """Replace one file of a member; the text that stood there is kept."""
    path = _document(ship, member_id, name)
    return Json({"version": write_document(ship.layout, path, name, body.text, body.version)})


@router.get("/api/members/{member_id}/files/{name}/history", openapi_extra=tells("Revisions"))
async def read_history(ship: TheShip, member_id: str, name: str) -> Response:
    """Return a file's earlier texts."""
    return Json({"versions": list_revisions(ship.layout, _document(ship, member_id, name))})


@router.get("/api/memory", openapi_extra=tells("MemoryFiles"))
async def read_memory(ship: TheShip) -> Response:
    """List the memory files."""
    layout = ship.layout
    folders = (layout.memory, layout.project_memory.parent)
    paths = sorted(path for folder in folders if folder.is_dir() for path in folder.rglob("*.md"))
    inside = [path for path in paths if path.is_file() and _is_memory(path, layout)]
    return Json({"files": [_memory_info(path, layout) for path in inside]})


@router.get("/api/memory/file", openapi_extra=tells("DocumentText"))
async def read_memory_file(ship: TheShip, path: shape.Slot) -> Response:
    """Return one memory file."""
    return Json(read_document(_memory(ship.layout, path), path))


@router.put("/api/memory/file", openapi_extra=tells("DocumentSaved"))
async def write_memory_file(ship: TheShip, path: shape.Slot, body: shape.DocumentChange) -> Response:
    """Replace one memory file; the text that stood there is kept."""
    place = _memory(ship.layout, path)
    return Json({"version": write_document(ship.layout, place, path, body.text, body.version)})


@router.get("/api/memory/file/history", openapi_extra=tells("Revisions"))
async def read_memory_history(ship: TheShip, path: shape.Slot) -> Response:
    """Return a memory file's earlier texts."""
    return Json({"versions": list_revisions(ship.layout, _memory(ship.layout, path))})


def _layout(ship: Ship, member_id: str) -> Layout:
    return ship.layout.member(ship.crew.find(member_id).id)


def _document(ship: Ship, member_id: str, name: str) -> Path:
    layout = _layout(ship, member_id)
    if name not in DOCUMENTS:
        raise missing("such file")
    return _confined(layout.bootstrap(name), ship.layout)


def _memory(layout: Layout, relative: str) -> Path:
    """Find a memory file; nothing but Markdown below the two memory folders is one."""
    if "\0" in relative or not relative.endswith(".md"):
        raise PathError("A memory file ends in .md and lies in memory/.")
    path = layout.root / relative
    folders = (layout.memory, layout.project_memory.parent)
    if ".." in path.parts or not any(path.is_relative_to(folder) for folder in folders):
        raise PathError("A memory file ends in .md and lies in memory/.")
    if not _is_memory(_confined(path, layout), layout):
        raise PathError("A memory file lies in memory/ itself, not behind a link.")
    return path


def _is_memory(path: Path, layout: Layout) -> bool:
    """Return whether a file really lies in memory: a link there may lead to a project or to secrets."""
    root, real = layout.root.resolve(), path.resolve()
    folders = [folder.resolve() for folder in (layout.memory, layout.project_memory.parent)]
    return any(real.is_relative_to(folder) and folder.is_relative_to(root) for folder in folders)


def _confined(path: Path, layout: Layout) -> Path:
    """Refuse a link that leads out of the workspace."""
    if not path.resolve().is_relative_to(layout.root.resolve()):
        raise PathError
    return path


def _memory_info(path: Path, layout: Layout) -> JsonObject:
    found = _info(path, path.relative_to(layout.root).as_posix())
    return {"path": found["name"], **{key: found[key] for key in ("bytes", "version", "updatedAt")}}


def _info(path: Path, name: str) -> JsonObject:
    if not path.is_file():
        return {"name": name, "exists": False, "bytes": 0, "version": None, "updatedAt": None}
    data = path.read_bytes()
    return {
        "name": name,
        "exists": True,
        "bytes": len(data),
        "version": version_of(data),
        "updatedAt": modified_at(path),
    }
