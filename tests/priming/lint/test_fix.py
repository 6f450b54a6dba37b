from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.priming.lint.fix import fix_script
from shipmate.priming.lint.lint import lint_script
from shipmate.priming.script.parse import check_script, parse_script, scan_script
from shipmate.priming.script.record_rule import RULES
from tests.support.priming_script import words
from tests.support.priming_strategy import PIECES
from tests.support.search import examples

HUMAN = "### record human_text_record\n```markdown\n---\ngenseq: 1\nmsgId: m-1\n---\nhello\n```\n"
WORDS = "### record agent_words_record\n```markdown\n---\ngenseq: 1\n---\n{}\n```\n"
CALL = (
    '### record func_call_record\n```json\n{"genseq": 1, "id": "c1", "name": "read", "arguments": {}}\n```\n'
)
RESULT = "### record func_result_record\n```\n---\ngenseq: 1\nid: c1\nname: read\n---\nseen\n```\n"
CODE = "look:\n```python\nprint(1)\n```\nmore"


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        (HUMAN + WORDS.format(CODE), "content", CODE),
        (
            HUMAN + WORDS.format("a\n```\nb\n```\nc") + HUMAN.replace("m-1", "m-2"),
            "content",
            "a\n```\nb\n```\nc",
        ),
        (HUMAN.replace("hello\n```\n", "hello\n\n") + WORDS.format("x"), "content", "x"),
        (HUMAN + WORDS.format("x").removesuffix("```\n"), "content", "x"),
        (HUMAN + "\n## Record: agent_words_record\n" + WORDS.format("x").partition("\n")[2], "content", "x"),
        (
            HUMAN + "\n  ### record agent_words_record\n" + WORDS.format("x").partition("\n")[2],
            "content",
            "x",
        ),
        (HUMAN + WORDS.format("x").replace("agent_words_record", "agent_word_record"), "content", "x"),
        (HUMAN + WORDS.format("x").replace("genseq: 1", "gensec: 1"), "genseq", 1),
        (HUMAN + WORDS.format("x").replace("genseq: 1", "genseq: '7'"), "genseq", 7),
        (HUMAN + WORDS.format("x").replace("---\ngenseq: 1\n---\n", ""), "content", "x"),
        (WORDS.format("x") + HUMAN.replace("m-1", "17"), "msgId", "17"),
        (WORDS.format("x") + HUMAN.replace("msgId: m-1\n", ""), "msgId", "priming-2"),
        (HUMAN + WORDS.format("x") + HUMAN, "msgId", "m-1-3"),
        (HUMAN + CALL + RESULT + CALL + RESULT, "id", "c1-4"),
        ("### user\nhello\n\n### assistant\nhi\n", "content", "hi\n"),
    ],
)
def test_p6_what_is_mechanical_is_mended(text: str, key: str, value: object) -> None:
    assert any(mark.can_fix for mark in lint_script(text))
    fixed = fix_script(text)
    script = parse_script(fixed)
    assert (lint_script(fixed), script.records[-1 if key != "content" else 1].fields[key]) == ([], value)
    assert fix_script(fixed) == fixed


@pytest.mark.parametrize(
    "head",
    [
        "\n\n---\napplicableMemberIds: [ux, coder]\n---\n",
        " ---\napplicableMemberIds: [ux, coder]\n--- \n",
        "---\napplicableMemberIds: ux, coder\n---\n",
        "---\napplicableMembersIds: [ux, coder]\n---\n",
        "---\napplicable-member-ids:\n  - ux\n  - coder\n---\n",
    ],
)
def test_p4_whom_a_script_is_for_is_mended(head: str) -> None:
    assert parse_script(fix_script(head + HUMAN)).applicable == ("ux", "coder")


@pytest.mark.parametrize(
    "text",
    [
        HUMAN + "\n```markdown\n---\ngenseq: 1\n---\nmore\n```\n",
        HUMAN + CALL,
        HUMAN + RESULT,
        "---\napplicableMemberIds: everyone who may\n---\n" + HUMAN,
        "---\napplicableMemberIds: not captain\n---\n" + HUMAN,
        "---\napplicableMemberIds: ux\n  captain\n---\n" + HUMAN,
        "---\nexcludedMembers: [captain]\n---\n" + HUMAN,
        "---\ninapplicableMemberIds: [captain]\n---\n" + HUMAN,
        "---\nnot-applicable-members: [captain]\n---\n" + HUMAN,
        "---\nkind: other\n---\n" + HUMAN,
        "",
        "no script at all\n",
    ],
)
def test_what_takes_a_person_is_left_as_it_is(text: str) -> None:
    assert fix_script(text) == text
    assert not any(mark.can_fix for mark in lint_script(text))


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        (
            '{"arguments": {"gensec": 5}, "gensec": 1, "id": "c1", "name": "read"}',
            '{"arguments": {"gensec": 5}, "genseq": 1, "id": "c1", "name": "read"}',
        ),
        (
            '{"arguments": {\n"gensec": 5},\n"gensec": 1, "id": "c1", "name": "read"}',
            '{"arguments": {\n"gensec": 5},\n"genseq": 1, "id": "c1", "name": "read"}',
        ),
        (
            '{"arguments": {\n"genseq": "5"},\n"genseq": "1",\n"id": "c1", "name": "read"}',
            '{"arguments": {\n"genseq": "5"},\n"genseq": 1,\n"id": "c1", "name": "read"}',
        ),
        (
            '{"arguments": {"msgId": "m", "id": 7},\n "genseq": 1,\n "id": 7, "name": "read"}',
            '{"arguments": {"msgId": "m", "id": 7},\n "genseq": 1,\n "id": "7", "name": "read"}',
        ),
    ],
)
def test_p6_mending_a_call_leaves_its_arguments_alone(given: str, mended: str) -> None:
    block = f"{HUMAN}### record func_call_record\n```json\n{{}}\n```\n"
    assert fix_script(block.format(given)) == block.format(mended)


def test_p6_an_id_given_twice_is_changed_where_it_names_the_call() -> None:
    second = '{"arguments": {"id": "c1"}, "genseq": 1, "id": "c1", "name": "read"}'
    call = f"### record func_call_record\n```json\n{second}\n```\n"
    fixed = parse_script(fix_script(HUMAN + CALL + RESULT + call + RESULT)).records
    assert [record.fields["id"] for record in fixed[1:]] == ["c1", "c1", "c1-4", "c1-4"]
    assert fixed[3].fields["arguments"] == {"id": "c1"}


def test_p6_mending_a_key_leaves_what_is_nested_and_what_is_said_alone() -> None:
    meta = "note: |\n  gensec: 4\nmore:\n  gensec: 5\ngensec: 1\nid: c1\nname: read"
    text = HUMAN + CALL + f"### record func_result_record\n```\n---\n{meta}\n---\ngensec: 1\n```\n"
    assert fix_script(text) == text.replace("\ngensec: 1\nid", "\ngenseq: 1\nid")


def test_p6_what_a_call_lacks_is_not_added_to_the_record_below() -> None:
    text = HUMAN + CALL.replace('"genseq": 1, ', "") + RESULT
    assert fix_script(text) == text


def test_a_script_in_order_keeps_every_byte() -> None:
    text = "\ufeff" + words("hello\u2028there\x85\r", "hi").replace("\n", "\r\n")
    assert fix_script(text) == text


def test_line_ends_and_marks_stay_as_they_were() -> None:
    text = "\ufeff" + HUMAN.replace("genseq: 1", "gensec: 1").replace("\n", "\r\n")
    assert fix_script(text) == text.replace("gensec", "genseq")


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
def test_mending_never_makes_a_text_worse(text: str) -> None:
    fixed = fix_script(text)
    before, after = scan_script(text), scan_script(fixed)
    assert (after.unread, len(after.problems)) <= (before.unread, len(before.problems))
    assert len(after.records) >= len(before.records)
    if not before.problems:
        assert _errors(fixed) <= _errors(text)


def _errors(text: str) -> int:
    return sum(mark.level == "error" for mark in lint_script(text))


@pytest.mark.parametrize(
    "text",
    [
        "### user\nhello\n\n" + RESULT + CALL,
        HUMAN.replace("genseq", "gensec") + RESULT + CALL,
        "---\ntitel: x\n---\n" + HUMAN + RESULT + CALL,
        HUMAN.replace("### record", "#### record") + RESULT + CALL.replace("c1", "c2") + CALL,
        "### user\nhello\n\n### assistant\nhi\n\n" + HUMAN.replace("msgId: m-1\n", "") + 2 * RESULT,
    ],
    ids=["old heading", "record", "frontmatter", "heading", "several"],
)
def test_what_mending_brings_to_light_does_not_undo_it(text: str) -> None:
    assert any(mark.can_fix for mark in lint_script(text))
    fixed = fix_script(text)
    assert fixed != text
    assert not any(mark.can_fix for mark in lint_script(fixed))
    assert check_script(fixed) == []


def test_of_too_many_mistakes_some_are_mended_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HUMAN * 30 + (CALL + RESULT) * 3
    whole = fix_script(text)
    assert whole != text
    monkeypatch.setattr("shipmate.priming.lint.fix.EFFORT", 20_000)
    monkeypatch.setattr("shipmate.priming.lint.lint.EFFORT", 20_000)
    rounds = 0
    while (mended := fix_script(text)) != text:
        text, rounds = mended, rounds + 1
    assert rounds > 1
    assert [mark.rule for mark in lint_script(text)] == [mark.rule for mark in lint_script(whole)]


@pytest.mark.parametrize(
    "text",
    [
        # The frontmatter is not closed: what ends it belongs to a record.
        "\n---\ntitle: x\n" + HUMAN,
        # Both keys are there, and nobody can tell which was meant.
        HUMAN + CALL.replace('"genseq": 1', '"gensec": 2, "genseq": 1') + RESULT,
        # Any of several lines may end the block.
        HUMAN + WORDS.format("a\n```python\nb\n```\nc\n```\nd\n```\ne"),
        # A record that needs more than a number and a name.
        HUMAN + CALL + RESULT.replace("---\ngenseq: 1\nid: c1\nname: read\n---\n", ""),
        # The result of a question to a teammate names its call elsewhere.
        HUMAN
        + 2
        * (
            "### record tellask_call_record\n```\n---\ngenseq: 1\nid: c1\nname: askHuman\n"
            'rawArgumentsText: "{}"\ndeliveryMode: tellask_call_start\n---\n```\n'
            "### record tellask_result_record\n```\n---\ncallId: c1\ncallName: askHuman\n"
            'status: completed\ncall: {"tellaskContent": "x"}\nresponder: {"responderId": "h"}\n'
            "---\nyes\n```\n"
        ),
    ],
    ids=["unclosed", "both keys", "several ends", "more than a name", "question"],
)
def test_p6_what_nobody_can_tell_is_left_to_a_person(text: str) -> None:
    marks = [mark for mark in lint_script(text) if mark.level == "error"]
    assert marks
    assert not any(mark.can_fix for mark in marks)
    assert fix_script(text) == text


def test_p6_a_block_is_fenced_with_more_than_any_run_in_it() -> None:
    body = "look:\n```python\n``````\n```\nmore"
    fixed = fix_script(HUMAN + WORDS.format(body))
    assert parse_script(fixed).records[1].fields["content"] == body
    assert lint_script(fixed) == []


def test_p6_a_block_without_metadata_belongs_to_the_generation_above_it() -> None:
    bare = WORDS.format("x").replace("---\ngenseq: 1\n---\n", "")
    fixed = parse_script(fix_script(HUMAN.replace("genseq: 1", "genseq: 4") + bare))
    assert [record.genseq for record in fixed.records] == [4, 4]
