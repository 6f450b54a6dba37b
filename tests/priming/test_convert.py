from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from shipmate.errors import PrimingError
from shipmate.priming.convert import to_messages, to_records
from shipmate.priming.script.parse import parse_script, read_script
from shipmate.priming.script.record import Record, Script
from shipmate.priming.script.writer import write_script
from shipmate.values.message import UIMessage
from tests.support import thread_strategy
from tests.support.priming_strategy import scripts, threads
from tests.support.search import examples

EXAMPLES = examples(60)
FIXTURES = Path(__file__).parent / "fixtures"


def exact(value: Any) -> str:
    """Write a value so that 1, 1.0 and true stay apart."""
    return json.dumps(value, sort_keys=True)


def through_file(records: list[Record]) -> list[Record]:
    return parse_script(write_script(Script({"title": "t"}, records))).records if records else []


@settings(max_examples=EXAMPLES)
@given(threads)
def test_any_thread_comes_back_from_its_script(messages: list[UIMessage]) -> None:
    assert exact(to_messages(through_file(to_records(messages)))) == exact(messages)


@settings(max_examples=EXAMPLES)
@given(thread_strategy.threads())
def test_the_threads_of_the_other_strategy_come_back_too(messages: list[UIMessage]) -> None:
    assert exact(to_messages(through_file(to_records(messages)))) == exact(messages)


@settings(max_examples=EXAMPLES)
@given(scripts)
def test_any_script_comes_back_from_its_thread(records: list[Record]) -> None:
    messages: list[UIMessage] = json.loads(json.dumps(to_messages(records)))
    assert to_records(messages) == records
    assert through_file(records) == records


@settings(max_examples=EXAMPLES)
@given(scripts, threads, scripts)
def test_threads_mixed_with_replayed_scripts_come_back(
    first: list[Record], middle: list[UIMessage], last: list[Record]
) -> None:
    messages = [*to_messages(first), *middle, *to_messages(last)]
    assert exact(to_messages(through_file(to_records(messages)))) == exact(messages)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("**/accept/*.md")), ids=lambda path: path.name)
def test_every_fixture_comes_back_from_its_thread(path: Path) -> None:
    script = read_script(path)
    assert to_records(to_messages(script.records)) == script.records


def test_a_foreign_script_reads_as_a_conversation() -> None:
    script = read_script(FIXTURES / "accept/03_export_multi_tool_turns.md")
    question, answer = to_messages(script.records)
    image = question["parts"][1]["data"]
    assert (question["id"], question["role"]) == ("m-3", "user")
    assert question["parts"][0] == {"type": "text", "text": "Compare both files"}
    assert (image["mimeType"], image["artifact"]["relPath"]) == ("image/png", "artifacts/u1.png")
    assert answer["role"] == "assistant"
    assert [part["type"] for part in answer["parts"]] == [
        "tool-read_file",
        "tool-read_file",
        "step-start",
        "reasoning",
        "tool-read_file",
        "data-notice",
        "step-start",
        "text",
        "text",
        "data-priming",
    ]
    assert answer["parts"][0] == {
        "type": "tool-read_file",
        "toolCallId": "call_1",
        "state": "output-available",
        "input": {"path": "a.txt"},
        "output": "line 1\nline 2\n\tline 3 (tab)\n    indented\n",
    }
    # What the model wrote was no JSON: it stays as it was written.
    assert answer["parts"][1]["input"] == '{"path": "b.txt"'
    assert answer["parts"][1]["output"] == "Error: invalid JSON arguments"


def test_a_thread_reads_well_as_a_script() -> None:
    messages: list[UIMessage] = [
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Look"}], "metadata": {"course": 1}},
        {
            "id": "a1",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "Hm", "state": "done"},
                {
                    "type": "tool-read",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {"path": "a"},
                    "output": {"lines": 3},
                },
                {"type": "step-start"},
                {"type": "text", "text": "Three lines.", "state": "done"},
            ],
        },
    ]
    records = to_records(messages)
    assert [(record.type, record.genseq, record.extra) for record in records] == [
        ("human_text_record", 1, {"uiMessage": {"id": "u1", "role": "user", "metadata": {"course": 1}}}),
        ("gen_start_record", 1, {"uiMessage": {"id": "a1", "role": "assistant"}}),
        ("agent_thought_record", 1, {}),
        ("func_call_record", 1, {}),
        ("func_result_record", 1, {"uiResult": "json"}),
        ("gen_start_record", 2, {}),
        ("agent_words_record", 2, {}),
    ]
    assert records[3].fields["rawArgumentsText"] == '{"path": "a"}'
    assert records[4].fields["content"] == '{"lines": 3}'


def test_edits_of_an_exported_script_are_taken_over() -> None:
    messages: list[UIMessage] = [
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Look"}]},
        {"id": "a1", "role": "assistant", "parts": [{"type": "text", "text": "Seen.", "state": "done"}]},
    ]
    text = write_script(Script({}, to_records(messages)))
    added = "### record human_text_record\n```\n---\ngenseq: 2\nmsgId: new\n---\nAnd now?\n```\n"
    edited = to_messages(parse_script(text.replace("Seen.", "Gone.") + added).records)
    assert edited[:1] == messages[:1]
    assert edited[1]["parts"] == [{"type": "text", "text": "Gone.", "state": "done"}]
    assert (edited[2]["id"], edited[2]["role"]) == ("new", "user")
    assert edited[2]["parts"][0] == {"type": "text", "text": "And now?"}


def test_a_result_finds_its_call_and_a_lone_result_is_kept() -> None:
    def call(name: str) -> Record:
        return Record("func_call_record", {"genseq": 1, "id": "same", "name": name, "rawArgumentsText": ""})

    def result(content: str, call_id: str = "same") -> Record:
        return Record("func_result_record", {"genseq": 1, "id": call_id, "name": "n", "content": content})

    (message,) = to_messages([call("a"), call("b"), result("first"), result("second"), result("lone", "x")])
    outputs = [(part["type"], part["state"], part.get("output")) for part in message["parts"][:-1]]
    assert outputs == [
        ("tool-a", "output-available", "first"),
        ("tool-b", "output-available", "second"),
        ("tool-n", "output-available", "lone"),
    ]


def test_a_value_nested_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    message: UIMessage = {
        "id": "a",
        "role": "assistant",
        "parts": [{"type": "tool-x", "toolCallId": "c", "input": deep}],
    }
    with pytest.raises(PrimingError, match="cannot be written"):
        to_records([message])
    flat: UIMessage = {"id": "a", "role": "assistant", "parts": [{"type": "data-x", "data": deep}]}
    with pytest.raises(PrimingError, match="cannot be written"):
        write_script(Script({}, to_records([flat])))
