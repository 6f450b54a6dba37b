"""Show members and edit their Markdown files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter
from pydantic import StringConstraints
from starlette.responses import Response

from shipmate.crew.enlisting import COLOUR
from shipmate.errors import PathError
from shipmate.server.guard.error import missing
from shipmate.server.port import Ship
from shipmate.server.revision import (
    Document,
    list_revisions,
    modified_at,
    read_document,
    write_document,
)
from shipmate.server.shape import Answer, Json, Shape, tells
from shipmate.server.site import TheShip
from shipmate.values.reveal import reveal_prose
from shipmate.workspace.disk.earlier_text import Revision, version_of
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Kind, Member

DOCUMENTS = ("Agent.md", "AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md", "RELATIONS.md")
router = APIRouter(tags=["members"])


class MemberView(Answer):
    """A member as a list shows it."""

    id: str
    name: str
    description: str
    kind: Kind
    # As #rrggbb, where its files state one.
    colour: str | None


class DocumentChange(Shape):
    """The new text of a document, and the version it was written against."""

    text: Annotated[str, StringConstraints(max_length=500_000)]
    version: Annotated[str, StringConstraints(max_length=64)] | None = None


class DocumentInfo(Answer):
    """A document as a list shows it."""

    name: str
    exists: bool = False
    bytes: int = 0
    version: str | None = None
    updated_at: str | None = None


class DocumentList(Answer):
    """The documents of a member."""

    files: list[DocumentInfo]


class DocumentSaved(Answer):
    """The new version of a document."""

    version: str


class RevisionList(Answer):
    """Earlier texts, newest first."""

    versions: list[Revision]


def describe_member(member: Member) -> MemberView:
    """Return what a list of members shows of one."""
    name, description = reveal_prose(member.name), reveal_prose(member.description)
    colour = member.settings.colour
    return MemberView(
        id=member.id,
        name=name,
        description=description,
        kind=member.kind,
        # Nothing but a colour reaches the page's styles.
        colour=colour if colour and COLOUR.fullmatch(colour) else None,
    )


@router.get("/api/members/{member_id}/files", openapi_extra=tells(DocumentList))
async def read_files(ship: TheShip, member_id: str) -> Response:
    """List a member's Markdown files, those that could exist included."""
    layout = _layout(ship, member_id)
    return Json(DocumentList(files=[describe_document(layout.bootstrap(name), name) for name in DOCUMENTS]))


@router.get("/api/members/{member_id}/files/{name}", openapi_extra=tells(Document))
async def read_file(ship: TheShip, member_id: str, name: str) -> Response:
    """Return one file of a member."""
    return Json(read_document(_document(ship, member_id, name), name))


@router.put("/api/members/{member_id}/files/{name}", openapi_extra=tells(DocumentSaved))
async def write_file(ship: TheShip, member_id: str, name: str, body: DocumentChange) -> Response:
    """Replace one file of a member; the text that stood there is kept."""
    path = _document(ship, member_id, name)
    return Json(DocumentSaved(version=write_document(ship.layout, path, name, body.text, body.version)))


@router.get("/api/members/{member_id}/files/{name}/history", openapi_extra=tells(RevisionList))
async def read_history(ship: TheShip, member_id: str, name: str) -> Response:
    """Return a file's earlier texts."""
    return Json(RevisionList(versions=list_revisions(ship.layout, _document(ship, member_id, name))))


def _layout(ship: Ship, member_id: str) -> Layout:
    return ship.layout.member(ship.crew.find(member_id).id)


def _document(ship: Ship, member_id: str, name: str) -> Path:
    layout = _layout(ship, member_id)
    if name not in DOCUMENTS:
        raise missing("such file")
    return confine(layout.bootstrap(name), ship.layout)


def confine(path: Path, layout: Layout) -> Path:
    """Refuse a link that leads out of the workspace."""
    if not path.resolve().is_relative_to(layout.root.resolve()):
        raise PathError
    return path


def describe_document(path: Path, name: str) -> DocumentInfo:
    if not path.is_file():
        return DocumentInfo(name=name)
    data = path.read_bytes()
    return DocumentInfo(
        name=name, exists=True, bytes=len(data), version=version_of(data), updated_at=modified_at(path)
    )
