"""Take members on, change what they are called, let them go, and say how they stand to each other."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import StringConstraints
from starlette.responses import Response

from shipmate.crew.enlisting import choose_model, dismiss, enlist, limit, paint, rename, set_variable
from shipmate.crew.roster import Roster
from shipmate.server.guard.error import hide_root
from shipmate.server.port import Ship
from shipmate.server.routes.crew.member import MemberView, describe_member
from shipmate.server.routes.session import find_example
from shipmate.server.shape import Answer, Json, Shape, Slot, empty, tells
from shipmate.server.site import TheShip, TheSite
from shipmate.values.reveal import reveal_prose
from shipmate.workspace.finding import Finding
from shipmate.workspace.member import Member

Mode = Literal["read-only", "ask", "preview", "auto-edit", "yolo"]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200)]
router = APIRouter(tags=["members"])


class NewMember(Shape):
    """A member to be: its id, and which Agent.md it begins with."""

    id: Slot
    example: Slot = "helper"
    name: Slot | None = None
    model: Slot | None = None
    colour: Slot | None = None


class MemberChange(Shape):
    """What a member is called, its colour, model and mode; what is left out stays, "" is the workspace's."""

    name: Slot | None = None
    colour: Slot | None = None
    model: Slot | None = None
    mode: Mode | Literal[""] | None = None


class NewVariable(Shape):
    """A private variable of a member. Nothing answers with its value."""

    name: Slot
    value: Annotated[str, StringConstraints(min_length=1, max_length=32_000)]


class NewRelation(Shape):
    """That `member` is the `relation` of `other`: superior, subordinate, peer, support, or what you say."""

    member: Line
    relation: Line
    other: Line
    strength: Slot = ""
    note: Annotated[str, StringConstraints(max_length=2_000)] = ""


class MemberDetail(MemberView):
    """A member with its model, what it may do, and its variables by name."""

    # As provider:model; the workspace's, where it states none.
    model: str | None
    # What holds for it: never more than the workspace allows.
    mode: Mode
    # What it states itself; the workspace's, where it states none.
    own_mode: Mode | None
    # All of them, where it states none.
    tools: list[str] | None
    variables: list[str]


class RelationView(Answer):
    """How a member or a contact stands to a member, by that one's file."""

    member: str
    # The id of a member, or what the file says where there is none.
    other: str
    name: str
    kind: Literal["member", "contact", "nobody"]
    # What the other is to the member.
    relation: str
    strength: str
    note: str
    # Whether the other's file knows of it.
    is_mutual: bool


class CrewView(Answer):
    """The members, how they stand to each other, and what is wrong with their files."""

    members: list[MemberDetail]
    relations: list[RelationView]
    findings: list[Finding]


class MemberRemoved(Answer):
    """Where the files of a removed member lie now."""

    place: str


class RelationsMended(Answer):
    """What was written into files that did not know."""

    written: list[str]


@router.get("/api/members", openapi_extra=tells(CrewView))
async def read_members(ship: TheShip) -> Response:
    """List the members, how they stand to each other, and what is wrong with their files."""
    roster = Roster(ship.crew)
    root = str(ship.layout.root)
    findings = [
        Finding(each.level, each.subject, hide_root(each.message, root), hide_root(each.fix, root))
        for each in (*ship.crew.findings(), *roster.findings())
        if each.level != "ok"
    ]
    relations = [
        RelationView(
            member=owner.id,
            other=target.id if target else row.target_id,
            name=reveal_prose(target.name if target else row.target_name or row.target_id),
            kind="member" if target else "contact" if row.is_contact else "nobody",
            relation=reveal_prose(row.relation),
            strength=reveal_prose(row.strength),
            note=reveal_prose(row.note),
            is_mutual=is_mutual,
        )
        for owner, row, target, is_mutual in roster.standings()
    ]
    return Json(
        CrewView(members=[_detail(each) for each in ship.crew.list()], relations=relations, findings=findings)
    )


@router.post("/api/members", status_code=201, openapi_extra=tells(MemberDetail))
async def add_member(site: TheSite, ship: TheShip, body: NewMember) -> Response:
    """Take a member on, with an example's Agent.md."""
    words = find_example(site.examples, body.example, body.name or body.id).text
    settings = {"name": body.name, "model": body.model, "colour": body.colour}
    return Json(_detail(enlist(ship.crew, body.id, words, **settings)), 201)


@router.patch("/api/members/{member_id}", openapi_extra=tells(MemberDetail))
async def change_member(ship: TheShip, member_id: str, body: MemberChange) -> Response:
    """Call a member by another name, or give it another colour, model or mode; its id and threads stay."""
    member = ship.crew.find(member_id)
    if body.name is not None:
        rename(ship.crew, member, body.name)
    if body.colour is not None:
        paint(ship.crew, member, body.colour)
    if body.model is not None:
        choose_model(ship.crew, member, body.model.strip())
    if body.mode is not None:
        limit(ship.crew, member, body.mode)
    return Json(_detail(ship.crew.find(member_id)))


@router.delete("/api/members/{member_id}", openapi_extra=tells(MemberRemoved))
async def remove_member(ship: TheShip, member_id: str) -> Response:
    """Move a member's files aside. Its threads stay, and nobody answers in them until it is back."""
    kept = dismiss(ship.crew, ship.crew.find(member_id))
    return Json(MemberRemoved(place=ship.layout.name_of(kept)))


@router.post("/api/members/{member_id}/env", openapi_extra=tells(MemberDetail))
async def add_variable(ship: TheShip, member_id: str, body: NewVariable) -> Response:
    """Set a private variable of a member."""
    return _set(ship, member_id, body.name, body.value)


@router.delete("/api/members/{member_id}/env/{name}", openapi_extra=tells(MemberDetail))
async def remove_variable(ship: TheShip, member_id: str, name: str) -> Response:
    """Forget a private variable of a member."""
    return _set(ship, member_id, name, None)


@router.post("/api/relations", status_code=204)
async def add_relation(ship: TheShip, body: NewRelation) -> Response:
    """Say how one member stands to another; both their files say so then."""
    Roster(ship.crew).relate(body.other, body.member, body.relation, body.strength, body.note)
    return empty()


@router.delete("/api/relations", status_code=204)
async def remove_relation(ship: TheShip, member: Slot, other: Slot) -> Response:
    """Take the relation of two members out of both their files; the other may be gone already."""
    Roster(ship.crew).part(member, other)
    return empty()


@router.post("/api/relations/mend", openapi_extra=tells(RelationsMended))
async def mend_relations(ship: TheShip) -> Response:
    """Write what only one side knows into the other's file."""
    return Json(RelationsMended(written=Roster(ship.crew).mend()))


def _set(ship: Ship, member_id: str, name: str, value: str | None) -> Response:
    set_variable(ship.crew, ship.crew.find(member_id), name, value)
    return Json(_detail(ship.crew.find(member_id)))


def _detail(member: Member) -> MemberDetail:
    seen, llm, own = describe_member(member), member.config.llm, member.permissions
    stated = member.settings.model
    model = None if stated is None else ":".join(filter(None, (llm.provider, llm.model)))
    if member.is_program:
        # What its program takes, and no provider of ours.
        model = stated if isinstance(stated, str) else None
    return MemberDetail(
        id=seen.id,
        name=seen.name,
        description=seen.description,
        kind=seen.kind,
        colour=seen.colour,
        model=None if model is None else reveal_prose(model),
        mode=member.config.permissions.mode,
        own_mode=own.mode if own is not None and "mode" in (member.settings.permissions or {}) else None,
        tools=None if member.tools is None else list(map(reveal_prose, member.tools)),
        variables=sorted(map(reveal_prose, member.config.env)),
    )
