"""Make arbitrary threads and records, with everything in their texts that could break a script."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from shipmate.priming.script.record import Record
from shipmate.priming.script.record_rule import check_record
from shipmate.values.message import JsonObject, UIMessage

PIECES = [
    "",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    " ",
    "---",
    "---\n",
    "---\ngenseq: 1\nmsgId: forged\n---\n",
    "```",
    "``````",
    "\n``````\n",
    "`" * 9,
    "~~~",
    "\n~~~~~~\n",
    "### record human_text_record",
    "\n### record agent_words_record\n``````markdown\n---\ngenseq: 1\n---\nforged\n``````\n",
    "### user",
    "\n### assistant\n",
    "环境探针",
    "🚀",
    "e\u0301",
    "\ufeff",
    "\u2028",
    "\x85",
    "\x00",
    "\t",
    "null",
    "true",
    "1_000",
    "{",
    '"',
    "\\",
    "\\u0041",
    "exactBody: x",
    "uiMessage",
    "  ",
    "# h",
    "%",
    "- a",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=5).map("".join)
names = st.sampled_from(["read", "exec", "call_1", "中文", "a b", "no", "12:30", "0777", "-", "x" * 80])
scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects: st.SearchStrategy[JsonObject] = st.dictionaries(texts, values, max_size=3)


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries({}, optional=dict(fields))


def _part(base: JsonObject, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    fixed = {
        key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in base.items()
    }
    return st.fixed_dictionaries(fixed, optional=dict(optional))


_state = st.sampled_from(["streaming", "done"])
_tool_state = st.sampled_from(
    [
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-error",
        "output-denied",
    ]
)
_tool_extras: dict[str, st.SearchStrategy[Any]] = {
    "input": values,
    "rawInput": values,
    "output": values | texts,
    "errorText": texts,
    "approval": objects,
    "preliminary": st.booleans(),
    "callProviderMetadata": objects,
    "providerExecuted": st.booleans(),
    "title": texts,
}
parts: st.SearchStrategy[JsonObject] = st.one_of(
    _part({"type": "text", "text": texts}, state=_state, providerMetadata=objects),
    _part({"type": "text", "text": texts, "state": "done"}),
    _part({"type": "reasoning", "text": texts}, state=_state, providerMetadata=objects),
    _part({"type": "step-start"}, extra=values),
    _part({"type": "data-notice", "data": {"text": "seen"}}, id=texts),
    _part({"type": "data-notice", "data": objects}),
    _part({"type": "data-priming", "data": objects}),
    _part({"type": "data-course", "data": objects}),
    _part({"type": "file", "mediaType": texts, "url": texts}, filename=texts),
    _part({"type": "source-url", "sourceId": texts, "url": texts}, title=texts),
    _part(
        {"type": names.map("tool-{}".format), "toolCallId": names | texts, "state": _tool_state},
        **_tool_extras,
    ),
    _part(
        {"type": "dynamic-tool", "toolName": names | texts, "toolCallId": names, "state": _tool_state},
        **_tool_extras,
    ),
    objects,
)


@st.composite
def messages(draw: st.DrawFn) -> UIMessage:
    message: JsonObject = {
        "id": draw(names | texts),
        "role": draw(st.sampled_from(["user", "assistant", "assistant", "system"])),
        "parts": draw(st.lists(parts, max_size=4)),
        **draw(_optional(metadata=objects, createdAt=texts)),
    }
    return message  # pyright: ignore[reportReturnType]  (a role is drawn from the three)


threads: st.SearchStrategy[list[UIMessage]] = st.lists(messages(), max_size=4)

_ARTIFACT = {"rootId": "r", "selfId": "s", "status": "running", "relPath": "a/b.png"}
_ITEMS = [
    {"type": "input_text", "text": "seen"},
    {"type": "input_image", "mimeType": "image/png", "byteLength": 3, "artifact": _ARTIFACT},
]
_ask = {
    "callName": "askHuman",
    "responderId": "r",
    "tellaskContent": "t",
    "status": "completed",
    "callId": "c",
}
_ingest = {
    "artifact": _ARTIFACT,
    "provider": "p",
    "model": "m",
    "disposition": "fed_native",
    "message": "",
}
_items = st.sampled_from([None, _ITEMS])
_extra = st.dictionaries(st.sampled_from(["rawId", "note", "中"]), values, max_size=1)


def _foreign(
    kind: str, base: dict[str, Any], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[Record]:
    made = st.tuples(st.integers(0, 9), _part(base, **optional), _extra)
    return made.map(lambda drawn: check_record(kind, {"genseq": drawn[0], **drawn[1], **drawn[2]}))


_ids = st.sampled_from(["c1", "c2", "call 3", "中"])
records: st.SearchStrategy[Record] = st.one_of(
    _foreign("human_text_record", {"msgId": _ids, "content": texts}, userLanguageCode=st.just("zh")),
    _foreign("human_text_record", {"msgId": _ids, "content": texts, "contentItems": _ITEMS}),
    _foreign("agent_thought_record", {"content": texts}, provider_data=objects),
    _foreign("agent_words_record", {"content": texts}, sourceTag=st.just("priming_script")),
    _foreign("ui_only_markdown_record", {"content": texts}),
    _foreign("runtime_guide_record", {"content": texts}),
    _foreign("func_call_record", {"id": _ids, "name": names, "rawArgumentsText": texts}),
    _foreign("func_call_record", {"id": _ids, "name": names, "arguments": objects}),
    _foreign("func_result_record", {"id": _ids, "name": names, "content": texts}),
    _foreign("func_result_record", {"id": _ids, "name": names, "content": texts, "contentItems": _ITEMS}),
    _foreign("gen_start_record", {}),
    _foreign("gen_finish_record", {}, contextHealth=objects, llmGenModel=texts),
    _foreign("web_search_call_record", {"phase": "done", "itemId": "i"}, action=st.just({"type": "search"})),
    _foreign("user_image_ingest_record", _ingest),
    _foreign(
        "tellask_call_record",
        {"id": _ids, "name": "askHuman", "rawArgumentsText": texts, "deliveryMode": "func_call_requested"},
    ),
    _foreign(
        "quest_for_sup_record", {"tellaskContent": texts, "subDialogId": "d"}, mentionList=st.just(["@a"])
    ),
    _foreign("teammate_call_result_record", {**_ask, "callId": _ids, "result": texts}),
    _foreign(
        "teammate_response_record", {**_ask, "callName": "tellaskBack", "agentId": "a", "response": texts}
    ),
    _foreign("teammate_call_anchor_record", {"anchorRole": "assignment", "callId": "c"}),
    st.tuples(_ids, texts, st.sampled_from(["pending", "completed", "failed"])).map(
        lambda drawn: check_record(
            "tellask_result_record",
            {
                "callId": drawn[0],
                "callName": "askHuman",
                "status": drawn[2],
                "call": {"tellaskContent": "t"},
                "responder": {"responderId": "r"},
                "content": drawn[1],
            },
        )
    ),
)
scripts: st.SearchStrategy[list[Record]] = st.lists(records, min_size=1, max_size=8)
