"""Find calls without results, results without calls, and ids that two of them share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shipmate.priming.lint.lint_mark import Mark
from shipmate.priming.script.record import Record
from shipmate.priming.script.record_turn import CALLS, RESULTS, order_turn, role_of, split_turns

# A call that people refused has no result, and needs none.
_DENIED = "output-denied"
_OPEN = "Write its result below it, or take the call out"


def pair_records(records: Sequence[Record]) -> dict[int, int]:
    """Return the place of each result that has a call, and the place of that call."""
    pairs: dict[int, int] = {}
    start = 0
    for turn in split_turns(records):
        calls = order_turn(turn, role_of(turn)).calls
        pairs |= {start + result: start + call for result, call in calls.items()}
        start += len(turn)
    return pairs


def find_unpaired(numbered: Mapping[int, Record]) -> Iterator[Mark]:
    """Yield calls and results that stand alone or do not fit each other."""
    numbers, records = list(numbered), list(numbered.values())
    pairs = pair_records(records)
    answered = set(pairs.values())
    called = {record.fields["id"] for record in records if record.type in CALLS}
    for at, record in enumerate(records):
        if record.type in CALLS and at not in answered:
            if (state := _state_of(record)) is None:
                yield _mark_call(record, numbers[at])
            elif state != _DENIED:
                reason = (
                    f"the call {record.fields['id']!r:.80} was still open; a model is told that it failed"
                )
                yield _mark(record, numbers[at], "open", reason, _OPEN, is_error=False)
        elif record.type in RESULTS and at not in pairs:
            yield _mark_result(record, numbers[at], called)
        elif record.type in RESULTS and (wrong := _compare_names(record, records[pairs[at]])):
            reason, mend = wrong, "Write the same name in both"
            yield _mark(record, numbers[at], "name", reason, mend, is_error=False)


def _state_of(record: Record) -> str | None:
    """Return the state that a call without a result says it is in."""
    besides = record.extra.get("uiPart")
    return besides.get("state") if isinstance(besides, dict) else None


def _mark_call(record: Record, number: int) -> Mark:
    call_id = record.fields["id"]
    return _mark(
        record,
        number,
        "call",
        f"the call {call_id!r:.80} has no result; a model is told that it failed",
        f"Write a `### record func_result_record` with `id: {call_id:.80}` below it, before others speak",
    )


def _mark_result(record: Record, number: int, called: set[str]) -> Mark:
    call_id = record.fields[RESULTS[record.type][0]]
    mend = f"Write the call above it: a `### record func_call_record` with the id {call_id!r:.80}"
    if call_id in called:
        mend = "Move it below its call, before anybody else speaks and before another result of that id"
    reason = f"the result {call_id!r:.80} answers no call; a model is told of one without arguments"
    return _mark(record, number, "result", reason, mend)


def _compare_names(result: Record, call: Record) -> str:
    name = result.fields[RESULTS[result.type][1]]
    if name == call.fields["name"]:
        return ""
    return f"the result says it is of {name!r:.80}, its call that it is of {call.fields['name']!r:.80}"


def find_shared(numbered: Mapping[int, Record]) -> Iterator[Mark]:
    """Yield ids that were given before."""
    calls: set[str] = set()
    messages: set[str] = set()
    for number, record in numbered.items():
        if record.type in CALLS:
            if (call_id := record.fields["id"]) in calls:
                reason = f"another call has the id {call_id!r:.80} already"
                yield _mark(
                    record, number, "shared-call", reason, "Give each call, and its result, an id of its own"
                )
            calls.add(call_id)
        if record.type == "human_text_record" and "uiJoined" not in record.extra:
            if (message_id := record.fields["msgId"]) in messages:
                reason = f"another message has the msgId {message_id!r:.80} already"
                yield _mark(record, number, "shared-message", reason, "Give each message a msgId of its own")
            messages.add(message_id)


def _mark(record: Record, number: int, rule: str, reason: str, mend: str, *, is_error: bool = True) -> Mark:
    level = "error" if is_error else "warning"
    return Mark(line=record.line, record=number, level=level, rule=rule, reason=reason, mend=mend)
