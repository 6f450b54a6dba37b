from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.priming.convert import to_messages, to_records
from shipmate.priming.lint.lint import lint_script
from shipmate.priming.lint.lint_mark import Mark
from shipmate.priming.script.parse import check_script, parse_script
from shipmate.priming.script.record import Script
from shipmate.priming.script.record_rule import RULES
from shipmate.priming.script.writer import write_script
from shipmate.values.message import UIMessage
from tests.support.priming_script import words
from tests.support.priming_strategy import PIECES
from tests.support.search import examples

FIXTURES = Path(__file__).parents[1] / "fixtures"
HUMAN = "### record human_text_record\n```markdown\n---\ngenseq: 1\nmsgId: m-1\n---\nhello\n```\n"
CALL = (
    '### record func_call_record\n```json\n{"genseq": 1, "id": "c1", "name": "read", "arguments": {}}\n```\n'
)
RESULT = "### record func_result_record\n```\n---\ngenseq: 1\nid: c1\nname: read\n---\nseen\n```\n"


def said(text: str, kind: str = "agent_words_record") -> str:
    return f"### record {kind}\n```markdown\n---\ngenseq: 1\n---\n{text}\n```\n"


def found(text: str) -> list[tuple[int, int, str, str]]:
    return [(mark.line, mark.record, mark.level, mark.rule) for mark in lint_script(text, "a.md")]


@pytest.mark.parametrize(
    ("text", "line", "record", "rule"),
    [
        # The text is cut by a fence inside it, with and without a word, of backticks and of tildes.
        (HUMAN + said("look:\n```python\nprint(1)\n```\nmore"), 17, 2, "cut"),
        (HUMAN + said("look:\n```\nprint(1)\n```\nmore"), 15, 2, "cut"),
        (said("a\n```\nb\n```").replace("agent_words", "agent_thought"), 7, 1, "cut"),
        (said("a\n~~~sh\nb\n~~~\nc").replace("\n```", "\n~~~"), 9, 1, "cut"),
        (HUMAN + RESULT.replace("seen", "a\n```diff\n+ b") + CALL, 19, 2, "cut"),
        # A second block under one heading.
        (HUMAN + "\n```markdown\n---\ngenseq: 1\n---\nmore\n```\n", 10, 1, "second-block"),
        (
            CALL + '```json\n{"genseq": 1, "id": "c2", "name": "read", "arguments": {}}\n```\n' + RESULT,
            5,
            1,
            "second-block",
        ),
        (HUMAN + "~~~\nmore\n~~~\n", 9, 1, "second-block"),
        # Calls without results, results without calls, in their own turn.
        (HUMAN + CALL + said("x"), 9, 2, "call"),
        (HUMAN + CALL + CALL.replace("c1", "c2") + RESULT, 13, 3, "call"),
        (HUMAN + RESULT, 9, 2, "result"),
        (HUMAN + CALL + RESULT + RESULT, 22, 4, "result"),
        (HUMAN + RESULT.replace("c1", "c9") + CALL + RESULT, 9, 2, "result"),
        # Ids given twice.
        (HUMAN + CALL + RESULT + CALL + RESULT, 22, 4, "shared-call"),
        (HUMAN + said("x") + HUMAN, 16, 3, "shared-message"),
        # A part that no page can show.
        (said("{}", "ui_only_markdown_record").replace("genseq: 1", "genseq: 1\nuiRaw: {}"), 5, 1, "part"),
        (
            said('{"type": 7}', "ui_only_markdown_record").replace(
                "genseq: 1", 'genseq: 1\nuiRaw: {"type": 7}'
            ),
            5,
            1,
            "part",
        ),
        # A heading that is none, and a block that takes others for its text.
        (HUMAN + "\n### agent_words_record\n```\n---\ngenseq: 1\n---\nx\n```\n", 10, 0, "heading"),
        (HUMAN + "\n  ### record agent_words_record\n```\n---\ngenseq: 1\n---\nx\n```\n", 10, 0, "heading"),
        (HUMAN + "\n**record agent_words_record**\n", 10, 0, "heading"),
        (HUMAN.replace("hello\n```\n", "hello\n\n") + said("x"), 9, 1, "swallowed"),
    ],
)
def test_p6_what_reading_passes_over_in_silence_is_an_error(
    text: str, line: int, record: int, rule: str
) -> None:
    assert check_script(text) == []
    marks = lint_script(text, "a.md")
    assert (line, record, "error", rule) in [(m.line, m.record, m.level, m.rule) for m in marks]
    assert all(mark.reason and mark.mend for mark in marks)


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        ("---\nauthor: me\n---\n" + HUMAN, 2, "unknown"),
        (HUMAN.replace("genseq: 1", "genseq: 1\nmood: good"), 5, "unknown"),
        ("---\ntitle: 5\n---\n" + HUMAN, 2, "title"),
        ("---\napplicableMemberIds: ['ux, coder']\n---\n" + HUMAN, 2, "member"),
        (HUMAN + "left over\n", 9, "lost"),
        (HUMAN + "\n---\ngenseq: 2\n---\nmeant for a record\n", 10, "lost"),
        (HUMAN.replace("hello", " "), 1, "empty"),
        (HUMAN.replace("genseq: 1", "genseq: 3") + said("x"), 12, "genseq"),
        (HUMAN + CALL + RESULT.replace("name: read", "name: write"), 13, "name"),
        (HUMAN + CALL.replace('"arguments": {}', '"rawArgumentsText": "{"') + RESULT, 9, "arguments"),
    ],
)
def test_p4_what_is_allowed_and_seldom_meant_is_a_warning(text: str, line: int, rule: str) -> None:
    assert check_script(text) == []
    assert [(m.line, m.level, m.rule) for m in lint_script(text)] == [(line, "warning", rule)]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ('"arguments": {}, "rawArgumentsText": "{\\"a\\": 1}"', "differ"),
        ('"arguments": {"a": 1}, "rawArgumentsText": "{}"', "differ"),
        ('"arguments": {}, "arguments": {"a": 1}', "twice"),
        ('"arguments": {"a": 1, "a": 2}', "twice"),
        ('"arguments": {"b": [{"a": 1, "a": 1}]}', "twice"),
        ('"rawArgumentsText": "{\\"a\\": 1, \\"a\\": 2}"', "twice"),
        ('"name": "write", "arguments": {}', "twice"),
    ],
)
def test_p3_a_call_that_says_two_things_at_once_is_an_error(arguments: str, rule: str) -> None:
    text = HUMAN + CALL.replace('"arguments": {}', arguments) + RESULT
    errors = [(m.line, m.record, m.rule) for m in lint_script(text) if m.level == "error"]
    assert errors == [(9, 2, rule)]


def test_p6_one_line_is_told_as_one() -> None:
    (told,) = [mark.reason for mark in lint_script(HUMAN + said("```sh\nls\n```")) if mark.rule == "cut"]
    assert "; 1 line below is lost" in told


@pytest.mark.parametrize("state", ["approval-requested", "input-available", "input-streaming"])
def test_p6_a_script_saved_while_a_call_is_open_passes_its_own_check(state: str) -> None:
    """An open call says itself that it is one; a model is told that it was not run."""
    part = {"type": "tool-write", "toolCallId": "c1", "input": {"path": "a"}, "state": state}
    waiting = {"approval": {"id": "apr_1"}} if state == "approval-requested" else {}
    messages: list[UIMessage] = [
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "write it"}]},
        {"id": "a1", "role": "assistant", "parts": [{**part, **waiting}]},
    ]
    text = write_script(Script({}, to_records(messages)))
    assert [(mark.level, mark.rule) for mark in lint_script(text)] == [("warning", "open")]
    assert to_messages(parse_script(text).records) == messages, "nothing of it is lost"


@pytest.mark.parametrize("by", ['"m-2"', "null", "true"])
def test_p3_what_is_called_replaced_is_told_as_a_warning(by: str) -> None:
    metadata = f'uiMessage: {{"id": "m-1", "role": "user", "metadata": {{"replacedBy": {by}}}}}'
    marks = lint_script(HUMAN.replace("genseq: 1", f"genseq: 1\n{metadata}"))
    assert [(mark.level, mark.rule) for mark in marks] == [("warning", "replaced")]


def test_a_script_in_order_has_no_mark() -> None:
    remark = "\nA remark between two records, with `code`.\n\n"
    assert found(words("hello", "hi") + remark + said("more") + "\n# The end\n") == []
    assert found(HUMAN + CALL + RESULT + said("x")) == []
    assert found(HUMAN + said("```` is a fence")) == []


def test_mistakes_that_break_the_format_are_marked_once() -> None:
    (mark,) = lint_script(HUMAN + "### user\nhi\n", "a.md")
    assert mark == Mark(
        line=9,
        record=2,
        level="error",
        rule="heading",
        reason="`### user` is no longer understood",
        mend="Write `### record human_text_record`",
        can_fix=True,
    )
    assert found("") == [(1, 0, "error", "format")]
    assert found(HUMAN.replace("genseq: 1", "genseq: -1")) == [(4, 1, "error", "field")]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("**/accept/*.md")), ids=lambda path: path.name)
def test_scripts_of_the_origin_lose_nothing(path: Path) -> None:
    errors = [mark for mark in lint_script(path.read_text(encoding="utf-8")) if mark.level == "error"]
    assert {mark.rule for mark in errors} <= {"call", "result", "shared-call", "shared-message", "twice"}


def test_an_exported_thread_is_in_order() -> None:
    denied = {
        "type": "tool-exec",
        "toolCallId": "c2",
        "state": "output-denied",
        "input": {},
        "approval": {"id": "a"},
    }
    done = {
        "type": "tool-read",
        "toolCallId": "c1",
        "state": "output-available",
        "input": {},
        "output": {"a": 1},
    }
    text = {"type": "text", "text": "```\nfence", "state": "done"}
    messages: list[UIMessage] = [
        {
            "id": "u",
            "role": "user",
            "parts": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        },
        {"id": "a", "role": "assistant", "parts": [{"type": "step-start"}, text, done, denied]},
    ]
    assert lint_script(write_script(Script({}, to_records(messages)))) == []


def test_the_example_of_the_documentation_has_no_mark() -> None:
    text = (Path(__file__).parents[3] / "docs/priming.md").read_text(encoding="utf-8")
    example = re.search(r"^~~~markdown\n(.*?)^~~~$", text, re.DOTALL | re.MULTILINE)
    assert example is not None
    assert found(example[1]) == []


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.sampled_from(
            [
                *PIECES,
                HUMAN,
                CALL,
                RESULT,
                "\n",
                "genseq: 1\n",
                "msgId: m\n",
                "``````markdown\n",
                "---\n",
                "```\n",
            ]
            + [f"### record {kind}\n" for kind in RULES]
        )
        | st.text(max_size=8),
        max_size=14,
    ).map("".join)
)
def test_any_text_is_marked_within_its_lines(text: str) -> None:
    marks = lint_script(text, "a.md")
    assert all(1 <= mark.line <= text.count("\n") + 1 for mark in marks)
    assert [mark.line for mark in marks] == sorted(mark.line for mark in marks)
    if check_script(text):
        assert any(mark.level == "error" for mark in marks)
    else:
        assert parse_script(text).records


def test_a_long_script_is_marked_while_one_types() -> None:
    turns = "".join(
        words(f"ask {n}", "tell\n" * 20, genseq=n, message_id=f"m-{n}") + CALL.replace("c1", f"c{n}")
        for n in range(1, 1000)
    )
    before = time.process_time()
    marks = lint_script(turns)
    assert len(marks) >= 999
    assert time.process_time() - before < 3


@pytest.mark.parametrize(
    "text",
    [
        said("hi").replace("genseq: 1", "genseq: 1\nexpect: {contians: hi}"),
        said("hi").replace("genseq: 1", "genseq: 1\nexpect: nearly"),
        f"---\nexpect: 5\n---\n{HUMAN}",
    ],
)
def test_an_expectation_nobody_understands_is_marked(text: str) -> None:
    assert [
        (level, rule) for _, _, level, rule in found(HUMAN + text if "---\nexpect" not in text else text)
    ] == [("error", "expect")]
    good = said("hi").replace("genseq: 1", "genseq: 1\nexpect: {contains: hi}")
    assert found(HUMAN + good) == []


def test_a_misspelt_expectation_is_marked_with_the_right_word() -> None:
    text = HUMAN + said("hi").replace("genseq: 1", "genseq: 1\nexpect: {contian: hi}")
    assert [mark.mend for mark in lint_script(text)] == ["Write `contains`"]


@pytest.mark.parametrize("expect", ["{exact: false}", "nearly", "{contains: []}"])
def test_p6_an_expectation_without_a_hint_says_where_to_read_on(expect: str) -> None:
    text = HUMAN + said("hi").replace("genseq: 1", f"genseq: 1\nexpect: {expect}")
    (mark,) = lint_script(text)
    assert "docs/rehearsal.md" in mark.mend


def test_p6_a_value_of_the_wrong_kind_is_marked_with_what_to_write() -> None:
    (mark,) = lint_script(HUMAN.replace("genseq: 1", "genseq: -1"))
    assert mark.mend == "Write a whole number, 0 or more"


def test_p6_what_belongs_to_a_broken_record_is_not_said_to_stand_alone() -> None:
    assert found(HUMAN + CALL + RESULT.replace("name: read\n", "")) == [(13, 3, "error", "missing")]
    assert found(HUMAN + CALL.replace('"name": "read", ', "") + RESULT) == [(9, 2, "error", "missing")]


def test_p6_a_result_above_its_call_is_to_be_moved() -> None:
    mends = {mark.rule: mark.mend for mark in lint_script(HUMAN + RESULT + said("x") + CALL)}
    assert mends["result"].startswith("Move it below its call")
    mends = {mark.rule: mark.mend for mark in lint_script(HUMAN + RESULT)}
    assert mends["result"].startswith("Write the call above it")
