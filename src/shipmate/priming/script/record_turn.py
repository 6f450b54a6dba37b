"""Cut records into turns, and find the steps of a turn: the order in which a model is told them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shipmate.priming.script.record import Record

ROLES = {
    "human_text_record": "user",
    "tellask_carryover_record": "user",
    "teammate_response_record": "user",
    "agent_thought_record": "assistant",
    "agent_words_record": "assistant",
    "ui_only_markdown_record": "assistant",
    "runtime_guide_record": "assistant",
    "func_call_record": "assistant",
    "func_result_record": "assistant",
    "tellask_call_record": "assistant",
    "tellask_result_record": "assistant",
    "teammate_call_result_record": "assistant",
    "quest_for_sup_record": "assistant",
}
CALLS = frozenset({"func_call_record", "tellask_call_record"})
# Where each kind of result keeps the id and the name of its call.
RESULTS = {
    "func_result_record": ("id", "name"),
    "tellask_result_record": ("callId", "callName"),
    "teammate_call_result_record": ("callId", "callName"),
}
# What people are shown and models are not told.
NOTICES = frozenset({"ui_only_markdown_record", "quest_for_sup_record"})
# Stands where an answer broke off and the model was asked to go on from there: a step of its own.
RESUMED = "data-resumed"
_MESSAGE_ROLES = ("user", "assistant", "system")


def split_turns(records: Sequence[Record]) -> list[Sequence[Record]]:
    """Cut records into turns: the records that make one message."""
    return [records[start:end] for start, end in pairwise([*find_starts(records), len(records)])]


def find_starts(records: Sequence[Record]) -> list[int]:
    """Return where each turn begins.

    `uiMessage` always opens a turn and `uiJoined` never does. Else a person's record opens one, and so does a
    member's record after a person's. Markers stay with what stands before them, but `gen_start_record` goes
    with what it starts.
    """
    starts: list[int] = []
    role: str | None = None
    at = 0
    while at < len(records):
        end = at
        while end < len(records) - 1 and _is_free_start(records[end]):
            end += 1
        record = records[end]
        opens = _opens(record, role, bool(starts))
        if "uiMessage" in record.extra and end > at:
            # The generation starts before it belong to the turn that is open, if any is.
            starts += [] if starts else [at]
            starts.append(end)
        elif opens:
            starts.append(at)
        role = _opening_role(record) if opens else role or ROLES.get(record.type)
        at = end + 1
    return starts


def _is_free_start(record: Record) -> bool:
    return record.type == "gen_start_record" and "uiMessage" not in record.extra


def _opens(record: Record, role: str | None, is_open: bool) -> bool:
    if "uiMessage" in record.extra or not is_open:
        return True
    own = ROLES.get(record.type)
    if "uiJoined" in record.extra or own is None or role is None:
        return False
    return own == "user" or role != "assistant"


def _opening_role(record: Record) -> str | None:
    envelope = record.extra.get("uiMessage")
    return ROLES.get(record.type) if envelope is None else envelope["role"]


def usual_role(turn: Sequence[Record]) -> str:
    """Return the role of the message that records make when no `uiMessage` says otherwise."""
    return next((role for record in turn if (role := ROLES.get(record.type))), "assistant")


def role_of(turn: Sequence[Record]) -> str:
    """Return the role of the message that records make."""
    envelope = turn[0].extra.get("uiMessage")
    return usual_role(turn) if envelope is None else envelope["role"]


@dataclass(slots=True)
class TurnOrder:
    """Where the steps of a turn begin that no record marks, and which call each result belongs to."""

    steps: set[int] = field(default_factory=set[int])
    # The place of a result, and the place of its call.
    calls: dict[int, int] = field(default_factory=dict[int, int])


def order_turn(turn: Sequence[Record], role: str) -> TurnOrder:
    """Find the steps of a turn.

    A step ends where a generation or the answer to a call does: every change of `genseq` and whatever is said
    after a result opens one, unless a record marks it.
    """
    order = TurnOrder()
    if len(turn) == 1:
        return order
    step = _Step()
    open_calls: dict[str, list[int]] = {}
    for at, record in enumerate(turn):
        if record.type in RESULTS:
            call = _find_call(record, open_calls, step.start)
            if call is None:
                step = _go_on(step, at, record, role, order)
                step.is_told = step.is_answered = True
            else:
                order.calls[at] = call
                step.is_answered |= call >= step.start
            continue
        if not _makes_part(record, role):
            continue
        if _marks_step(record):
            step = _Step(at, record.genseq)
            continue
        step = _go_on(step, at, record, role, order)
        step.is_told |= _is_told(record)
        if record.type in CALLS:
            open_calls.setdefault(record.fields["id"], []).append(at)
    return order


@dataclass(slots=True)
class _Step:
    """One step of a turn: where it begins, and what it holds so far."""

    start: int = 0
    genseq: int | None = None
    is_told: bool = False
    is_answered: bool = False


def _go_on(step: _Step, at: int, record: Record, role: str, order: TurnOrder) -> _Step:
    """Return the step a record belongs to, noting in `order` when it opens one."""
    genseq = record.genseq
    if step.is_told and role == "assistant":
        is_other = genseq is not None and step.genseq is not None and genseq != step.genseq
        if is_other or (step.is_answered and record.type not in RESULTS and _is_told(record)):
            order.steps.add(at)
            return _Step(at, genseq)
    step.genseq = step.genseq if genseq is None else genseq
    return step


def _find_call(record: Record, open_calls: dict[str, list[int]], start: int) -> int | None:
    """Take the first open call of that id in the step, else the last one before it."""
    waiting = open_calls.get(record.fields[RESULTS[record.type][0]])
    if not waiting:
        return None
    place = next((at for at, call in enumerate(waiting) if call >= start), -1)
    return waiting.pop(place)


def _makes_part(record: Record, role: str) -> bool:
    if "uiRaw" in record.extra:
        return record.extra["uiRaw"] is not None
    return record.type in ROLES or (record.type == "gen_start_record" and role == "assistant")


def _marks_step(record: Record) -> bool:
    raw = record.extra.get("uiRaw")
    return record.type == "gen_start_record" or (isinstance(raw, dict) and raw.get("type") == RESUMED)


def _is_told(record: Record) -> bool:
    """Return whether a model is told what a record says."""
    raw = record.extra.get("uiRaw")
    if isinstance(raw, dict):
        return not str(raw.get("type")).startswith("data-")
    return record.type not in NOTICES


def is_failed(result: Record) -> bool:
    """Return whether a result tells of a failure."""
    return result.extra.get("uiResult") == "error" or result.fields.get("status") == "failed"


def find_misplaced(turn: Sequence[Record]) -> Iterator[tuple[Record, str, str]]:
    """Yield each record that would be told to a model as somebody else's, with the key at fault and why."""
    role = role_of(turn)
    if role not in _MESSAGE_ROLES:
        yield (
            turn[0],
            "uiMessage",
            f"a message of role {role!r} cannot be replayed; write user or assistant",
        )
        return
    for record in turn:
        own = ROLES.get(record.type)
        fits = own in (None, role) or record.type == "ui_only_markdown_record"
        if not fits and not (role == "system" and record.type == "runtime_guide_record"):
            key = "uiJoined" if "uiJoined" in record.extra else "uiMessage"
            yield (
                record,
                key,
                f"`{key}` makes this {record.type} part of a message of the {role}. Take `{key}` out",
            )
