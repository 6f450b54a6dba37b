"""Keep what a foreign record says beyond the parts it makes, in a `data-priming` part that ends the message.

Such a part is never sent to a model. Each entry names the part its record made and which fields that part
still says; everything else of the record stands in the entry.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shipmate.priming.part import CALLS, RESULTS
from shipmate.priming.script.metadata import write_json
from shipmate.priming.script.record import Record
from shipmate.priming.script.record_rule import RULES, FieldError, check_record
from shipmate.values.message import JsonObject, tool_name

TYPE = "data-priming"


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
