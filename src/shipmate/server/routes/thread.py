"""List, make, change and read threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query
from pydantic import Field, StrictBool
from starlette.responses import Response

from shipmate.delivery.cleaning import remove_from
from shipmate.orchestrator.lane.owner import is_planning, model_of
from shipmate.priming.replay import Priming, create_dialog
from shipmate.server.guard.error import ApiError, hide_root, missing
from shipmate.server.guard.viewer import check_sight, need, viewer
from shipmate.server.port import Ship
from shipmate.server.shape import Answer, ExactShape, Json, Shape, Slot, empty, tells
from shipmate.server.site import PLATFORM, TheShip, TheSite, new_room, thread_at
from shipmate.server.stream.view import run_of, without
from shipmate.store.port import ThreadInfo
from shipmate.team.right import SHARED_WITH
from shipmate.values.event import ModelSwitchEvent, PlanEvent
from shipmate.values.message import (
    UIMessage,
    new_id,
    timestamp,
)
from shipmate.values.primed import hides_priming
from shipmate.values.reveal import reveal_prose
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

# The setting of a branch that names where it left its parent.
BRANCH = "branchOf"
router = APIRouter(tags=["threads"])


class PrimingChoice(ExactShape):
    """The priming scripts of a new thread."""

    script_refs: Annotated[tuple[Slot, ...], Field(max_length=20)]
    show_in_ui: StrictBool = True


class NewThread(ExactShape):
    """The request for a new thread."""

    member: Slot | None = None
    title: Slot | None = None
    priming: PrimingChoice | None = None


class ThreadChange(Shape):
    """A change to what a list shows of a thread."""

    title: Slot | None = None
    archived: StrictBool | None = None
    read: StrictBool | None = None
    # The model that answers here, once it has answered a test; "default" takes the choice back.
    model: Slot | None = None
    # "open": nothing acts before a plan is agreed; "go" agrees to it, "off" wants none any more.
    plan: Literal["open", "go", "off"] | None = None


class ThreadMade(Answer):
    """The new thread."""

    thread_id: str
    messages: int
    text: str = ""
    # What went wrong beside it.
    problems: list[str] = msgspec.field(default_factory=list[str])


class BranchPoint(Answer):
    """Where a branch left its parent."""

    thread_id: str
    message_id: str
    title: str


class ThreadView(Answer):
    """A thread as a list shows it."""

    id: str
    title: str
    platform: str
    member: str
    message_count: int
    token_estimate: int
    created_at: str
    last_at: str
    archived: bool
    binned: bool
    unread: bool
    running: bool
    pending_approvals: int
    # The model chosen for this thread, None when its member's answers.
    model: str | None = None
    # Nothing acts here before a plan is agreed.
    planning: bool = False
    # Whether whoever asks may share it, and whether others of the team see it.
    mine: bool = True
    shared: bool = False
    branch_of: BranchPoint | None = None


class ThreadList(Answer):
    """Threads, newest first."""

    threads: list[ThreadView]
    next: str | None


class MessagePage(Answer):
    """A page of messages, oldest first."""

    messages: list[UIMessage]
    has_more: bool
    problems: list[str]
    running: bool
    hide_priming: bool


@router.get("/api/threads", openapi_extra=tells(ThreadList))
async def read_threads(
    ship: TheShip,
    query: Slot = "",
    archived: bool = False,
    bin: bool = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Slot | None = None,
) -> Response:
    """List threads, the one that changed last first."""
    threads = ship.store.threads
    found = await threads.list(
        query=query,
        archived=None if bin else archived,
        binned=bin,
        before=before,
        limit=limit + 1,
        viewer=viewer().filter,
    )
    following = found[limit - 1].cursor if len(found) > limit else None
    return Json(ThreadList(threads=await list_threads(ship, found[:limit]), next=following))


@router.post("/api/threads", status_code=201, openapi_extra=tells(ThreadMade))
async def create_thread(site: TheSite, ship: TheShip, body: NewThread) -> Response:
    """Make a dialog, with priming scripts replayed as its beginning."""
    chosen = body.priming
    if chosen is not None:
        need("member")
    dialog = await create_dialog(
        site.library,
        ship.threads,
        ship.store,
        thread_id=new_room(),
        member=ship.crew.find(body.member or CAPTAIN).id,
        priming=chosen and Priming(script_refs=chosen.script_refs, show_in_ui=chosen.show_in_ui),
        title=body.title or "",
        language=ship.config.language,
        settings=viewer().claim({}),
    )
    problems = [hide_root(problem, str(ship.layout.root)) for problem in dialog.problems]
    made = ThreadMade(thread_id=str(dialog.thread_id), messages=dialog.messages, problems=problems)
    return Json(made, 201)


@router.get("/api/threads/{thread_id}", openapi_extra=tells(ThreadView))
async def read_thread(ship: TheShip, thread_id: str) -> Response:
    """Describe one thread."""
    return Json(await show_thread(ship, await find_thread(ship, thread_id)))


@router.patch("/api/threads/{thread_id}", openapi_extra=tells(ThreadView))
async def change_thread(ship: TheShip, thread_id: str, body: ThreadChange) -> Response:
    """Rename, archive or mark a thread as read, or choose the model that answers in it."""
    info = await find_thread(ship, thread_id)
    if body.model is not None or body.plan is not None:
        need("member")
    if body.model is not None:
        await _choose_model(ship, info.thread_id, body.model)
    if body.plan is not None:
        await _plan(ship, info.thread_id, body.plan)
    threads = ship.store.threads
    if body.title is not None:
        await threads.rename(info.thread_id, body.title)
    read_at = None if body.read is None else timestamp() if body.read else ""
    if body.archived is not None or read_at is not None:
        await threads.set(info.thread_id, archived=body.archived, read_at=read_at)
    return Json(await show_thread(ship, await find_thread(ship, thread_id)))


async def _choose_model(ship: Ship, thread_id: str, name: str) -> None:
    event = ModelSwitchEvent(
        platform=PLATFORM,
        thread_id=thread_id,
        user_id=viewer().speaker,
        message_id=new_id("model"),
        timestamp=timestamp(),
        name=name,
    )
    outcome = await (await ship.keeper.receive(event)).outcome()
    if outcome.status == "failed":
        raise ApiError(422, "model", outcome.error or "The model does not work.", "Choose another one.")


async def _plan(ship: Ship, thread_id: str, action: Literal["open", "go", "off"]) -> None:
    event = PlanEvent(
        platform=PLATFORM,
        thread_id=thread_id,
        user_id=viewer().speaker,
        message_id=new_id("plan"),
        timestamp=timestamp(),
        action=action,
    )
    outcome = await (await ship.keeper.receive(event)).outcome()
    if outcome.status == "failed":
        raise ApiError(409, "conflict", outcome.error or "No plan waits here.", "Look at the thread again.")


@router.delete("/api/threads/{thread_id}", status_code=204)
async def bin_thread(ship: TheShip, thread_id: str) -> Response:
    """Stop what runs in a thread and move it to the bin."""
    info = await find_thread(ship, thread_id)
    if info.binned:
        raise missing("such thread outside the bin")
    if ship.keeper.running(info.thread_id):
        raise ApiError(409, "conflict", "The thread is being answered.", "Stop it first.")
    await ship.threads.bin(ThreadId.parse(info.thread_id))
    await ship.store.threads.refresh(info.thread_id)
    return empty()


@router.post("/api/threads/{thread_id}/restore", openapi_extra=tells(ThreadView))
async def restore_thread(ship: TheShip, thread_id: str) -> Response:
    """Bring a thread back from the bin."""
    info = await find_thread(ship, thread_id)
    if not info.binned:
        raise missing("such thread in the bin")
    await ship.threads.restore(ThreadId.parse(info.thread_id))
    await ship.store.threads.refresh(info.thread_id)
    return Json(await show_thread(ship, await find_thread(ship, thread_id)))


@router.get("/api/threads/{thread_id}/messages", openapi_extra=tells(MessagePage))
async def read_messages(
    ship: TheShip,
    thread_id: str,
    before: Slot | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """Return the messages before one, or the last ones; what a running stream repeats is left out."""
    return Json(await page_of(ship, thread_at(thread_id), before, limit))


async def list_threads(ship: Ship, found: Sequence[ThreadInfo]) -> list[ThreadView]:
    """Describe threads for a list."""
    waiting = await ship.store.consents.waiting()
    return [_describe(ship, info, waiting, await _origin(ship, info)) for info in found]


async def show_thread(ship: Ship, info: ThreadInfo) -> ThreadView:
    """Describe one thread."""
    return _describe(ship, info, await ship.store.consents.waiting(), await _origin(ship, info))


async def _origin(ship: Ship, info: ThreadInfo) -> BranchPoint | None:
    match info.settings.get(BRANCH):
        case {"threadId": str(thread_id), "messageId": str(message_id)}:
            parent = await ship.store.threads.find(thread_id)
            # A parent that is gone for good leads nowhere.
            title = reveal_prose(parent.title) if parent else ""
            is_seen = parent is not None and viewer().sees(parent.settings)
            return (
                None if not is_seen else BranchPoint(thread_id=thread_id, message_id=message_id, title=title)
            )
        case _:
            return None


def _describe(
    ship: Ship, info: ThreadInfo, waiting: dict[str, int], origin: BranchPoint | None
) -> ThreadView:
    return ThreadView(
        id=info.thread_id,
        # A title is of anybody: nothing in it may turn round what stands beside it.
        title=reveal_prose(info.title),
        platform=ThreadId.parse(info.thread_id).platform,
        member=info.member,
        message_count=info.message_count,
        token_estimate=info.token_estimate,
        created_at=info.created_at,
        last_at=info.last_at,
        archived=info.archived,
        binned=info.binned,
        unread=info.message_count > 0 and (info.read_at or "") < info.last_at,
        running=ship.keeper.running(info.thread_id) is not None,
        pending_approvals=waiting.get(info.thread_id, 0),
        model=model_of(info),
        planning=is_planning(info),
        mine=viewer().owns(info.settings),
        shared=bool(info.settings.get(SHARED_WITH)),
        branch_of=origin,
    )


async def page_of(ship: Ship, thread_id: ThreadId, before: str | None, limit: int) -> MessagePage:
    """Return one page of messages, oldest first."""
    info = await ship.store.threads.find(str(thread_id))
    if not await ship.threads.exists(thread_id):
        if info is None or info.binned:
            raise missing("such thread")
        return _page(info, [], running=await run_of(ship, thread_id), has_more=False, problems=[])
    # The run is asked for first: one that ends meanwhile is read whole by its client's next look.
    running = await run_of(ship, thread_id)
    thread = await ship.threads.read(thread_id)
    end = len(thread.messages) if before is None else thread.messages.place_of(before)
    if end is None:
        raise missing("such message")
    # One more than is shown: the message of the run may be among them.
    near = thread.messages[max(0, end - limit - 1) : end]
    shown = without(near, running)
    has_more = end > len(near) or len(shown) > limit
    problems = [str(problem) for problem in thread.problems]
    return _page(info, shown[-limit:], running=running, has_more=has_more, problems=problems)


def _page(
    info: ThreadInfo | None,
    messages: list[UIMessage],
    *,
    running: str | None,
    has_more: bool,
    problems: list[str],
) -> MessagePage:
    return MessagePage(
        messages=[remove_from(message) for message in messages],
        has_more=has_more,
        problems=problems,
        running=running is not None,
        hide_priming=info is not None and hides_priming(info.settings),
    )


async def find_thread(ship: Ship, thread_id: str) -> ThreadInfo:
    """Return a thread's entry, or say that there is none."""
    info = await ship.store.threads.find(str(thread_at(thread_id)))
    check_sight(info)
    if info is None:
        raise missing("such thread")
    return info
