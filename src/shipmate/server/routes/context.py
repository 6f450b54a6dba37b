"""Show what goes into a prompt, what it costs, and what changed between two turns."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.context.budget import fit_tools
from shipmate.context.difference import SectionChange, compare
from shipmate.context.request import Context, ContextRequest, Section, Stability
from shipmate.context.snapshot import Snapshot, read_snapshots
from shipmate.models.port import json_size
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.turn import message_id_of
from shipmate.server.guard.error import hide_root, missing
from shipmate.server.port import Ship
from shipmate.server.routes.thread import find_thread
from shipmate.server.shape import Answer, Json, Slot, tells
from shipmate.server.site import OWNER, PLATFORM, TheShip, thread_of
from shipmate.store.port import StepUsage, ThreadInfo
from shipmate.tools.toolset import Toolset
from shipmate.values.message import UIMessage, estimate_tokens, text_of
from shipmate.workspace.layout import CAPTAIN

TURN_WORDS = 120
router = APIRouter(tags=["context"])


class SectionView(Answer):
    """One section of a prompt, with its cost and reason."""

    name: str
    title: str
    text: str
    source: str
    stability: Stability
    bytes: int
    tokens: int
    included: bool
    reason: str


class HistoryCost(Answer):
    """What the thread adds."""

    messages: int
    bytes: int
    tokens: int


class ToolCost(Answer):
    """What one tool adds."""

    name: str
    bytes: int
    tokens: int


class ToolsCost(Answer):
    """What the tools add."""

    count: int
    bytes: int
    tokens: int
    items: list[ToolCost]


class KnownTurn(Answer):
    """A turn whose prompt is known, with the words it answered."""

    turn: int
    at: str
    message_id: str
    text: str
    # What of the request before it this one does not begin with; null when that is not known any more.
    broken_by: str | None
    # What the provider counted, and how much of that it had in its cache; null when it told nothing.
    input_tokens: int | None
    cached_tokens: int | None


class ContextView(Answer):
    """A prompt, section by section."""

    profile: str
    member: str
    sections: list[SectionView]
    history: HistoryCost
    tools: ToolsCost
    stable_bytes: int
    system_bytes: int
    total_bytes: int
    total_tokens: int
    turns: list[KnownTurn]


class ChangeView(Answer):
    """What happened to one section between two turns."""

    name: str
    change: Literal["added", "removed", "changed"]
    diff: str
    bytes_before: int
    bytes_after: int
    is_known: bool


class ContextDiff(Answer):
    """The prompts of two turns, compared."""

    from_: int = msgspec.field(name="from")
    to: int
    sections: list[ChangeView]
    unchanged_bytes: int
    total_bytes: int
    breaks_in: str


@router.get("/api/context", openapi_extra=tells(ContextView))
async def read_context(ship: TheShip, member: Slot = CAPTAIN, profile: Slot | None = None) -> Response:
    """Show the prompt a new thread would begin with."""
    equipment = ship.equip(member)
    return Json(_show(equipment, _build(equipment, None, [], profile), [], []))


@router.get("/api/threads/{thread_id}/context", openapi_extra=tells(ContextView))
async def read_thread_context(ship: TheShip, thread_id: str, profile: Slot | None = None) -> Response:
    """Show the prompt the next turn of a thread would have."""
    info = await find_thread(ship, thread_id)
    history = await _history(ship, info)
    equipment = ship.equip(info.member)
    context = _build(equipment, info.thread_id, history, profile)
    turns = read_snapshots(ship.layout, thread_of(info.thread_id))
    steps = await ship.store.ledger.usage("", info.thread_id)
    return Json(_show(equipment, context, history, _turns(turns, history, steps)))


@router.get("/api/threads/{thread_id}/context/diff", openapi_extra=tells(ContextDiff))
async def read_difference(
    ship: TheShip,
    thread_id: str,
    before: Annotated[int, Query(alias="from", ge=1)],
    after: Annotated[int | None, Query(alias="to", ge=1)] = None,
) -> Response:
    """Compare the prompts of two turns; the last one is meant when `to` is left out."""
    info = await find_thread(ship, thread_id)
    turns = read_snapshots(ship.layout, thread_of(info.thread_id))
    last = len(turns) if after is None else after
    if max(before, last) > len(turns):
        raise missing("such turn")
    found = compare(turns, before - 1, last - 1)
    total = turns[last - 1].bytes
    return Json(
        ContextDiff(
            from_=before,
            to=last,
            sections=[_describe_change(change) for change in found.changes],
            unchanged_bytes=total if found.breaks_at is None else found.breaks_at,
            total_bytes=total,
            breaks_in=found.breaks_in,
        )
    )


def _turns(
    turns: Sequence[Snapshot], history: Sequence[UIMessage], steps: Sequence[StepUsage]
) -> list[KnownTurn]:
    """Name each remembered turn by the words it answered, with what its first request cost."""
    first = {step.run_id: step for step in reversed(steps) if step.input_tokens}
    said: dict[str, str] = {}
    words = ""
    for message in history:
        if message["role"] == "user":
            words = text_of(message)
        else:
            said[message["id"]] = words
    return [
        KnownTurn(
            turn=number,
            at=turn.at,
            message_id=message_id_of(turn.run_id),
            text=said.get(message_id_of(turn.run_id), "")[:TURN_WORDS],
            broken_by=turn.broken_by,
            input_tokens=first[turn.run_id].input_tokens if turn.run_id in first else None,
            cached_tokens=first[turn.run_id].cache_read_tokens if turn.run_id in first else None,
        )
        for number, turn in enumerate(turns, 1)
    ]


def _describe_change(change: SectionChange) -> ChangeView:
    """Show one changed section; its lines are known only for turns under DEBUG, for prompts are not kept."""
    before = "" if change.kind == "added" else change.text_before
    after = "" if change.kind == "removed" else change.text_after
    is_known = before is not None and after is not None
    lines = unified_diff((before or "").splitlines(), (after or "").splitlines(), lineterm="", n=2)
    return ChangeView(
        name=change.name,
        change=change.kind,
        diff="\n".join(list(lines)[2:]) if is_known else "",
        bytes_before=change.bytes_before,
        bytes_after=change.bytes_after,
        is_known=is_known,
    )


async def _history(ship: Ship, info: ThreadInfo) -> list[UIMessage]:
    parsed = thread_of(info.thread_id)
    if not await ship.threads.exists(parsed):
        return []
    return (await ship.threads.read(parsed)).history()


def _build(
    equipment: Equipment, thread_id: str | None, history: list[UIMessage], profile: str | None
) -> Context:
    said = next((text_of(message) for message in reversed(history) if message["role"] == "user"), "")
    window = equipment.models.recall_window().tokens
    return equipment.context.build(
        ContextRequest(
            thread_id=thread_id,
            user_id=OWNER,
            platform=thread_of(thread_id).platform if thread_id else PLATFORM,
            model=equipment.models.default.name,
            tools=fit_tools(equipment.toolset.specs(), window),
            last_text=said,
            profile=profile,
            window=window,
        )
    )


def _show(
    equipment: Equipment, context: Context, history: list[UIMessage], turns: list[KnownTurn]
) -> ContextView:
    root = str(equipment.member.layout.root)
    tools = _tools(equipment.toolset)
    said = HistoryCost(
        messages=len(history),
        bytes=json_size(history) if history else 0,
        tokens=sum(estimate_tokens(text_of(message)) for message in history),
    )
    prompt = len(context.system.encode())
    return ContextView(
        profile=context.profile,
        member=equipment.member.id,
        sections=[_show_section(section, root) for section in context.sections],
        history=said,
        tools=tools,
        stable_bytes=context.stable_bytes,
        system_bytes=prompt,
        total_bytes=prompt + tools.bytes + said.bytes,
        total_tokens=context.tokens + said.tokens,
        turns=turns,
    )


def _show_section(section: Section, root: str) -> SectionView:
    return SectionView(
        name=section.name,
        title=section.title,
        text=section.text,
        source=hide_root(section.source, root),
        stability=section.stability,
        bytes=section.bytes,
        tokens=section.tokens,
        included=section.included,
        reason=hide_root(section.reason, root),
    )


def _tools(toolset: Toolset) -> ToolsCost:
    sizes = {spec.name: json_size(spec) for spec in toolset.specs()}
    items = [
        ToolCost(name=name, bytes=size, tokens=max(1, round(size / 3.6))) for name, size in sizes.items()
    ]
    return ToolsCost(
        count=len(items),
        bytes=sum(item.bytes for item in items),
        tokens=sum(item.tokens for item in items),
        items=items,
    )
