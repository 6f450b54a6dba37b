"""Hold the cached prefix: nothing that changes from turn to turn may stand before what does not."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from shipmate.app import Shipmate
from shipmate.context.builder import ContextBuilder
from shipmate.context.difference import count_common
from shipmate.context.kept.account import list_turns
from shipmate.context.kept.kept_file import read_kept
from shipmate.context.profile import SHIPMATE
from shipmate.context.request import Context, ContextRequest
from shipmate.context.section import section_kinds
from shipmate.models.scripted import ScriptedModel, call
from shipmate.values.event import TextEvent
from shipmate.values.message import timestamp
from shipmate.workspace.config import Config, ContextSettings, Skills
from tests.support.prompt import MOMENT, TOOLS, open_example, write_files

QUESTIONS = ["ping", "commit my work", "记住这件事", "what is overdue?", "sum this up", "$git push"]


def run_turns(builder: ContextBuilder, count: int = 20) -> list[Context]:
    return [
        builder.build(
            ContextRequest(
                thread_id="web:room:1",
                user_id="lin",
                platform="web",
                model="m",
                tools=TOOLS,
                last_text=QUESTIONS[turn % 5],
                now=MOMENT + timedelta(minutes=7 * turn - 140),
            )
        )
        for turn in range(count)
    ]


def kept_share(turns: list[Context]) -> float:
    prompts = [turn.system.encode() for turn in turns]
    kept = sum(count_common(before, after) for before, after in pairwise(prompts))
    return kept / sum(len(prompt) for prompt in prompts[1:])


def test_the_order_goes_from_stable_to_volatile() -> None:
    ranks = {"stable": 0, "slow": 1, "volatile": 2}
    order = [ranks[section_kinds()[name].stability] for name in SHIPMATE]
    first_volatile = order.index(2)
    assert set(order[first_volatile:]) == {2}
    # When something was said stands with what was said.
    assert "time" not in list(SHIPMATE)


def test_twenty_turns_have_one_prompt(tmp_path: Path) -> None:
    builder = ContextBuilder(write_files(tmp_path, Agent="# Captain\n\n" + "Be kind to files.\n" * 50))
    assert len({turn.lasting for turn in run_turns(builder)}) == 1


def test_a_full_workspace_keeps_its_prefix(tmp_path: Path) -> None:
    turns = run_turns(open_example(tmp_path))
    assert kept_share(turns) >= 0.99


def test_two_hundred_skills_do_not_reorder_the_prefix(tmp_path: Path) -> None:
    for number in range(200):
        write_files(
            tmp_path, **{f"skills__s{number}__SKILL": f"---\ndescription: Does thing {number} well\n---\nx"}
        )
    write_files(tmp_path, Agent="# Captain")
    builder = ContextBuilder(tmp_path, Config(skills=Skills(summary_tokens=1_500)))
    first = builder.build(ContextRequest(last_text="thing 17", now=MOMENT))
    second = builder.build(ContextRequest(last_text="thing 123", now=MOMENT))
    assert first.stable == second.stable
    assert "Does thing 17 well" in first.volatile
    assert "Does thing 123 well" in second.volatile


@pytest.mark.parametrize("name", ["time", "extra", "recall", "asked-skills"])
def test_a_section_that_belongs_to_a_turn_never_stands_before_a_lasting_one(
    tmp_path: Path, name: str
) -> None:
    order = (name, *(each for each in SHIPMATE if each != name))
    config = Config(context=ContextSettings(profile="mine", profiles={"mine": order}))
    builder = ContextBuilder(write_files(tmp_path, Agent="# Captain"), config)
    request = ContextRequest(now=MOMENT, extra_context="x", recalled=["y"], last_text="$git")
    context = builder.build(request)
    volatile = [each for each in context.sections if each.included and each.stability == "volatile"]
    assert min(each.start for each in volatile) >= context.stable_bytes > 0
    assert all(each.text not in context.lasting for each in volatile)


def test_stable_bytes_end_where_the_first_volatile_section_begins(tmp_path: Path) -> None:
    context = open_example(tmp_path).build(ContextRequest(now=MOMENT, extra_context="x"))
    volatile = [each for each in context.sections if each.included and each.stability == "volatile"]
    assert context.stable_bytes == volatile[0].start
    assert context.stable + context.volatile == context.system
    for section in (each for each in context.sections if each.included):
        assert context.system.encode()[section.start : section.start + section.bytes].decode() == section.text


async def test_a_thread_with_tool_calls_sends_the_same_prompt_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(MOMENT + timedelta(minutes=7 * turn) for turn in range(100))

    def tell(now: datetime | None, zone: str) -> datetime:
        return next(clock)

    monkeypatch.setattr("shipmate.context.builder.tell_time", tell)
    write_files(tmp_path, Agent="# Captain\n\nBe kind.")
    model = ScriptedModel(
        [step for turn in range(20) for step in ([call("read", path="Agent.md")], f"turn {turn}")]
    )
    ship = await Shipmate.open(tmp_path, model=model, environ={"PATH": os.environ["PATH"]})
    try:
        for turn in range(20):
            event = TextEvent(
                platform="web",
                thread_id="web:room:1",
                user_id="lin",
                message_id=f"m{turn}",
                timestamp=timestamp(),
                text=QUESTIONS[turn % 5],
            )
            outcome = await (await ship.receive(event)).outcome()
            assert outcome.status == "replied"
    finally:
        await ship.close()
    assert len(model.requests) == 40
    assert len({request.system for request in model.requests}) == 1
    turns = list_turns(read_kept(ship.layout, "web:room:1"))
    assert len(turns) == 20
    assert [turn.broken_by for turn in turns] == [None, *[""] * 19]
