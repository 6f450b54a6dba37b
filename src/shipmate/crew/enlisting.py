"""Take members on, call them by another name, and let them go."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from shipmate.crew.roster import Roster
from shipmate.errors import NotFoundError, UserError, WorkspaceError
from shipmate.workspace.crew import Crew
from shipmate.workspace.disk.private import make_private, sync_folder
from shipmate.workspace.layout import CAPTAIN, MEMBER_ID, Layout
from shipmate.workspace.member import Member
from shipmate.workspace.setting_file.config_file import read_object, write_key

# Nothing but a colour reaches the styles of the page.
COLOUR = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def enlist(crew: Crew, member_id: str, words: str, **settings: str | None) -> Member:
    """Make a member of an Agent.md and what member.json shall say."""
    if not MEMBER_ID.fullmatch(member_id) or member_id == CAPTAIN:
        raise UserError(f"{member_id[:64]!r} is no id for a new member: letters, digits, '.', '_' and '-'.")
    folder = crew.layout.members / member_id
    if member_id in crew.ids() or folder.exists():
        raise UserError(f"there is a member {member_id!r} already; `shipmate members show {member_id}`.")
    called = _check_name(crew, member_id, settings.get("name") or member_id)
    own = Layout(folder)
    if settings.get("name"):
        settings["name"] = called
    if model := settings.get("model"):
        crew.loaded.config.llm.named(model)
    if colour := settings.get("colour"):
        _check_colour(colour)
    try:
        make_private(folder)
        with own.agent.open("x", encoding="utf-8") as file:
            file.write(words)
    except OSError as error:
        raise WorkspaceError(f"{crew.layout.name_of(folder)} cannot be made: {error.strerror}.") from None
    for key, value in settings.items():
        if value:
            write_key(crew.layout, own.member_file, key, value)
    return crew.find(member_id)


def rename(crew: Crew, member: Member, name: str) -> str:
    """Call a member by another name; return the file that says so. Its id stays."""
    called = _check_name(crew, member.id, name)
    place = crew.layout.config if member.id == CAPTAIN else member.own.member_file
    write_key(crew.layout, place, "name", called)
    return crew.layout.name_of(place)


def paint(crew: Crew, member: Member, colour: str) -> None:
    """Write another colour into a member's file."""
    _check_colour(colour)
    write_key(crew.layout, member.own.member_file, "colour", colour)


def choose_model(crew: Crew, member: Member, model: str) -> None:
    """Let a member answer with another model; without a name with the workspace's."""
    _refuse_captain(member)
    if model and not member.is_program:
        crew.loaded.config.llm.named(model)
    write_key(crew.layout, member.own.member_file, "model", model or None)


def limit(crew: Crew, member: Member, mode: str) -> None:
    """State the mode of a member, beside the rules it states; without one it has the workspace's."""
    _refuse_captain(member)
    # Also what its Agent.md states: member.json hides that.
    stated = {key: value for key, value in (member.settings.permissions or {}).items() if key != "mode"}
    if mode:
        stated["mode"] = mode
    write_key(crew.layout, member.own.member_file, "permissions", stated or None)


def set_variable(crew: Crew, member: Member, key: str, value: str | None) -> str:
    """Set a private variable of a member, or take it back with None; return the file that holds it."""
    if not VARIABLE.fullmatch(key):
        raise UserError(f"{key[:64]!r} is no name of a variable, such as API_KEY.")
    place = crew.layout.config if member.id == CAPTAIN else member.own.member_file
    known = read_object(place).get("env")
    env: dict[str, object] = dict(known) if isinstance(known, dict) else {}
    if value is None and key not in env:
        raise NotFoundError(f"{member.id} has no variable {key} of its own.")
    if value is None:
        env.pop(key)
    else:
        env[key] = value
    write_key(crew.layout, place, "env", env or None)
    return crew.layout.name_of(place)


def dismiss(crew: Crew, member: Member) -> Path:
    """Move a member's folder aside, with its relations taken back; return where it lies now."""
    if member.id == CAPTAIN:
        raise UserError("the captain's files are the workspace's own; it cannot be removed.")
    folder = crew.layout.members / member.id
    if member.own.root != folder:
        raise UserError(f"{member.id} comes from files of another program; remove it there.")
    roster = Roster(crew)
    for other in crew.list():
        if other.id != member.id and any(member.id == each.target_id for each in roster.relations(other)):
            roster.part(other.id, member.id)
    kept = make_private(crew.layout.removed) / f"{member.id}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    try:
        folder.rename(kept)
        for changed in (kept.parent, folder.parent):
            sync_folder(changed)
    except OSError as error:
        raise WorkspaceError(f"{crew.layout.name_of(folder)} cannot be moved: {error.strerror}.") from None
    return kept


def _refuse_captain(member: Member) -> None:
    if member.id == CAPTAIN:
        raise UserError("the captain's model and rights are the workspace's; ship.json states them.")


def _check_name(crew: Crew, member_id: str, name: str) -> str:
    """Return a name as it is written; raise UserError when it cannot be one, or is another's."""
    called = " ".join(name.split())
    if not called or len(called) > 60:
        raise UserError("a name is one line of 1 to 60 characters.")
    for other in crew.list():
        if other.id != member_id and called.casefold() in (other.id.casefold(), other.name.casefold()):
            raise UserError(f"{other.id} is called {other.name!r} already; choose another name.")
    return called


def _check_colour(colour: str) -> None:
    if not COLOUR.fullmatch(colour):
        raise UserError(f"{colour[:20]!r} is no colour such as #3366cc.")
