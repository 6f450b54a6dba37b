"""Hold `uiPart` and `uiRaw` to what their record says: nobody is shown one thing and a model told another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from shipmate.priming.script.metadata import write_json
from shipmate.priming.script.record import Record
from shipmate.priming.script.record_turn import (
    CALLS,
    NOTICES,
    RESULTS,
    ROLES,
    find_misplaced,
    is_failed,
    order_turn,
    role_of,
    split_turns,
)
from shipmate.values.message import SETTLED_STATES, JsonObject

LINKED = frozenset({"file", "source-url", "source-document"})
_LINK_LIMIT = 200
# What the record says itself, and so no `uiPart` may.
_TEXT_KEYS = ("type", "text")
_NOTICE_KEYS = ("type", "data")
_CALL_KEYS = ("toolCallId", "input", "output", "errorText")
_STATES = SETTLED_STATES | {
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
}
# What clients read of each part without asking whether it is there.
_SHOWN: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "reasoning": ("text",),
    "file": ("url", "mediaType"),
    "source-url": ("url", "sourceId"),
    "source-document": ("title", "sourceId", "mediaType"),
    "step-start": (),
    "dynamic-tool": ("toolName", "toolCallId", "state"),
}
_SHOWN_DATA = {"data-notice": ("text",), "data-error": ("message",)}
_UNTOLD = "leave it out: the model is told what the record says"


def describe(part: JsonObject) -> str:
    """Say in a line what a part is that no record can carry; whole, where a model may be told it."""
    kind = part.get("type")
    if kind not in LINKED and not _is_data(kind):
        return write_json(part)
    url = part.get("url")
    label = str(part.get("title") or part.get("filename") or part.get("mediaType") or kind)[:_LINK_LIMIT]
    if isinstance(url, str) and len(url) <= _LINK_LIMIT:
        return f"{'!' if str(part.get('mediaType')).startswith('image/') else ''}[{label}]({url})"
    return f"[{label}]"


def _is_data(kind: Any) -> bool:
    return isinstance(kind, str) and kind.startswith("data-")


def is_showable(part: Any) -> bool:
    """Return whether clients can show a part, or know to pass it over."""
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        return False
    if kind in _SHOWN:
        return all(isinstance(part.get(key), str) for key in _SHOWN[kind])
    if kind.startswith("tool-"):
        return isinstance(part.get("toolCallId"), str) and part.get("state") in _STATES
    if not _is_data(kind):
        return False
    data = part.get("data")
    return isinstance(data, dict) and all(isinstance(data.get(key), str) for key in _SHOWN_DATA.get(kind, ()))


def check_keys(kind: str, fields: JsonObject, extra: JsonObject) -> tuple[str, str]:
    """Return the key that contradicts its record and what is wrong with it; two "" when none does."""
    if "uiRaw" in extra:
        return "uiRaw", _check_raw(kind, fields, extra["uiRaw"])
    besides = extra.get("uiPart")
    if besides is None:
        return "", ""
    if kind in CALLS:
        return "uiPart", _check_call(fields, besides)
    told = _NOTICE_KEYS if kind in NOTICES else ("type",) if kind == "gen_start_record" else _TEXT_KEYS
    if kind in RESULTS or (kind not in ROLES and kind != "gen_start_record"):
        return "uiPart", f"a {kind} has no `uiPart`; take it out"
    return "uiPart", _refuse(besides, told)


def _check_raw(kind: str, fields: JsonObject, raw: Any) -> str:
    if kind != "ui_only_markdown_record":
        return f"`uiRaw` replaces what a {kind} says. Take it out; only a ui_only_markdown_record may have it"
    wanted = "" if raw is None else describe(raw)
    # No model is told a data part, so people may write above it what they like.
    if fields["content"] != wanted and not (raw and _is_data(raw.get("type"))):
        return f"`uiRaw` is not what the text says. Write {wanted!r:.300} as the text, or take `uiRaw` out"
    return ""


def _check_call(fields: JsonObject, besides: JsonObject) -> str:
    if problem := _refuse(besides, _CALL_KEYS):
        return problem
    if fields.get("rawArgumentsText") == "" and "rawInput" in besides:
        return f"`uiPart` may not hold `rawInput`; {_UNTOLD}"
    named = besides.get("type"), besides.get("toolName", fields["name"])
    if named == (None, fields["name"]) and "toolName" not in besides and "type" not in besides:
        return ""
    if named == ("dynamic-tool", fields["name"]) and "toolName" in besides:
        return ""
    return "`uiPart` names another tool than the record. Take `type` and `toolName` out"


def _refuse(besides: JsonObject, told: tuple[str, ...]) -> str:
    wrong = next((key for key in told if key in besides), "")
    return f"`uiPart` may not hold `{wrong}`; {_UNTOLD}" if wrong else ""


def check_state(besides: Any, is_failed: bool | None) -> str:
    """Say what is wrong with the state of a call whose result is a failure or not; None when it has none."""
    if not isinstance(besides, dict) or "state" not in besides:
        return ""
    state = besides["state"]
    if is_failed is None:
        fits = state in _STATES and state not in ("output-available", "output-error")
        return "" if fits else f"`uiPart` says {state!r}, and there is no result. Take `state` out"
    wanted = "output-error" if is_failed else "output-available"
    return "" if state == wanted else f"`uiPart` says {state!r} of a call with a result. Write {wanted!r}"


class Contradiction(NamedTuple):
    """A record whose keys say something else than the records around it, and what to do."""

    record: Record
    key: str
    problem: str


def find_contradictions(records: Sequence[Record]) -> Iterator[Contradiction]:
    """Yield what only shows when the records of a turn are seen together."""
    if not any(key in record.extra for record in records for key in ("uiMessage", "uiJoined", "uiPart")):
        return
    for turn in split_turns(records):
        misplaced = [Contradiction(*found) for found in find_misplaced(turn)]
        yield from misplaced
        if not misplaced and any("uiPart" in record.extra for record in turn):
            yield from _find_states(turn)


def _find_states(turn: Sequence[Record]) -> Iterator[Contradiction]:
    calls = order_turn(turn, role_of(turn)).calls
    failed = {call: is_failed(turn[result]) for result, call in calls.items()}
    for at, record in enumerate(turn):
        if record.type in CALLS and (problem := check_state(record.extra.get("uiPart"), failed.get(at))):
            yield Contradiction(record, "uiPart", problem)
