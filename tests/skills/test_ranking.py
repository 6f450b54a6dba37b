from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.skills.ranking import rank
from shipmate.skills.skill import Skill
from shipmate.skills.summary import names_within, summary_cost, take
from tests.support.search import examples


def make(name: str, description: str) -> Skill:
    return Skill(
        name=name,
        title=name,
        description=description,
        location=f"skills/{name}/SKILL.md",
        folder=name,
        origin="workspace",
        body="x",
    )


SKILLS = (
    make("weather", "Tell the weather of a city"),
    make("invoice", "Write an invoice and send it"),
    make("calendar", "Find free days; 安排会议和提醒"),
    make("search", "网络搜索助手"),
)


def best(text: str) -> str:
    return rank(SKILLS, text)[0].name


def test_words_of_the_name_and_description_lead() -> None:
    assert best("please write two invoices") == "invoice"
    assert best("WEATHER tomorrow?") == "weather"
    assert best("帮我安排一个会议") == "calendar"
    assert best("在网络上搜索一下") == "search"


def test_words_that_meet_nothing_change_nothing() -> None:
    assert rank(SKILLS, "") == list(SKILLS)
    assert rank(SKILLS, "qqq 你好") == list(SKILLS)


@settings(max_examples=examples(100))
@given(st.text(max_size=60))
def test_ranking_loses_and_adds_nothing(text: str) -> None:
    found = rank(SKILLS, text)
    assert sorted(skill.name for skill in found) == sorted(skill.name for skill in SKILLS)
    assert found == rank(SKILLS, text)


@settings(max_examples=examples(60))
@given(st.integers(0, 400))
def test_what_is_taken_fits(tokens: int) -> None:
    taken = take(SKILLS, tokens)
    assert not taken or summary_cost(taken) <= tokens
    names, left_out = names_within(SKILLS, tokens)
    assert len([name for name in names.split(", ") if name]) + left_out == len(SKILLS)
