"""Read the table of replies, and hold the properties that make the grammar safe."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shipmate.approvals.listing import load_lists
from shipmate.approvals.reply.grammar import parse
from shipmate.approvals.reply.lexicon import NEGATION
from shipmate.approvals.reply.reading import Clause, Reply

NAMES = ["git status", "git push", "docs/plan.md", "exec", "write"]
TABLE = Path(__file__).with_name("replies.txt")
WORDS = load_lists("lexicon", separator="|")


def read_table() -> list[tuple[str, str]]:
    """Give each reply with the reading its heading names."""
    rows: list[tuple[str, str]] = []
    expected = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            expected = line.removeprefix("== ")
        elif line and not line.startswith("# "):
            rows.append((line, expected))
    return rows


def write_reading(reply: Reply | None) -> str:
    """Write a reading the way the table's headings do."""
    if reply is None:
        return "ordinary"
    clauses = " ".join(write_clause(clause) for clause in reply.clauses)
    span = {"once": "", "window": f" @{reply.minutes}m"}.get(reply.span, f" @{reply.span}")
    return clauses + span + (f" because {reply.reason}" if reply.reason else "")


def write_clause(clause: Clause) -> str:
    numbers = ",".join(map(str, clause.numbers))
    named = {"numbers": numbers, "text": f"`{clause.text}`", "all": f"all!{numbers}" if numbers else "all"}
    return ("+" if clause.approved else "-") + named.get(clause.kind, clause.kind)


@pytest.mark.parametrize(("text", "expected"), read_table())
def test_replies_are_read_as_the_table_says(text: str, expected: str) -> None:
    assert write_reading(parse(text, NAMES)) == expected


def test_the_table_is_large_and_in_both_languages() -> None:
    replies = [text for text, _ in read_table()]
    chinese = [text for text in replies if re.search(r"[\u3400-\u9fff]", text)]
    assert len(set(replies)) == len(replies) > 500
    assert 200 < len(chinese) < len(replies) - 200


def test_no_word_of_consent_contains_a_negation() -> None:
    consent = [
        word
        for section in ("yes", "approve-verb", "all", "once", "always", "thread")
        for word in WORDS[section]
    ]
    assert [word for word in consent if NEGATION.search(word)] == []


PIECES = st.sampled_from(
    [
        *WORDS["yes"],
        *WORDS["no"],
        *WORDS["approve-verb"],
        *WORDS["deny-verb"],
        *WORDS["all"],
        *WORDS["only"],
        *WORDS["rest"],
        *WORDS["once"],
        *WORDS["always"],
        *NAMES,
        *(
            ", ",
            "，",
            "。",
            "; ",
            " ",
            "\n",
            "but",
            "但",
            "and",
            "和",
            "1",
            "2",
            "3",
            "第一个",
            "for 10 minutes",
            "because",
            "因为",
        ),
        *("if", "problem", "the", "吧", "了", "吗", "it", "没", "别", "except", "除了"),
    ]
)
SENTENCES = st.lists(PIECES, min_size=1, max_size=7).map(" ".join) | st.lists(
    PIECES, min_size=1, max_size=7
).map("".join)


@given(SENTENCES)
@example("no problem, approve")
@example("not yes")
@example("don't approve git status")
@example("不要同意 git status")
@example("别 同意")
def test_a_reply_with_a_negation_never_approves_without_denying(text: str) -> None:
    reply = parse(text, NAMES)
    if reply is None or not reply.approves:
        return
    denies = any(not clause.approved for clause in reply.clauses)
    spoken = text
    for clause in reply.clauses:
        spoken = spoken.replace(clause.text, " ") if clause.text else spoken
    assert denies or not NEGATION.search(spoken)


@given(SENTENCES)
def test_what_is_denied_is_never_approved_by_the_same_reply(text: str) -> None:
    reply = parse(text, NAMES)
    if reply is None:
        return
    approved = {
        (clause.kind, number)
        for clause in reply.clauses
        if clause.approved
        for number in clause.numbers or (0,)
    }
    denied = {
        (clause.kind, number)
        for clause in reply.clauses
        if not clause.approved
        for number in clause.numbers or (0,)
    }
    named = [clause.text for clause in reply.clauses if clause.kind == "text"]
    assert not ({pair for pair in approved if pair[0] != "text"} & denied)
    assert len(named) == len(set(named))
    assert not any(clause.kind == "it" for clause in reply.clauses) or len(reply.clauses) == 1


@given(
    st.sampled_from(WORDS["no"]), st.sampled_from(WORDS["yes"]), st.sampled_from([" ", ", ", "，", "", ". "])
)
def test_a_negation_before_consent_never_approves(no: str, yes: str, between: str) -> None:
    reply = parse(no + between + yes, NAMES)
    assert reply is None or not reply.approves


@given(st.text(max_size=400))
def test_any_text_is_read_without_error_and_fast(text: str) -> None:
    began = time.process_time()
    reply = parse(text, NAMES)
    assert time.process_time() - began < 1
    assert reply is None or reply.clauses


@pytest.mark.parametrize(
    "unit", ["yes ", "1 ", "1,", ", ", "no, ", "同意", "不", "全部", "yes to ", "a ", "- ", "because "]
)
def test_long_repetitions_do_not_stall(unit: str) -> None:
    began = time.process_time()
    parse((unit * 300)[:300], NAMES)
    parse((unit * 300)[:299] + "\x7f", NAMES)
    assert time.process_time() - began < 2


def test_a_long_message_is_ordinary() -> None:
    assert parse("no, " + "x" * 400, NAMES) is None
    assert parse("yes " * 100, NAMES) is None


def test_hidden_characters_make_a_message_ordinary() -> None:
    assert parse("ye\u200bs") is None
    assert parse("\u202eyes") is None


def test_a_call_whose_name_is_a_negation_is_not_approved_by_saying_it() -> None:
    assert parse("approve no", ["no"]) is None
    assert parse("approve not git push", ["not git push"]) is None
    assert parse("approve git commit --no-verify", ["git commit --no-verify"]) is not None


def test_a_name_counts_only_while_it_waits() -> None:
    assert parse("allow git status for 10 minutes", ["ls"]) is None
    assert parse("allow git status for 10 minutes", ["git status"]) is not None
