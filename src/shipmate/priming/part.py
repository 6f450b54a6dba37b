"""Turn the parts of a message into records and back.

A record says what people and models read; what a part holds besides goes into `uiPart`. A part no record can
say is kept whole in `uiRaw`, under a line that describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from shipmate.priming.script.kind import NAME
from shipmate.priming.script.metadata import write_json
from shipmate.priming.script.record import Record
from shipmate.priming.script.record_rule import RULES
from shipmate.priming.script.record_turn import CALLS, NOTICES, RESULTS, RESUMED, is_failed, order_turn
from shipmate.priming.script.ui_key import check_keys, check_state, describe
from shipmate.values.message import JsonObject, is_tool, tool_name
from shipmate.workspace.json import read_json

_TEXTS = frozenset(
    {
        "human_text_record",
        "agent_words_record",
        "runtime_guide_record",
        "tellask_carryover_record",
        "teammate_response_record",
    }
)
_TEXT_TYPES = {"user": "human_text_record", "assistant": "agent_words_record"}
_DONE: JsonObject = {"state": "done"}


@dataclass(slots=True)
class PartDraft:
    """A part while its records are read: what they say, and what the part holds besides."""

    said: JsonObject
    usual: JsonObject
    besides: JsonObject | None

    def finish(self) -> JsonObject:
        return {**self.said, **(self.usual if self.besides is None else self.besides)}


def read_parts(turn: Sequence[Record], role: str) -> tuple[list[JsonObject], list[int | None]]:
    """Return the parts that records make, and for each record the place of its part."""
    order = order_turn(turn, role)
    drafts: list[PartDraft] = []
    places: list[int | None] = []
    for at, record in enumerate(turn):
        if at in order.steps:
            drafts.append(PartDraft({"type": "step-start"}, {}, None))
        if record.type in RESULTS:
            place = _read_result(record, drafts, places[order.calls[at]] if at in order.calls else None)
        else:
            draft = _read_draft(record, role)
            place = None if draft is None else len(drafts)
            drafts += [] if draft is None else [draft]
        places.append(place)
        drafts += [PartDraft(image, {}, None) for image in _read_images(record)]
    return [draft.finish() for draft in drafts], places


def _read_draft(record: Record, role: str) -> PartDraft | None:
    body = record.fields.get(RULES[record.type].body or "")
    besides = record.extra.get("uiPart")
    if "uiRaw" in record.extra:
        raw = record.extra["uiRaw"]
        return None if raw is None else PartDraft(raw, {}, None)
    if record.type in _TEXTS:
        return PartDraft({"type": "text", "text": body}, _usual_text(role), besides)
    if record.type == "agent_thought_record":
        return PartDraft({"type": "reasoning", "text": body}, _DONE, besides)
    if record.type in NOTICES:
        return PartDraft({"type": "data-notice", "data": {"text": body}}, {}, besides)
    if record.type in CALLS:
        said = {
            "type": f"tool-{record.fields['name']}",
            "toolCallId": record.fields["id"],
            **_read_input(record),
        }
        return PartDraft(said, {"state": "input-available"}, besides)
    if record.type == "gen_start_record" and role == "assistant":
        return PartDraft({"type": "step-start"}, {}, besides)
    return None


def _usual_text(role: str) -> JsonObject:
    return _DONE if role == "assistant" else {}


def _read_input(record: Record) -> JsonObject:
    if "arguments" in record.fields:
        return {"input": record.fields["arguments"]}
    text: str = record.fields["rawArgumentsText"]
    try:
        return {"input": read_json(text)} if text else {}
    except ValueError:
        # The model wrote no JSON; its words are what was tried.
        return {"input": text}


def _read_result(record: Record, drafts: list[PartDraft], place: int | None) -> int:
    """Settle the call at a place, or make a settled call for a result that has none."""
    id_field, name_field = RESULTS[record.type]
    if place is None:
        place = len(drafts)
        said = {
            "type": f"tool-{record.fields[name_field]}",
            "toolCallId": record.fields[id_field],
            "input": {},
        }
        drafts.append(PartDraft(said, {}, None))
    values, state = _read_outcome(record)
    drafts[place].said |= values
    drafts[place].usual = {"state": state}
    return place


def _read_outcome(record: Record) -> tuple[JsonObject, str]:
    body: str = record.fields[RULES[record.type].body or ""]
    if is_failed(record):
        return {"errorText": body}, "output-error"
    if record.extra.get("uiResult") == "json":
        try:
            return {"output": read_json(body)}, "output-available"
        except ValueError:
            # Someone edited the text; it stands as they wrote it.
            return {"output": body}, "output-available"
    return {"output": body}, "output-available"


def _read_images(record: Record) -> list[JsonObject]:
    """Show the images a record names; their bytes lie with the origin, so no model can be given them."""
    items: list[JsonObject] = record.fields.get("contentItems") or []
    images = [item for item in items if item["type"] == "input_image"]
    return [{"type": "data-image", "data": {k: v for k, v in item.items() if k != "type"}} for item in images]


def opens_step(part: JsonObject) -> bool:
    """Return whether a model is told what a part and those after it say only after the results before it."""
    return part.get("type") in ("step-start", RESUMED)


Written: TypeAlias = tuple[list[Record], list[Record]]


def write_part(part: JsonObject, role: str, message_id: str, genseq: int, calls: set[str]) -> Written:
    """Return the records of one part, and those of what it came to.

    `read_parts` turns them back into exactly that part. `calls` are the ids of the calls of its step.
    """
    kind = part.get("type")
    text = part.get("text")
    if kind == "text" and isinstance(text, str):
        fields: JsonObject = {"genseq": genseq}
        record_type = _TEXT_TYPES.get(role, "runtime_guide_record")
        if role == "user":
            fields |= {"msgId": message_id if NAME.test(message_id) else "-", "grammar": "markdown"}
        fields["content"] = text
        return [Record(record_type, fields, _besides(part, ("type", "text"), _usual_text(role)))], []
    if kind == "reasoning" and isinstance(text, str) and role == "assistant":
        besides = _besides(part, ("type", "text"), _DONE)
        return [Record("agent_thought_record", {"genseq": genseq, "content": text}, besides)], []
    if kind == "step-start" and role == "assistant":
        return [Record("gen_start_record", {"genseq": genseq}, _besides(part, ("type",), {}))], []
    if kind == "data-notice" and _is_notice(part.get("data")):
        fields = {"genseq": genseq, "content": part["data"]["text"]}
        return [Record("ui_only_markdown_record", fields, _besides(part, ("type", "data"), {}))], []
    if role == "assistant" and is_tool(part) and NAME.test(part["toolCallId"]) and NAME.test(tool_name(part)):
        written = None if part["toolCallId"] in calls else _write_call(part, genseq)
        calls.add(part["toolCallId"])
        if written is not None:
            return written
    fields = {"genseq": genseq, "content": describe(part)}
    return [Record("ui_only_markdown_record", fields, {"uiRaw": part})], []


def _write_call(part: JsonObject, genseq: int) -> Written | None:
    """Write a call and its result; None when they would not say what a model is told of it."""
    call_id, name = part["toolCallId"], tool_name(part)
    said = ["toolCallId"] if part["type"] == "dynamic-tool" else ["type", "toolCallId"]
    arguments = ""
    if "input" in part:
        said.append("input")
        arguments = write_json(part["input"])
    result, state = _write_result(part, {"genseq": genseq, "id": call_id, "name": name})
    said += ["errorText" if state == "output-error" else "output"] if result else []
    fields: JsonObject = {"genseq": genseq, "id": call_id, "name": name, "rawArgumentsText": arguments}
    # A call that is still open says so itself; without a result it would look forgotten.
    call = Record("func_call_record", fields, _besides(part, said, {"state": state} if result else {}))
    failed = is_failed(result[0]) if result else None
    if check_keys(call.type, fields, call.extra)[1] or check_state(call.extra.get("uiPart"), failed):
        return None
    return [call], result


def _write_result(part: JsonObject, fields: JsonObject) -> tuple[list[Record], str]:
    if "output" in part:
        is_text = isinstance(part["output"], str)
        fields["content"] = part["output"] if is_text else write_json(part["output"])
        record = Record("func_result_record", fields, {} if is_text else {"uiResult": "json"})
        return [record], "output-available"
    if isinstance(part.get("errorText"), str):
        fields["content"] = part["errorText"]
        return [Record("func_result_record", fields, {"uiResult": "error"})], "output-error"
    return [], "input-available"


def _besides(part: JsonObject, said: Sequence[str], usual: JsonObject) -> JsonObject:
    """Return what a part holds besides what its record says, unless that is the usual."""
    besides = {key: value for key, value in part.items() if key not in said}
    return {} if besides == usual else {"uiPart": besides}


def _is_notice(data: Any) -> bool:
    return isinstance(data, dict) and len(data) == 1 and isinstance(data.get("text"), str)
