"""Show what is remembered, and make, edit, restore and delete its files."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from shipmate.errors import PathError
from shipmate.memory.memory_entry import read_memory
from shipmate.memory.service import MemoryService
from shipmate.server.revision import Document, list_revisions, read_document, remove_document, write_document
from shipmate.server.routes.crew.member import (
    DocumentChange,
    DocumentSaved,
    RevisionList,
    confine,
    describe_document,
)
from shipmate.server.shape import Answer, Json, Slot, empty, tells
from shipmate.server.site import TheShip
from shipmate.values.reveal import reveal_prose
from shipmate.workspace.disk.disk import DISK, locked
from shipmate.workspace.layout import Layout
from shipmate.workspace.settings.memory_rule import EntryKind

router = APIRouter(tags=["memory"])


class MemoryItem(Answer):
    """One thing that is remembered: what it is called, and whence it is; by hand without a source."""

    heading: str
    kind: EntryKind
    date: str
    source: str
    # Strangers may have written into the thread it comes from.
    is_tainted: bool


class MemoryFile(Answer):
    """A memory file as a list shows it."""

    path: str
    bytes: int
    version: str | None
    updated_at: str | None
    entries: list[MemoryItem]


class MemoryFileList(Answer):
    """The memory files, and those that were deleted and can be restored from their history."""

    files: list[MemoryFile]
    deleted: list[str]


@router.get("/api/memory", openapi_extra=tells(MemoryFileList))
async def read_files(ship: TheShip) -> Response:
    """List the memory files."""
    layout = ship.layout
    folders = (layout.memory, layout.project_memory.parent)
    paths = sorted(path for folder in folders if folder.is_dir() for path in folder.rglob("*.md"))
    inside = [path for path in paths if path.is_file() and _is_memory(path, layout)]
    service = MemoryService(layout)
    gone = [name for name in service.deleted() if _is_memory(layout.root / name, layout)]
    return Json(MemoryFileList(files=[_describe(path, layout) for path in inside], deleted=gone))


@router.get("/api/memory/file", openapi_extra=tells(Document))
async def read_file(ship: TheShip, path: Slot) -> Response:
    """Return one memory file."""
    return Json(read_document(_find(ship.layout, path), path))


@router.put("/api/memory/file", openapi_extra=tells(DocumentSaved))
async def write_file(ship: TheShip, path: Slot, body: DocumentChange) -> Response:
    """Replace one memory file; the text that stood there is kept."""
    place = _find(ship.layout, path)
    with locked(DISK, ship.layout.memory_lock):
        version = write_document(ship.layout, place, path, body.text, body.version)
    return Json(DocumentSaved(version=version))


@router.delete("/api/memory/file", status_code=204)
async def delete_file(ship: TheShip, path: Slot, version: Slot) -> Response:
    """Take one memory file away; its text stays among its revisions."""
    place = _find(ship.layout, path)
    with locked(DISK, ship.layout.memory_lock):
        remove_document(ship.layout, place, path, version)
    return empty()


@router.get("/api/memory/file/history", openapi_extra=tells(RevisionList))
async def read_history(ship: TheShip, path: Slot) -> Response:
    """Return a memory file's earlier texts."""
    return Json(RevisionList(versions=list_revisions(ship.layout, _find(ship.layout, path))))


def _find(layout: Layout, relative: str) -> Path:
    """Find a memory file; nothing but Markdown below the two memory folders is one."""
    if "\0" in relative or not relative.endswith(".md"):
        raise PathError("A memory file ends in .md and lies in memory/.")
    path = layout.root / relative
    folders = (layout.memory, layout.project_memory.parent)
    if ".." in path.parts or not any(path.is_relative_to(folder) for folder in folders):
        raise PathError("A memory file ends in .md and lies in memory/.")
    if not _is_memory(confine(path, layout), layout):
        raise PathError("A memory file lies in memory/ itself, not behind a link.")
    return path


def _is_memory(path: Path, layout: Layout) -> bool:
    """Return whether a file really lies in memory: a link there may lead to a project or to secrets."""
    root, real = layout.root.resolve(), path.resolve()
    folders = [folder.resolve() for folder in (layout.memory, layout.project_memory.parent)]
    return any(real.is_relative_to(folder) and folder.is_relative_to(root) for folder in folders)


def _describe(path: Path, layout: Layout) -> MemoryFile:
    found = describe_document(path, path.relative_to(layout.root).as_posix())
    items = [
        MemoryItem(
            heading=reveal_prose(each.heading),
            kind=each.kind,
            date=each.date,
            source=each.source,
            is_tainted=each.is_tainted,
        )
        for each in read_memory(path.read_text("utf-8", "replace")).entries
    ]
    return MemoryFile(
        path=found.name,
        bytes=found.bytes,
        version=found.version,
        updated_at=found.updated_at,
        entries=items,
    )
