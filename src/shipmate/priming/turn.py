"""Group records into turns: the records that make one message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shipmate.priming.script.record import Record

_ROLES = {
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


def split_turns(records: Sequence[Record]) -> list[Sequence[Record]]:
    """Cut records into turns."""
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
        role = _opening_role(record) if opens else role or _ROLES.get(record.type)
        at = end + 1
    return starts


def _is_free_start(record: Record) -> bool:
    return record.type == "gen_start_record" and "uiMessage" not in record.extra


def _opens(record: Record, role: str | None, is_open: bool) -> bool:
    if "uiMessage" in record.extra or not is_open:
        return True
    own = _ROLES.get(record.type)
    if "uiJoined" in record.extra or own is None or role is None:
        return False
    return own == "user" or role != "assistant"


def _opening_role(record: Record) -> str | None:
    envelope = record.extra.get("uiMessage")
    return _ROLES.get(record.type) if envelope is None else envelope["role"]


def usual_role(turn: Sequence[Record]) -> str:
    """Return the role of the message that records make when no `uiMessage` says otherwise."""
    return next((role for record in turn if (role := _ROLES.get(record.type))), "assistant")
