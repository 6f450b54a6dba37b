"""Begin: prove who you are, learn what the page needs, make the first member."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request
from pydantic import StringConstraints
from starlette.responses import Response

from shipmate import __version__
from shipmate.server.guard.error import ApiError, missing
from shipmate.server.guard.security import session_cookie
from shipmate.server.guard.viewer import viewer
from shipmate.server.routes.crew.member import MemberView, describe_member
from shipmate.server.routes.settings import ModelView, describe_model
from shipmate.server.shape import Answer, Json, Localized, Shape, Slot, Words, tells
from shipmate.server.site import Site, TheSite
from shipmate.team.user import Role
from shipmate.workspace.config import Config
from shipmate.workspace.layout import Layout

LIST = Path(__file__).with_name("examples.json")


class Setup(Shape):
    """The example a person chose."""

    example: Slot
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)] | None = None
    text: Words | None = None


class WorkspaceView(Answer):
    """The workspace's name, and whether it has a member."""

    # The same over restarts and renames, another for each workspace: what a browser keeps is filed under it.
    id: str
    name: str
    has_agent: bool


class AccountView(Answer):
    """Who is asking."""

    id: str
    name: str
    role: Role
    # The owner of the workspace signs in with its token, and has no password of their own.
    is_owner: bool


class Session(Answer):
    """What the page needs at its start."""

    csrf: str
    language: str
    mode: str
    version: str
    workspace: WorkspaceView
    model: ModelView
    members: list[MemberView]
    user: AccountView
    # Whether there is a team beside the owner.
    has_team: bool


class Example(Answer):
    """One member to begin with; words for people are kept in both languages."""

    id: str
    name: str
    title: Localized
    description: Localized
    text: str = ""


class SetupOffer(Answer):
    """The examples on offer."""

    has_agent: bool
    examples: list[Example]


class SetupReply(Answer):
    """What was made."""

    workspace: WorkspaceView


def list_examples(folder: Path) -> list[Example]:
    """Read the examples that ship with the package; their texts are those `shipmate init` writes."""
    found = msgspec.json.decode(LIST.read_bytes(), type=list[Example])
    return [msgspec.structs.replace(example, text=_text(folder, example, example.name)) for example in found]


def find_example(folder: Path, example_id: str, name: str | None) -> Example:
    """Return an example whose text calls the member by a name."""
    example = next((one for one in list_examples(folder) if one.id == example_id), None)
    if example is None:
        raise missing("such example")
    return msgspec.structs.replace(example, text=_text(folder, example, name or example.name))


def write_agent(layout: Layout, folder: Path, example_id: str, name: str | None, text: str | None) -> None:
    """Write Agent.md; an existing one is never touched, and a folder of another agent needs none."""
    if not layout.agent.exists() and (found := layout.recognised):
        said = f"This is a folder of {found.program} and opens as it is."
        raise ApiError(409, "conflict", said, "Edit its own files, or run `shipmate adopt`.")
    chosen = text or find_example(folder, example_id, name).text
    try:
        with layout.agent.open("x", encoding="utf-8") as file:
            file.write(chosen)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        raise ApiError(409, "conflict", "There is an Agent.md already.", "Edit it under Members.") from error


def _text(folder: Path, example: Example, name: str) -> str:
    return (folder / f"{example.id}.md").read_text(encoding="utf-8").replace("{name}", name)


router = APIRouter(tags=["session"])


@router.get("/api/session", openapi_extra=tells(Session))
async def read_session(request: Request, site: TheSite) -> Response:
    """Return the CSRF value, the workspace, the model and the members."""
    cookie, asking = session_cookie(request.headers, site.token), viewer()
    ship = await site.ship() if site.has_agent() else None
    config = ship.crew.loaded.config if ship else Config()
    name = ship.model.name if ship else "rehearsal"
    return Json(
        Session(
            csrf=site.token.csrf(cookie) if cookie else "",
            language=config.language,
            mode=config.permissions.mode,
            version=__version__,
            workspace=_workspace(site),
            model=describe_model(name),
            members=[describe_member(each) for each in ship.crew.list()] if ship else [],
            user=AccountView(id=asking.id, name=asking.name, role=asking.role, is_owner=not asking.uid),
            has_team=bool(await site.team.users.list()),
        )
    )


@router.get("/api/setup", openapi_extra=tells(SetupOffer))
async def read_setup(site: TheSite) -> Response:
    """List the examples a workspace can begin with."""
    return Json(SetupOffer(has_agent=site.has_agent(), examples=list_examples(site.examples)))


@router.post("/api/setup", status_code=201, openapi_extra=tells(SetupReply))
async def set_up(site: TheSite, body: Setup) -> Response:
    """Write Agent.md from an example, and begin."""
    write_agent(site.layout, site.examples, body.example, body.name, body.text)
    await site.ship()
    return Json(SetupReply(workspace=_workspace(site)), 201)


def _workspace(site: Site) -> WorkspaceView:
    return WorkspaceView(
        id=site.token.name(site.layout.ship), name=site.layout.root.name, has_agent=site.has_agent()
    )
