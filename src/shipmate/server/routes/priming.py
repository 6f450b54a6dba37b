"""Find, show, edit and save priming scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, StrictBool, StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from shipmate.errors import StorageError
from shipmate.priming.export import Saved, ScriptExistsError, offer_name, save_script
from shipmate.priming.library import Listing, ScriptEntry
from shipmate.priming.lint.fix import fix_script
from shipmate.priming.lint.lint_mark import Mark
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.priming.sample import write_sample
from shipmate.server.guard.error import ApiError, hide_root, invalid
from shipmate.server.revision import list_revisions, write_document
from shipmate.server.routes.crew.member import RevisionList
from shipmate.server.script_view import (
    BrokenScript,
    ScriptReading,
    ScriptView,
    find_broken,
    find_uses,
    read_draft,
    view_script,
)
from shipmate.server.shape import Answer, Json, Shape, Slot, tells
from shipmate.server.site import Site, TheShip, TheSite, thread_of
from shipmate.workspace.layout import CAPTAIN

router = APIRouter(tags=["priming"])


ScriptText = Annotated[str, StringConstraints(max_length=2_000_000)]


class SaveScript(Shape):
    """The request to save a course as a priming script."""

    thread_id: Slot
    course: Annotated[int, Field(ge=1)] | None = None
    slug: Slot
    overwrite: StrictBool = False
    title: Slot | None = None
    # With who spoke where and when, and which run answered.
    full: StrictBool = False


class ScriptChange(Shape):
    """The new text of a script, and the digest of the text it was written against; None for a new script."""

    ref: Slot
    text: ScriptText
    digest: Annotated[str, StringConstraints(max_length=64)] | None = None


class ScriptDraft(Shape):
    """A text that may become a script."""

    text: ScriptText


class ScriptList(Answer):
    """Priming scripts, and what is wrong with those that cannot be read."""

    scripts: list[ScriptEntry]
    problems: list[str]
    broken: list[BrokenScript]


class ScriptWritten(Answer):
    """What a script is after it was written."""

    script_ref: str
    digest: str
    marks: list[Mark]


class SlugOffer(Answer):
    """A name and a title a course can be saved under."""

    slug: str
    title: str
    member: str


class ScriptSample(Answer):
    """A script to write over, or to write on with."""

    text: str


@router.get("/api/priming/recent", openapi_extra=tells(ScriptList))
async def read_recent(site: TheSite, ship: TheShip, member: Slot = CAPTAIN) -> Response:
    """List the scripts a member's dialogs were made with, newest first."""
    name = ship.crew.find(member).id
    return _listing(site, Recents(ship.layout).list(site.library, name))


@router.get("/api/priming/search", openapi_extra=tells(ScriptList))
async def search_scripts(
    site: TheSite,
    ship: TheShip,
    query: Slot,
    member: Slot = CAPTAIN,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Find scripts by slug or title; the disk is looked at each time."""
    name = ship.crew.find(member).id
    # Thousands of files may be read; other requests go on meanwhile.
    return _listing(site, await run_in_threadpool(site.library.search, name, query, limit))


@router.get("/api/priming/scripts", openapi_extra=tells(ScriptList))
async def read_scripts(site: TheSite, ship: TheShip, member: Slot = CAPTAIN) -> Response:
    """List every script meant for a member."""
    name = ship.crew.find(member).id
    return _listing(site, await run_in_threadpool(site.library.list, name))


@router.get("/api/priming/script", openapi_extra=tells(ScriptView))
async def read_script(site: TheSite, ship: TheShip, ref: Slot) -> Response:
    """Return one script as it stands on disk, every mistake in it, and where it was used."""
    name = ScriptRef.parse(ref)
    # A long script takes a while to read; other requests go on meanwhile.
    view = await run_in_threadpool(view_script, site.library, name, ship.config.language)
    root = str(ship.layout.root)
    view.problems = [hide_root(problem, root) for problem in view.problems]
    view.uses = await find_uses(ship, str(name))
    return Json(view)


@router.put("/api/priming/script", openapi_extra=tells(ScriptWritten))
async def write_script(site: TheSite, ship: TheShip, body: ScriptChange) -> Response:
    """Write a script, unless someone else changed it meanwhile; the text that stood there is kept."""
    ref = ScriptRef.parse(body.ref)
    if ref.member is not None:
        ship.crew.find(ref.member)
    text = _check_text(body.text)
    path = ref.path(ship.layout)
    _make_folder(path.parent, ref)
    digest = write_document(ship.layout, path, str(ref), text, body.digest)
    reading = await run_in_threadpool(read_draft, text, ship.config.language)
    return Json(ScriptWritten(script_ref=str(ref), digest=digest, marks=reading.marks))


@router.get("/api/priming/script/history", openapi_extra=tells(RevisionList))
async def read_script_history(ship: TheShip, ref: Slot) -> Response:
    """Return a script's earlier texts."""
    path = ScriptRef.parse(ref).path(ship.layout)
    return Json(RevisionList(versions=list_revisions(ship.layout, path)))


@router.post("/api/priming/check", openapi_extra=tells(ScriptReading))
async def check_draft(ship: TheShip, body: ScriptDraft) -> Response:
    """Read a text as a script, without keeping it."""
    return Json(await run_in_threadpool(read_draft, _check_text(body.text), ship.config.language))


@router.post("/api/priming/fix", openapi_extra=tells(ScriptSample))
async def fix_draft(body: ScriptDraft) -> Response:
    """Return a text with all mended that does not take a person; nothing is kept."""
    return Json(ScriptSample(text=await run_in_threadpool(fix_script, _check_text(body.text))))


@router.get("/api/priming/sample", openapi_extra=tells(ScriptSample))
async def read_sample(ship: TheShip, ref: Slot, title: Slot = "") -> Response:
    """Return the text a new script begins with."""
    return Json(ScriptSample(text=write_sample(ScriptRef.parse(ref), title, ship.config.language)))


@router.get("/api/priming/slug", openapi_extra=tells(SlugOffer))
async def read_slug(
    site: TheSite, ship: TheShip, thread_id: Annotated[Slot, Query(alias="threadId")]
) -> Response:
    """Offer a slug and a title for the current course of a thread."""
    name = thread_of(thread_id)
    slug = await offer_name(site.library, ship.threads, ship.store, name)
    info = await ship.store.threads.find(str(name))
    title, member = (info.title, info.member) if info is not None else ("", CAPTAIN)
    return Json(SlugOffer(slug=slug, title=title, member=member))


@router.post("/api/priming/save", status_code=201, openapi_extra=tells(Saved))
async def save(site: TheSite, ship: TheShip, body: SaveScript) -> Response:
    """Save a course of a thread as a script of its member."""
    try:
        saved = await save_script(
            site.library,
            ship.threads,
            ship.store,
            thread_id=thread_of(body.thread_id),
            slug=body.slug,
            course=body.course,
            title=body.title,
            overwrite=body.overwrite,
            full=body.full,
        )
    except ScriptExistsError as error:
        raise ApiError(
            409, "conflict", "A script of that name exists.", "Confirm that it may be replaced, or rename."
        ) from error
    return Json(saved, 201)


def _make_folder(folder: Path, ref: ScriptRef) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise invalid(f"{ref} would lie in a file.", "Choose another name.") from error
    except OSError as error:
        raise StorageError(f"the folder of {ref} cannot be made: {error.strerror}") from error


def _check_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise invalid("The text holds half a character.", "Send it as UTF-8.") from error
    return text


def _listing(site: Site, listing: Listing) -> Response:
    root = str(site.layout.root)
    problems = [hide_root(problem, root) for problem in listing.problems]
    return Json(ScriptList(scripts=listing.entries, problems=problems, broken=list(find_broken(problems))))
