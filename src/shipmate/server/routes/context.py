"""Show what a model reads or has read, what it costs, and what changed between two turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.context.budget import fit_tools
from shipmate.context.difference import RowChange, compare
from shipmate.context.kept.account import (
    Account,
    AccountRow,
    KeptTurn,
    list_turns,
    read_account,
    write_account,
)
from shipmate.context.kept.kept_file import KeptThread
from shipmate.context.request import ContextRequest
from shipmate.errors import StorageError
from shipmate.models.to_model import describe_history
from shipmate.orchestrator.compaction.clearing import Clearing
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.turn import message_id_of
from shipmate.server.guard.error import ApiError, hide_root
from shipmate.server.port import Ship, read_if_there
from shipmate.server.routes.thread import find_thread
from shipmate.server.shape import Answer, Json, Slot, tells
from shipmate.server.site import PLATFORM, TheShip, thread_of
from shipmate.store.port import StepUsage
from shipmate.team.user import OWNER
from shipmate.thread.service import Thread
from shipmate.values.message import text_of
from shipmate.workspace.layout import CAPTAIN

# How much of a history is told at once: messages, and bytes of them.
PAGE = 100
PAGE_BYTES = 1_000_000
router = APIRouter(tags=["context"])
Result = TypeVar("Result")
Before = Annotated[int | None, Query(ge=1)]


class RowGroup(Answer):
    """Rows of one kind, and what all of them cost; of a long history those before `from` are not told."""

    count: int
    bytes: int
    tokens: int
    from_: int = msgspec.field(name="from")
    items: list[AccountRow]


class KnownTurn(Answer):
    """A turn whose requests are kept, with the words it answered, and which attempt at them it was."""

    turn: int
    at: str
    # The message it wrote, and the one it answered.
    message_id: str
    asked_id: str
    text: str
    attempt: int
    attempts: int
    steps: int
    course: int
    # What of the request before it this one does not begin with; null when that is not kept.
    broken_by: str | None


class ContextView(Answer):
    """What a model reads; tokens are estimates, and each number is the sum of its rows."""

    profile: str
    member: str
    model: str
    # How many tokens the model reads at once; null when nobody knows.
    window: int | None
    sections: list[AccountRow]
    left_out: list[AccountRow]
    tools: RowGroup
    history: RowGroup
    # The tokens at the beginning that stay the same from turn to turn.
    stable_tokens: int
    total_bytes: int
    total_tokens: int


class ThreadContext(Answer):
    """What the next turn of a thread would read, and the turns that can be opened."""

    now: ContextView
    turns: list[KnownTurn]
    # Whether requests are kept, and for how long.
    keeps: bool
    keep_days: int
    keep_megabytes: int


class StepCost(Answer):
    """One request of a turn, as its provider counted it; null for what it did not tell."""

    step: int
    at: str
    model: str
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cost: float | None
    milliseconds: int | None
    # Why rules chose the model; empty where none did.
    route: str


class TurnContext(Answer):
    """What the model read at one step of a turn, and what each of its steps cost."""

    turn: KnownTurn
    # Which of `steps` is shown, counted from 1.
    step: int
    steps: list[StepCost]
    read: ContextView


class ContextDiff(Answer):
    """What two turns read first, compared."""

    from_: int = msgspec.field(name="from")
    to: int
    changes: list[RowChange]
    # How many further messages changed.
    untold: int
    same_tokens: int
    total_tokens: int
    breaks_in: str


@router.get("/api/context", openapi_extra=tells(ContextView))
async def read_context(ship: TheShip, member: Slot = CAPTAIN, profile: Slot | None = None) -> Response:
    """Show what a new thread would begin with."""
    return Json(_show_next(ship.equip(member), None, None, profile))


@router.get("/api/threads/{thread_id}/context", openapi_extra=tells(ThreadContext))
async def read_thread_context(
    ship: TheShip, thread_id: str, profile: Slot | None = None, before: Before = None
) -> Response:
    """Show what the next turn of a thread would read; `before` gives earlier messages."""
    info = await find_thread(ship, thread_id)
    thread = await read_if_there(ship, thread_of(info.thread_id))
    kept = await _read_kept(ship, info.thread_id)
    settings = ship.config.context
    return Json(
        ThreadContext(
            now=_show_next(ship.equip(info.member), info.thread_id, thread, profile, before),
            turns=list(map(_show_turn, await _read(lambda: list_turns(kept)))),
            keeps=settings.keep,
            keep_days=settings.keep_days,
            keep_megabytes=settings.keep_megabytes,
        )
    )


@router.get("/api/threads/{thread_id}/context/turns/{turn}", openapi_extra=tells(TurnContext))
async def read_turn(
    ship: TheShip,
    thread_id: str,
    turn: int,
    step: Annotated[int | None, Query(ge=1)] = None,
    before: Before = None,
) -> Response:
    """Show what the model read at a step of a turn, the last one when `step` is left out."""
    info = await find_thread(ship, thread_id)
    kept = await _read_kept(ship, info.thread_id)
    found = _find_turn(await _read(lambda: list_turns(kept)), turn)
    number = len(found.places) if step is None else step
    if number > len(found.places):
        raise ApiError(404, "not-found", f"Turn {turn} has {len(found.places)} steps.", "Name one of them.")
    place = found.places[number - 1]
    asked = kept.steps[place]
    used = await ship.store.ledger.usage("", info.thread_id, found.run_id)
    account = await _read(lambda: read_account(kept, place))
    root = str(ship.layout.root)
    return Json(
        TurnContext(
            turn=_show_turn(found),
            step=number,
            steps=_show_steps(kept, found, used),
            read=_show(account, root, asked.member, asked.model, asked.window, before),
        )
    )


@router.get("/api/threads/{thread_id}/context/diff", openapi_extra=tells(ContextDiff))
async def read_difference(
    ship: TheShip,
    thread_id: str,
    before: Annotated[int, Query(alias="from", ge=1)],
    after: Annotated[int | None, Query(alias="to", ge=1)] = None,
) -> Response:
    """Compare the first requests of two turns; the last one is meant when `to` is left out."""
    info = await find_thread(ship, thread_id)
    kept = await _read_kept(ship, info.thread_id)
    turns = await _read(lambda: list_turns(kept))
    first, second = _find_turn(turns, before), _find_turn(turns, len(turns) if after is None else after)
    found = await _read(
        lambda: compare(read_account(kept, first.places[0]), read_account(kept, second.places[0]))
    )
    return Json(
        ContextDiff(
            from_=first.number,
            to=second.number,
            changes=found.changes,
            untold=found.untold,
            same_tokens=found.same_tokens,
            total_tokens=found.total_tokens,
            breaks_in=found.breaks_in,
        )
    )


async def _read_kept(ship: Ship, thread_id: str) -> KeptThread:
    await ship.requests.flush()
    return await _read(lambda: ship.requests.read(thread_id))


async def _read(work: Callable[[], Result]) -> Result:
    """Read what is kept, which may be much, or anything: whoever wrote it."""
    try:
        return await asyncio.to_thread(work)
    except StorageError as error:
        message, _, next_ = str(error).partition(". ")
        raise ApiError(503, "unavailable", f"{message}.", next_) from error


def _find_turn(turns: Sequence[KeptTurn], number: int) -> KeptTurn:
    if not 1 <= number <= len(turns):
        raise ApiError(
            404,
            "not-kept",
            "What the model read there is not kept any more.",
            "Open one of the turns that are kept; context.keepDays in ship.json says for how long they are.",
        )
    return turns[number - 1]


def _show_turn(turn: KeptTurn) -> KnownTurn:
    return KnownTurn(
        turn=turn.number,
        at=turn.first.at,
        message_id=message_id_of(turn.run_id),
        asked_id=turn.first.asked,
        text=turn.first.words,
        attempt=turn.attempt,
        attempts=turn.attempts,
        steps=len(turn.places),
        course=turn.first.course,
        broken_by=turn.broken_by,
    )


def _show_steps(kept: KeptThread, turn: KeptTurn, used: Sequence[StepUsage]) -> list[StepCost]:
    by_step: Mapping[int, StepUsage] = {each.step: each for each in used}
    steps: list[StepCost] = []
    for place in turn.places:
        step = kept.steps[place]
        # A step that broke off was asked again; what was counted is of the last time.
        is_last = all(kept.steps[later].step != step.step for later in turn.places if later > place)
        usage = by_step.get(step.step) if is_last else None
        is_told = usage is not None and usage.input_tokens > 0
        steps.append(
            StepCost(
                step=step.step,
                at=step.at,
                model=usage.model if usage else step.model,
                input_tokens=usage.input_tokens if usage and is_told else None,
                cached_tokens=usage.cache_read_tokens if usage and is_told else None,
                output_tokens=usage.output_tokens if usage and is_told else None,
                cost=usage.cost if usage else None,
                milliseconds=usage.milliseconds if usage else None,
                route=usage.route if usage else "",
            )
        )
    return steps


def _show_next(
    equipment: Equipment,
    thread_id: str | None,
    thread: Thread | None,
    profile: str | None,
    before: int | None = None,
) -> ContextView:
    history = Clearing(equipment.member.layout).show(thread, thread.history()) if thread else []
    said = next((text_of(message) for message in reversed(history) if message["role"] == "user"), "")
    window = equipment.models.recall_window().tokens
    model = equipment.models.default.name
    tools = fit_tools(equipment.toolset.specs(), window)
    context = equipment.context.build(
        ContextRequest(
            thread_id=thread_id,
            user_id=OWNER,
            platform=thread_of(thread_id).platform if thread_id else PLATFORM,
            model=model,
            tools=tools,
            last_text=said,
            profile=profile,
            window=window,
        )
    )
    account = write_account(context, tools, describe_history(history, model, context.zone))
    root = str(equipment.member.layout.root)
    return _show(account, root, equipment.member.id, model, window, before)


def _show(
    account: Account, root: str, member: str, model: str, window: int | None, before: int | None
) -> ContextView:
    return ContextView(
        profile=account.profile,
        member=member,
        model=model,
        window=window,
        sections=[_show_row(row, root) for row in account.of("section")],
        left_out=[_show_row(row, root) for row in account.left_out],
        tools=_group(account.of("tool"), root),
        history=_group(account.of("message"), root, _find_page(account.of("message"), before)),
        stable_tokens=account.stable_tokens,
        total_bytes=account.bytes,
        total_tokens=account.tokens,
    )


def _find_page(rows: Sequence[AccountRow], before: int | None) -> range:
    """Return which messages are told: the last ones, or those before some place."""
    end = len(rows) if before is None else min(before - 1, len(rows))
    start, room = end, PAGE_BYTES
    while start > max(0, end - PAGE) and (room > rows[start - 1].bytes or start == end):
        start -= 1
        room -= rows[start].bytes
    return range(start, end)


def _group(rows: Sequence[AccountRow], root: str, page: range | None = None) -> RowGroup:
    told = rows if page is None else rows[page.start : page.stop]
    return RowGroup(
        count=len(rows),
        bytes=sum(row.bytes for row in rows),
        tokens=sum(row.tokens for row in rows),
        from_=page.start + 1 if page else 1,
        items=[_show_row(row, root) for row in told],
    )


def _show_row(row: AccountRow, root: str) -> AccountRow:
    """Return a row that names no place on the machine."""
    return msgspec.structs.replace(
        row, source=hide_root(row.source, root), reason=hide_root(row.reason, root)
    )
