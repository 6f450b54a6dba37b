"""Check the words: the same in both languages, whole, and safe to show."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from shipmate.approvals import question, service
from shipmate.approvals.policy import grant, path, policy, rule, subject
from shipmate.approvals.question import (
    describe,
    describe_covered,
    describe_grant,
    fence,
    list_items,
    load_words,
)
from shipmate.approvals.reply import reply
from shipmate.approvals.value import Approval, Coverage
from shipmate.orchestrator import work
from shipmate.rehearsal import stage
from shipmate.tools.exec import command, shell
from shipmate.tools.exec.program import invocation
from tests.support.approval import make_grant

PLACE = re.compile(r"\{[a-z]+\}")


def make_approval(preview: str | None, tool: str = "exec") -> Approval:
    stored = {
        **dict.fromkeys(("id", "threadId", "member", "runId", "callId", "messageId", "digest"), "apr_1"),
        "status": "requested",
        "number": 2,
        "tool": tool,
        "folder": "/w",
        "preview": preview,
        "initiator": "ann",
        "requestedAt": "2100-03-01T12:00:00.000Z",
        "expiresAt": "2100-03-08T12:00:00.000Z",
        "input": {"command": "ls", "path": "a.md", "url": "https://a.b"},
        "reason": "no rule allows it",
    }
    return msgspec.convert(stored, Approval)


def test_both_languages_say_the_same_things() -> None:
    english, chinese = load_words("en"), load_words("zh")
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(chinese[key])), key


def test_every_reason_the_code_gives_has_words() -> None:
    modules = (
        *(command, grant, invocation, path, policy, reply, rule, service, shell, stage),
        *(subject, question, work),
    )
    source = "".join(Path(str(module.__file__)).read_text(encoding="utf-8") for module in modules)
    reasons = set(re.findall(r'Why\("([a-z-]+)"', source))
    assert {key.removeprefix("why-") for key in load_words("en") if key.startswith("why-")} == reasons


def test_questions_show_the_whole_call_and_how_to_answer() -> None:
    for tool in ("exec", "write", "web_fetch", "mcp__x__y"):
        text = describe(make_approval("line one\nline two", tool))
        assert "```\nline one\nline two\n```" in text
        assert "**yes**" in text
        assert "No. 2" in text


def test_u6_a_longer_yes_is_offered_only_with_what_it_covers() -> None:
    approval = make_approval("git status")
    assert "**yes, always**" not in describe(approval)
    covered = msgspec.structs.replace(approval, coverage=Coverage("exec(git status)"))
    for language, offer in (("en", "**yes for 10 minutes**"), ("zh", "**10 分钟内同意**")):
        line = next(line for line in describe(covered, language).splitlines() if offer in line)
        assert "`exec(git status)`" in line
    very = msgspec.structs.replace(approval, coverage=Coverage(None))
    assert "this very call" in describe(very)


def test_u6_the_folder_the_length_and_where_a_link_leads_are_told() -> None:
    for tool in ("exec", "write", "web_fetch", "mcp__x__y"):
        assert "`/w`" in describe(make_approval("x", tool))
    assert "1 lines, 301 characters" in describe(make_approval("x" * 301))
    assert "characters" not in describe(make_approval("x" * 20))
    linked = msgspec.structs.replace(make_approval("x", "write"), target={"path": "b/c.md"})
    assert "leads to `b/c.md`" in describe(linked)
    plain = msgspec.structs.replace(linked, target={"path": "a.md"})
    assert "leads to" not in describe(plain)


def test_no_approve_is_offered_for_what_is_not_shown() -> None:
    for preview in (None, "x" * 12_001):
        text = describe(make_approval(preview))
        assert "**yes" not in text
        assert "shipmate approvals show apr_1" in text
    assert "x" * 12_001 in describe(make_approval("x" * 12_001), limit=100_000)


@given(st.text())
def test_nothing_shown_can_end_its_own_block(text: str) -> None:
    opening, *body, closing = fence(text).split("\n")
    assert opening == closing
    assert set(opening) == {"`"}
    assert opening not in "\n".join(body)


def test_hidden_characters_are_written_out() -> None:
    """C16: whatever hides in the call, its folder or the reason is written out in the question."""
    assert "\u202e" not in describe(make_approval("rm \u202e txt"))


def test_a_language_without_words_is_spoken_in_english() -> None:
    assert load_words("fr") == load_words("en")


def test_grants_are_described_with_their_scope() -> None:
    assert (
        describe_grant(make_grant("exec", "git status")) == "exec(git status), in the thread telegram:group:7"
    )
    assert (
        describe_grant(make_grant("exec", "ls", scope="member"), "zh") == "exec(ls)，在 captain 的所有对话里"
    )


def test_a_grant_of_one_very_call_can_be_known_again() -> None:
    given = msgspec.structs.replace(make_grant("exec", None), what="ls | wc -l")
    assert describe_grant(given).startswith("exec: ls | wc -l, this very call")
    assert "`exec: ls | wc -l`" in describe_covered(given, "zh")


def test_a_grant_for_a_path_says_that_the_content_may_differ() -> None:
    assert describe_covered(make_grant("write", "a.md"), "en") == "`write(a.md)`, whatever the content"


def test_a_list_of_questions_shows_marks_of_markdown_as_they_stand() -> None:
    starred = msgspec.structs.replace(make_approval("x"), input={"command": "rm *.md old_*"})
    assert list_items([starred, make_approval("x")], "en") == "2. `exec`: `rm *.md old_*`\n2. `exec`: ls"
