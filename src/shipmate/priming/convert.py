"""Turn records into messages and messages into records, without loss either way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shipmate.errors import PrimingError
from shipmate.priming.part import opens_step, read_parts, write_part
from shipmate.priming.script.metadata import write_json
from shipmate.priming.script.record import Record
from shipmate.priming.script.record_rule import RULES, FieldError, check_record
from shipmate.priming.script.record_turn import (
    CALLS,
    RESULTS,
    find_misplaced,
    find_starts,
    split_turns,
    usual_role,
)
from shipmate.values.message import JsonObject, UIMessage, tool_name

TYPE = "data-priming"


def to_messages(records: Sequence[Record]) -> list[UIMessage]:
    """Return the messages that records make."""
    messages: list[UIMessage] = []
    genseq = 1
    for index, turn in enumerate(split_turns(records)):
        messages.append(_read_turn(turn, index, genseq))
        genseq = _next_genseq(turn, messages[-1]["role"], genseq)
    return messages


def to_records(messages: Sequence[UIMessage]) -> list[Record]:
    """Return records that make exactly these messages."""
    try:
        return _write_messages(messages)
    except (RecursionError, ValueError) as error:
        raise PrimingError(f"this thread cannot be written as a script: {error}") from error


def _write_messages(messages: Sequence[UIMessage]) -> list[Record]:
    plain: set[int] = set()
    for _ in range(3):
        turns = _write_turns(messages, plain)
        bounds = [0]
        for turn in turns:
            bounds.append(bounds[-1] + len(turn))
        records = [record for turn in turns for record in turn]
        wrong = set(find_starts(records)) ^ set(bounds[:-1])
        if not wrong:
            return records
        # Foreign records that would run together with their neighbours are written the explicit way.
        plain |= {
            index
            for index in range(len(turns))
            if any(bounds[max(index - 1, 0)] <= at <= bounds[index + 1] for at in wrong)
        }
    return [record for turn in _write_turns(messages, set(range(len(messages)))) for record in turn]


def _write_turns(messages: Sequence[UIMessage], plain: set[int]) -> list[list[Record]]:
    turns: list[list[Record]] = []
    genseq = 1
    for index, message in enumerate(messages):
        turn = None if index in plain else _restore_turn(message, index, genseq)
        turns.append(turn or _write_turn(message, genseq))
        genseq = _next_genseq(turns[-1], message["role"], genseq)
    return turns


def _read_turn(turn: Sequence[Record], index: int, genseq: int) -> UIMessage:
    """Make one message; what its parts cannot say goes into a residue at its end."""
    usual = _usual_envelope(turn, index)
    envelope = turn[0].extra.get("uiMessage")
    head: JsonObject = usual if envelope is None else envelope
    parts, places = read_parts(turn, head["role"])
    message: UIMessage = {**head, "parts": parts}  # pyright: ignore[reportAssignmentType]  (checked on reading)
    if envelope is not None and _write_turn(message, genseq) == list(turn):
        return message
    residue: JsonObject = {"records": make_residue(turn, parts, places, head["id"])}
    if envelope == usual:
        residue["isNamed"] = True
    message["parts"] = [*parts, {"type": TYPE, "data": residue}]
    return message


def _usual_envelope(turn: Sequence[Record], index: int) -> JsonObject:
    """Return the id and role of a message no `uiMessage` describes."""
    role = usual_role(turn)
    if role == "user":
        for record in turn:
            if record.type == "human_text_record":
                return {"id": record.fields["msgId"], "role": role}
    return {"id": f"priming-{index + 1}", "role": role}


def _restore_turn(message: UIMessage, index: int, genseq: int) -> list[Record] | None:
    """Return the foreign records a message was made from, when they still make exactly this message."""
    turn = _fill_turn(message, index)
    if turn is None or any(find_misplaced(turn)):
        return None
    return turn if _read_turn(turn, index, genseq) == message else None


def _fill_turn(message: UIMessage, index: int) -> list[Record] | None:
    """Return the foreign records a message's residue describes."""
    last = message["parts"][-1] if message["parts"] else {}
    data = last.get("data")
    if last.get("type") != TYPE or not isinstance(data, dict):
        return None
    try:
        turn = fill_residue(data.get("records"), message["parts"][:-1], message["id"])
    except UnfitError:
        return None
    envelope = _envelope(message)
    if data.get("isNamed") is True or envelope != _usual_envelope(turn, index):
        turn[0].extra = {"uiMessage": envelope, **turn[0].extra}
    return turn


def renew_residues(messages: Sequence[UIMessage]) -> list[UIMessage]:
    """Bring residues up to date after the ids or the metadata of messages were changed."""
    renewed: list[UIMessage] = []
    genseq = 1
    for index, message in enumerate(messages):
        turn = _fill_turn(message, index)
        again = None if turn is None else _read_turn(turn, index, genseq)
        fits = again is not None and again["parts"][: len(message["parts"]) - 1] == message["parts"][:-1]
        renewed.append(again if again is not None and fits else message)
        genseq = _next_genseq(turn or _write_turn(message, genseq), message["role"], genseq)
    return renewed


def _write_turn(message: UIMessage, genseq: int) -> list[Record]:
    """Write a message the explicit way: its first record names it, the others are held to it."""
    role = message["role"]
    records: list[Record] = []
    results: list[Record] = []
    calls: set[str] = set()
    for part in message["parts"]:
        if opens_step(part):
            records += results
            results, calls = [], set()
            genseq += part["type"] == "step-start" and bool(records)
        said, answers = write_part(part, role, message["id"], genseq, calls)
        records += said
        # All that a step says comes before what its calls came to, as the model was told it.
        results += answers
    records += results
    records = records or [
        Record("ui_only_markdown_record", {"genseq": genseq, "content": ""}, {"uiRaw": None})
    ]
    records[0].extra = {"uiMessage": _envelope(message), **records[0].extra}
    if role != "assistant":
        for record in records[1:]:
            record.extra["uiJoined"] = True
    return records


def _envelope(message: UIMessage) -> JsonObject:
    return {key: value for key, value in message.items() if key != "parts"}


def _next_genseq(turn: Sequence[Record], role: str, genseq: int) -> int:
    """Count generations: what a person says belongs to the generation that answers it."""
    last = next((found for record in reversed(turn) if (found := record.genseq) is not None), genseq)
    return last + 1 if role == "assistant" else last


class UnfitError(Exception):
    """That residue does not fit the message it stands in."""


def make_residue(
    turn: Sequence[Record], parts: Sequence[JsonObject], places: Sequence[int | None], message_id: str
) -> list[JsonObject]:
    """Describe the records of a turn, leaving out what its parts say."""
    entries: list[JsonObject] = []
    for record, place in zip(turn, places, strict=True):
        said = {} if place is None else _said(record.type, parts[place], message_id)
        # Sorted, because the order of metadata means nothing and may change on the way through a file.
        taken = sorted(
            key for key, value in record.fields.items() if key in said and _is_same(said[key], value)
        )
        rest = {key: value for key, value in record.fields.items() if key not in taken}
        extra = {key: value for key, value in record.extra.items() if key != "uiMessage"}
        entry: JsonObject = {
            "type": record.type,
            "part": place,
            "said": taken,
            "fields": rest,
            "extra": extra,
        }
        entries.append({key: value for key, value in entry.items() if value not in (None, [], {})})
    return entries


def fill_residue(entries: Any, parts: Sequence[JsonObject], message_id: str) -> list[Record]:
    """Return the records a residue describes; raise `UnfitError` when they cannot be had."""
    if not isinstance(entries, list) or not entries:
        raise UnfitError
    return [_fill(entry, parts, message_id) for entry in entries]


def _fill(entry: Any, parts: Sequence[JsonObject], message_id: str) -> Record:
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str) or entry["type"] not in RULES:
        raise UnfitError
    place, taken = entry.get("part"), entry.get("said", [])
    fields, extra = entry.get("fields", {}), entry.get("extra", {})
    if not (isinstance(taken, list) and isinstance(fields, dict) and isinstance(extra, dict)):
        raise UnfitError
    if place is not None and not (type(place) is int and 0 <= place < len(parts)):
        raise UnfitError
    said = {} if place is None else _said(entry["type"], parts[place], message_id)
    try:
        record = check_record(entry["type"], {**fields, **{key: said[key] for key in taken}, **extra})
    except (FieldError, KeyError, TypeError) as error:
        raise UnfitError from error
    return record


def _said(kind: str, part: JsonObject, message_id: str) -> JsonObject:
    """Return the fields a record of this type can take from its part."""
    body = RULES[kind].body
    if kind in CALLS:
        arguments = {"rawArgumentsText": "", "arguments": None}
        if "input" in part:
            arguments = {"rawArgumentsText": write_json(part["input"]), "arguments": part["input"]}
        return {"id": part.get("toolCallId"), "name": _tool_name(part), **arguments}
    if kind in RESULTS:
        id_field, name_field = RESULTS[kind]
        found = part.get("output", part.get("errorText"))
        return {id_field: part.get("toolCallId"), name_field: _tool_name(part), body or "": found}
    data = part.get("data")
    found = data.get("text") if isinstance(data, dict) else part.get("text")
    said: JsonObject = {body or "": found}
    return {**said, "msgId": message_id} if kind == "human_text_record" else said


def _tool_name(part: JsonObject) -> str:
    return tool_name(part) if isinstance(part.get("type"), str) else ""


def _is_same(left: Any, right: Any) -> bool:
    # Python holds 1, 1.0 and true to be equal; JSON does not.
    return left == right and json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
