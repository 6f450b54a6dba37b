"""Know every record type, of the design document's time and of today, and check a record against its type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shipmate.priming.script.kind import (
    ARTIFACT,
    CONTENT_ITEMS,
    COUNT,
    COURSE,
    ENVELOPE,
    NAME,
    OBJECT,
    PART,
    REASONING,
    TEXT,
    TEXTS,
    TRUE,
    Kind,
    one_of,
    shape,
)
from shipmate.priming.script.near_key import find_near
from shipmate.priming.script.record import Record
from shipmate.priming.script.script_frontmatter import RESTRICTIONS
from shipmate.priming.script.ui_key import check_keys
from shipmate.values.message import JsonObject


def _check_nothing(_: JsonObject) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class RecordRule:
    """What one record type needs, may have, and which field its body fills."""

    body: str | None = None
    required: dict[str, Kind] = field(default_factory=dict[str, Kind])
    optional: dict[str, Kind] = field(default_factory=dict[str, Kind])
    has_genseq: bool = True
    # Gives a problem that concerns several fields, or "".
    check: Callable[[JsonObject], str] = _check_nothing


class FieldError(Exception):
    """A field that is wrong, and what to write instead."""

    def __init__(self, field: str, problem: str, rule: str = "field") -> None:
        super().__init__(problem)
        self.field = field
        self.rule = rule


REPLIES = ("replyTellask", "replyTellaskSessionless", "replyTellaskBack")
CARRIED = ("tellask", "tellaskSessionless", "tellaskBack", "freshBootsReasoning")
ASKED = (*CARRIED, "askHuman")
DISPOSITION = one_of(
    "fed_native",
    "fed_provider_transformed",
    "filtered_provider_unsupported",
    "filtered_model_unsupported",
    "filtered_mime_unsupported",
    "filtered_size_limit",
    "filtered_read_failed",
    "filtered_missing",
)
SOURCE_TAG = one_of("priming_script")


def _check_mentions(call_name: object, holder: JsonObject) -> str:
    """Say what a call of this name must also give."""
    if call_name in ("tellask", "tellaskSessionless") and not TEXTS.test(holder.get("mentionList")):
        return f"`mentionList` must be {TEXTS.want} for `{call_name}`"
    if call_name == "tellask" and not NAME.test(holder.get("sessionSlug")):
        return "`sessionSlug` must be a text that is not blank for `tellask`"
    return ""


def _check_asked(fields: JsonObject) -> str:
    return _check_mentions(fields["callName"], fields["call"])


def _check_carried(fields: JsonObject) -> str:
    return _check_mentions(fields["callName"], fields)


def _check_anchor(fields: JsonObject) -> str:
    """Hold the asker's place to response anchors, where it is needed."""
    given = [key for key in ("askerDialogId", "askerCourse") if key in fields]
    if fields["anchorRole"] == "response" and len(given) < 2:
        return "a response anchor needs `askerDialogId` and `askerCourse`"
    if fields["anchorRole"] == "assignment" and given:
        return f"an assignment anchor may not have `{given[0]}`"
    return ""


def _check_callee(fields: JsonObject) -> str:
    if ("calleeCourse" in fields) != ("calleeGenseq" in fields):
        return "`calleeCourse` and `calleeGenseq` must be given together, or neither"
    return ""


def _check_arguments(fields: JsonObject) -> str:
    if "rawArgumentsText" in fields or "arguments" in fields:
        return ""
    return 'give the arguments as "rawArgumentsText": a text of JSON, or as "arguments": an object'


_WORDS = RecordRule("content")
_ANCHOR = {"anchorRole": one_of("assignment", "response"), "callId": NAME}
_ASSIGNMENT = {"assignmentCourse": COURSE, "assignmentGenseq": COUNT}
_CALLEE = {"calleeDialogId": TEXT, "calleeCourse": COURSE, "calleeGenseq": COUNT}
_INGEST = {"artifact": ARTIFACT, "provider": TEXT, "model": TEXT, "disposition": DISPOSITION, "message": TEXT}
_ACTION = shape(
    {"type": one_of("search", "open_page", "find_in_page")},
    {"query": TEXT, "url": TEXT, "pattern": TEXT},
    "{type: search|open_page|find_in_page, query?, url?, pattern?}",
)
_WEB_SEARCH: dict[str, Kind] = {
    "itemId": NAME,
    "source": one_of("codex", "openai_responses"),
    "status": TEXT,
    "action": _ACTION,
}

RULES: dict[str, RecordRule] = {
    "human_text_record": RecordRule(
        "content",
        {"msgId": NAME},
        {
            "grammar": one_of("markdown"),
            "userLanguageCode": one_of("en", "zh"),
            "q4hAnswerCallId": TEXT,
            "q4hAnswerCallIds": TEXTS,
            "tellaskReplyDirective": OBJECT,
            "contentItems": CONTENT_ITEMS,
        },
    ),
    "agent_thought_record": RecordRule("content", {}, {"reasoning": REASONING, "provider_data": OBJECT}),
    "agent_words_record": _WORDS,
    "ui_only_markdown_record": _WORDS,
    "runtime_guide_record": _WORDS,
    "func_call_record": RecordRule(
        None,
        {"id": NAME, "name": NAME},
        {"rawArgumentsText": TEXT, "arguments": OBJECT},
        check=_check_arguments,
    ),
    "func_result_record": RecordRule("content", {"id": NAME, "name": NAME}, {"contentItems": CONTENT_ITEMS}),
    "web_search_call_record": RecordRule(None, {"phase": one_of("added", "done")}, _WEB_SEARCH),
    "gen_start_record": RecordRule(),
    "gen_finish_record": RecordRule(None, {}, {"contextHealth": OBJECT, "llmGenModel": TEXT}),
    "tool_result_image_ingest_record": RecordRule(
        None, {"toolCallId": NAME, "toolName": NAME, **_INGEST}, {"detail": TEXT}
    ),
    "user_image_ingest_record": RecordRule(None, _INGEST, {"msgId": TEXT, "detail": TEXT}),
    # Teammate records of today.
    "tellask_call_record": RecordRule(
        None,
        {
            "id": NAME,
            "name": one_of(*ASKED, *REPLIES),
            "rawArgumentsText": TEXT,
            "deliveryMode": one_of("tellask_call_start", "func_call_requested"),
        },
    ),
    "tellask_result_record": RecordRule(
        "content",
        {
            "callId": NAME,
            "callName": one_of(*ASKED),
            "status": one_of("pending", "completed", "failed"),
            "call": shape({"tellaskContent": TEXT}, {}, "{tellaskContent, mentionList?, sessionSlug?}"),
            "responder": shape(
                {"responderId": TEXT}, {"agentId": TEXT, "originMemberId": TEXT}, "{responderId, agentId?}"
            ),
        },
        {
            "callSiteCourse": COURSE,
            "callSiteGenseq": COUNT,
            "route": shape({}, dict(_CALLEE), "{calleeDialogId, calleeCourse, calleeGenseq}"),
            "contentItems": CONTENT_ITEMS,
        },
        has_genseq=False,
        check=_check_asked,
    ),
    "tellask_carryover_record": RecordRule(
        "response",
        {
            "callSiteCourse": COURSE,
            "carryoverCourse": COURSE,
            "responderId": TEXT,
            "callName": one_of(*CARRIED),
            "tellaskContent": TEXT,
            "status": one_of("completed", "failed"),
            "content": TEXT,
            "agentId": TEXT,
            "callId": TEXT,
            "originMemberId": TEXT,
        },
        {**_CALLEE, "mentionList": TEXTS, "sessionSlug": TEXT, "contentItems": CONTENT_ITEMS},
        check=_check_carried,
    ),
    "tellask_anchor_record": RecordRule(
        None,
        {**_ANCHOR, "rootCourse": COURSE, "rootGenseq": COUNT},
        {**_ASSIGNMENT, "askerDialogId": TEXT, "askerCourse": COURSE},
        check=_check_anchor,
    ),
    "tellask_callee_record": RecordRule(
        None,
        {"rootCourse": COURSE, "rootGenseq": COUNT, "callId": NAME, "calleeDialogId": NAME},
        {"calleeCourse": COURSE, "calleeGenseq": COUNT},
        check=_check_callee,
    ),
    "tellask_reply_resolution_record": RecordRule(
        None, {"callId": NAME, "replyCallName": one_of(*REPLIES), "targetCallId": NAME}
    ),
    # Teammate records of the design document's time.
    "quest_for_sup_record": RecordRule("tellaskContent", {"subDialogId": NAME}, {"mentionList": TEXTS}),
    "teammate_call_result_record": RecordRule(
        "result",
        {
            "responderId": TEXT,
            "callName": one_of(*ASKED),
            "tellaskContent": TEXT,
            "status": one_of("completed", "failed"),
            "callId": TEXT,
        },
        {"genseq": COUNT, "calling_genseq": COUNT, "mentionList": TEXTS, "sessionSlug": TEXT},
        has_genseq=False,
    ),
    "teammate_call_anchor_record": RecordRule(
        None,
        _ANCHOR,
        {**_ASSIGNMENT, "callerDialogId": TEXT, "callerCourse": COURSE},
    ),
    "teammate_response_record": RecordRule(
        "response",
        {
            "responderId": TEXT,
            "callName": one_of(*CARRIED),
            "tellaskContent": TEXT,
            "status": one_of("completed", "failed"),
            "agentId": TEXT,
            "callId": TEXT,
        },
        {
            **_CALLEE,
            "genseq": COUNT,
            "calling_genseq": COUNT,
            "mentionList": TEXTS,
            "sessionSlug": TEXT,
            "originMemberId": TEXT,
        },
        has_genseq=False,
    ),
}

# What our own export adds so that a thread comes back whole; the origin's reader skips keys it does not know.
EXTRAS: dict[str, Kind] = {
    "uiMessage": ENVELOPE,
    "uiPart": OBJECT,
    "uiRaw": PART,
    "uiJoined": TRUE,
    "uiResult": one_of("json", "error"),
}


def _merge(rule: RecordRule) -> dict[str, Kind]:
    body = {rule.body: TEXT} if rule.body is not None else {}
    genseq = {"genseq": COUNT} if rule.has_genseq else {}
    return {**genseq, **rule.required, **rule.optional, "sourceTag": SOURCE_TAG, **body}


_KNOWN = {kind: _merge(rule) for kind, rule in RULES.items()}
_EVERY = frozenset(name for known in _KNOWN.values() for name in known)
# What stands beside the fields of any record: our own keys, the exact text, and what a rehearsal expects.
BESIDE = frozenset({*EXTRAS, "exactBody", "expect"})
_NEEDED = {kind: [*(["genseq"] if rule.has_genseq else []), *rule.required] for kind, rule in RULES.items()}


def check_record(kind: str, values: JsonObject, line: int = 0) -> Record:
    """Sort values into known fields and the rest; raise `FieldError` for the first that does not fit."""
    known = _KNOWN[kind]
    for name in values:
        if name not in _EVERY and name not in BESIDE and (near := find_near(name, (*known, *BESIDE))):
            raise FieldError(name, f"there is no `{name}`. Write `{near}`", "key")
        if name not in _EVERY and find_near(name, RESTRICTIONS):
            problem = f"`{name}` counts in the frontmatter of the file only. Write `{RESTRICTIONS[0]}` there"
            raise FieldError(name, problem)
    for name in _NEEDED[kind]:
        if name not in values:
            raise FieldError("", f"`{name}` is missing. Write `{name}: ` and {known[name].want}", "missing")
    fields: JsonObject = {}
    extra: JsonObject = {}
    for name, value in values.items():
        wanted = known.get(name)
        if wanted is not None:
            fields[name] = _check(name, value, wanted)
        else:
            extra[name] = _check(name, value, EXTRAS[name]) if name in EXTRAS else value
    if kind == "human_text_record":
        fields.setdefault("grammar", "markdown")
    if problem := RULES[kind].check(fields):
        raise FieldError("", problem)
    key, problem = check_keys(kind, fields, extra)
    if problem:
        raise FieldError(key, problem, "contradiction")
    return Record(kind, fields, extra, line)


def is_known(kind: str, name: str) -> bool:
    """Return whether a record of this type has a key."""
    return name in _KNOWN[kind] or name in BESIDE


def _check(name: str, value: Any, wanted: Kind) -> Any:
    if wanted.test(value):
        return value
    if isinstance(value, float) and value.is_integer() and wanted in (COUNT, COURSE) and value >= 0:
        # The origin knows one kind of number: 1.0 is 1 there.
        return _check(name, int(value), wanted)
    raise FieldError(name, f"`{name}` must be {wanted.want}")
