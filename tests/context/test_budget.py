from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.context.budget import CUT_ORDER, Calibration, split_ends, weigh
from shipmate.context.builder import ContextBuilder
from shipmate.context.request import ContextRequest
from shipmate.context.section import section_kinds
from shipmate.values.message import estimate_tokens
from shipmate.workspace.config import Config, ContextSettings
from tests.support.prompt import MOMENT, open_example, write_files
from tests.support.search import examples

EXAMPLES = examples(100)
texts = st.text(st.sampled_from("ab c\n中文é\u0301👩\u200d🚀\ufe0f"), max_size=400)


@settings(max_examples=EXAMPLES)
@given(texts, st.integers(1, 200))
def test_a_cut_keeps_both_ends_within_its_tokens(text: str, tokens: int) -> None:
    head, tail = split_ends(text, tokens)
    if not tail and head == text:
        return
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= len(text)
    assert estimate_tokens(head) + estimate_tokens(tail) <= tokens + 2


@settings(max_examples=EXAMPLES)
@given(texts, st.integers(1, 200))
def test_a_cut_parts_no_letter_from_its_accents(text: str, tokens: int) -> None:
    head, tail = split_ends(text, tokens)
    if tail:
        assert not head.endswith("\u200d")
        assert unicodedata.combining(tail[0]) == 0
        assert tail[0] not in "\u200d\ufe0f"


def test_every_section_that_gives_way_exists() -> None:
    assert set(CUT_ORDER) <= set(section_kinds())


def test_a_memory_of_ten_megabytes_is_cut_at_both_ends(tmp_path: Path) -> None:
    root = write_files(tmp_path, Agent="x", memory__MEMORY="BEGIN\n" + "记忆 memory line\n" * 540_000 + "END")
    assert (root / "memory/MEMORY.md").stat().st_size > 10_000_000
    context = ContextBuilder(root).build(ContextRequest(now=MOMENT))
    memory = next(each for each in context.sections if each.name == "memory-index")
    assert memory.is_cut
    assert "BEGIN" in memory.text
    assert memory.text.endswith("END")
    assert "read it for the rest" in memory.text
    assert "\ufffd" not in memory.text
    assert memory.tokens <= 6_100
    assert "cut from" in memory.reason
    assert "both ends" in memory.problem


def test_ship_json_limits_one_section(tmp_path: Path) -> None:
    settings_ = ContextSettings(section_tokens={"soul": 200})
    root = write_files(tmp_path, Agent="x", SOUL="word " * 2_000, USER="word " * 2_000)
    context = ContextBuilder(root, Config(context=settings_)).build(ContextRequest())
    by_name = {each.name: each for each in context.sections}
    assert by_name["soul"].tokens <= 210
    assert "may have 200 tokens" in by_name["soul"].reason
    assert not by_name["user"].is_cut


def test_the_whole_prompt_is_cut_in_order_and_says_so(tmp_path: Path) -> None:
    files = {name: f"{name} " * 900 for name in ("Agent", "AGENTS", "SOUL", "USER", "memory__MEMORY")}
    settings_ = ContextSettings(budget_tokens=4_000)
    context = ContextBuilder(write_files(tmp_path, **files), Config(context=settings_)).build(
        ContextRequest(now=MOMENT)
    )
    by_name = {each.name: each for each in context.sections}
    assert sum(each.tokens for each in context.sections) <= 4_050
    assert not by_name["memory-index"].included
    assert "left out" in by_name["memory-index"].reason
    assert "4,000 tokens" in by_name["memory-index"].reason
    assert by_name["user"].is_cut
    assert not by_name["agent"].is_cut
    assert by_name["core"].included


def test_a_budget_nothing_fits_still_gives_a_prompt(tmp_path: Path) -> None:
    settings_ = ContextSettings(budget_tokens=500)
    root = write_files(tmp_path, Agent="law " * 5_000, SOUL="x " * 5_000)
    context = ContextBuilder(root, Config(context=settings_)).build(ContextRequest())
    included = [each.name for each in context.sections if each.included]
    assert included[:2] == ["core", "agent"]
    assert "soul" not in included


def test_counts_reported_by_a_model_change_what_is_shown(tmp_path: Path) -> None:
    builder = open_example(tmp_path)
    plain = builder.build(ContextRequest(model="m", now=MOMENT))
    builder.calibrate("m", 1_000, 1_500)
    dear = builder.build(ContextRequest(model="m", now=MOMENT))
    other = builder.build(ContextRequest(model="n", now=MOMENT))
    assert dear.tokens == pytest.approx(plain.tokens * 1.5, rel=0.02)
    assert dear.system == plain.system
    assert other.tokens == plain.tokens


def test_one_odd_report_moves_nothing() -> None:
    calibration = Calibration()
    calibration.learn("m", 1_000, 1_050)
    assert calibration.ratio("m") == 1.0
    calibration.learn("m", 1_000, 1_200)
    assert calibration.ratio("m") == 1.0
    for _ in range(30):
        calibration.learn("m", 1_000, 1_300)
    assert calibration.ratio("m") == pytest.approx(1.2, abs=0.11)
    calibration.learn("m", 0, 10)
    calibration.learn("m", 10, 0)
    assert calibration.ratio("m") > 1.0


def test_weighs_bytes_and_tokens() -> None:
    assert weigh("中文") == (6, 2)
    assert weigh("a" * 36) == (36, 10)
