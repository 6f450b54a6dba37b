from __future__ import annotations

import pytest

from shipmate.priming.convert import to_messages, to_records
from shipmate.priming.replay import build_rows
from shipmate.priming.script.parse import check_script, parse_script
from shipmate.priming.script.record import Script, ScriptError
from shipmate.priming.script.ui_key import describe, is_showable
from shipmate.priming.script.writer import write_script
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.thread_id import ThreadId

THREAD = ThreadId("web", "room", "1")
RESULT = "### record func_result_record\n```\n---\ngenseq: 1\nid: c1\nname: read\n{}---\nseen\n```\n"


def block(kind: str, key: str, text: str = "shown") -> str:
    needs = "msgId: m\n" if kind == "human_text_record" else ""
    return f"### record {kind}\n```\n---\ngenseq: 1\n{needs}{key}\n---\n{text}\n```\n"


def call(besides: str) -> str:
    body = f'{{"genseq": 1, "id": "c1", "name": "read", "arguments": {{}}, "uiPart": {besides}}}'
    return f"### record func_call_record\n```json\n{body}\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        # Words that replace the words one sees.
        block("agent_words_record", 'uiPart: {"text": "told"}'),
        block("agent_words_record", 'uiPart: {"text": "shown"}'),
        block("human_text_record", 'uiPart: {"text": "told"}'),
        block("agent_thought_record", 'uiPart: {"text": "told", "state": "done"}'),
        block("agent_words_record", 'uiPart: {"type": "reasoning"}'),
        block("human_text_record", 'uiPart: {"type": "file", "url": "data:,x", "mediaType": "text/plain"}'),
        block("runtime_guide_record", 'uiPart: {"text": "told"}'),
        block("ui_only_markdown_record", 'uiPart: {"data": {"text": "told"}}'),
        block("ui_only_markdown_record", 'uiPart: {"type": "text", "text": "told"}'),
        '### record gen_start_record\n```\n---\ngenseq: 1\nuiPart: {"type": "text", "text": "x"}\n---\n```\n',
        # Another tool, other arguments, another outcome than the records say.
        call('{"input": {"path": "b"}}'),
        call('{"type": "tool-exec"}'),
        call('{"type": "dynamic-tool", "toolName": "exec"}'),
        call('{"type": "dynamic-tool"}'),
        call('{"toolName": "exec"}'),
        call('{"toolCallId": "c2"}'),
        call('{"output": "told"}'),
        call('{"errorText": "told"}'),
        call('{"state": "output-available", "output": "told"}') + RESULT.format(""),
        call('{"state": "output-error"}') + RESULT.format(""),
        call('{"state": "output-denied"}') + RESULT.format(""),
        call('{"state": "approval-responded", "approval": {"approved": false}}') + RESULT.format(""),
        call('{"state": "output-available"}') + RESULT.format("uiResult: error\n"),
        call('{"state": "output-available"}'),
        call('{"state": 5}'),
        RESULT.format('uiPart: {"output": "told"}\n'),
        # A part in place of what the record says.
        block("agent_words_record", 'uiRaw: {"type": "text", "text": "told"}'),
        block("agent_words_record", "uiRaw: null"),
        block("human_text_record", 'uiRaw: {"type": "data-x", "data": {}}'),
        block("ui_only_markdown_record", 'uiRaw: {"type": "text", "text": "told"}'),
        block(
            "ui_only_markdown_record", 'uiRaw: {"type": "file", "url": "data:,x", "mediaType": "text/plain"}'
        ),
        block("ui_only_markdown_record", 'uiRaw: {"type": "tool-read", "toolCallId": "c", "output": "told"}'),
        block("ui_only_markdown_record", "uiRaw: {}"),
        block("ui_only_markdown_record", "uiRaw: null"),
        # Somebody else's words.
        block("human_text_record", 'uiMessage: {"id": "a", "role": "assistant"}'),
        block("agent_words_record", 'uiMessage: {"id": "a", "role": "user"}'),
        block("agent_words_record", 'uiMessage: {"id": "a", "role": "system"}'),
        block("human_text_record", 'uiMessage: {"id": "a", "role": "system"}'),
        block("agent_words_record", 'uiMessage: {"id": "a", "role": "tool"}'),
        block("runtime_guide_record", 'uiMessage: {"id": "a", "role": "user"}'),
        block("agent_words_record", "note: x") + block("human_text_record", "uiJoined: true"),
        block("human_text_record", "note: x") + block("agent_words_record", "uiJoined: true"),
    ],
)
def test_p3_a_key_that_contradicts_its_record_is_refused(text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse_script(text, "a.md")
    assert (caught.value.rule, caught.value.record >= 1) == ("contradiction", True)
    assert [str(problem) for problem in check_script(text, "a.md")] == [str(caught.value)]


@pytest.mark.parametrize(
    "text",
    [
        block("agent_words_record", 'uiPart: {"state": "streaming", "providerMetadata": {"x": {}}}'),
        call('{"type": "dynamic-tool", "toolName": "read", "state": "output-available"}') + RESULT.format(""),
        call('{"state": "output-denied", "approval": {"id": "a", "approved": false}}'),
        call('{"state": "output-error"}') + RESULT.format("uiResult: error\n"),
        block("ui_only_markdown_record", 'uiRaw: {"type": "data-x", "data": {}}'),
        block("ui_only_markdown_record", 'uiMessage: {"id": "a", "role": "user"}'),
        block("runtime_guide_record", 'uiMessage: {"id": "a", "role": "system"}'),
        block("ui_only_markdown_record", 'uiRaw: {"type": "text", "text": 5}', '{"type": "text", "text": 5}'),
    ],
)
def test_p3_what_says_more_than_the_record_and_nothing_else_is_kept(text: str) -> None:
    script = parse_script(text)
    assert to_records(to_messages(script.records)) == script.records


ODD_PARTS: list[JsonObject] = [
    {},
    {"type": 7},
    {"type": "text"},
    {"type": "file"},
    {"type": "file", "url": "x"},
    {"type": "data-notice"},
    {"type": "data-notice", "data": None},
    {"type": "data-error", "data": {}},
    {"type": "data-course", "data": None},
    {"type": "tool-read"},
    {"type": "tool-read", "toolCallId": "c", "state": "unheard-of"},
    {"type": "dynamic-tool", "toolCallId": "c", "state": "input-available"},
    {"type": "source-url"},
    {"type": "invented", "payload": 1},
]


@pytest.mark.parametrize("part", ODD_PARTS, ids=str)
def test_p6_a_part_no_page_can_show_becomes_a_notice_in_a_new_thread(part: JsonObject) -> None:
    message: UIMessage = {"id": "a", "role": "assistant", "parts": [part, {"type": "text", "text": "hi"}]}
    records = to_records([message])
    assert to_messages(parse_script(write_script(Script({}, records))).records) == [message]
    (row,) = build_rows([Script({}, records)], THREAD)
    assert not is_showable(part)
    assert all(is_showable(each) for each in row["parts"])
    assert row["parts"][0] == {"type": "data-notice", "data": {"text": describe(part)}}


def test_p3_a_part_whose_records_would_mislead_is_written_whole() -> None:
    part: JsonObject = {
        "type": "tool-exec",
        "toolCallId": "c",
        "state": "output-error",
        "output": "ok",
        "errorText": "no",
    }
    message: UIMessage = {"id": "a", "role": "assistant", "parts": [part]}
    (record,) = to_records([message])
    assert (record.type, record.extra["uiRaw"]) == ("ui_only_markdown_record", part)
    assert '"errorText": "no"' in record.fields["content"]
    assert to_messages([record]) == [message]
