"""A budget warns, asks, then stops; it holds over restarts, and no model is told of the question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.models.port import Finish, Usage
from shipmate.models.scripted import ScriptedModel, say
from shipmate.models.to_model import to_model_messages
from shipmate.store.allowance import Allowance
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from shipmate.workspace.settings.team_settings import BudgetSettings, MemberBudget
from tests.store.test_tally import step
from tests.support.workspace import ROOM, messages_of, open_workspace, pressed, talk, tools_of


def dear(text: str, cost: float | None = 0.3) -> list[Any]:
    usage = Usage(input_tokens=60, output_tokens=40, cost=cost)
    return [say(text), Finish("stop", usage, "openai:dear")]


def set_budget(folder: Path, budget: dict[str, object], **permissions: object) -> None:
    (folder / "ship.json").write_text(json.dumps({"budget": budget, "permissions": permissions}))


def notices(message: Any) -> list[str]:
    return [part["data"]["text"] for part in message["parts"] if part["type"] == "data-notice"]


async def test_a_budget_warns_once_asks_whatever_the_mode_then_stops(tmp_path: Path) -> None:
    model = ScriptedModel([dear(text) for text in ("one", "two", "three", "four", "five", "six")])
    async with open_workspace(tmp_path, model, mode="yolo") as app:
        set_budget(tmp_path, {"perDay": 0.9, "warnAt": 0.5, "stop": 2}, mode="yolo")
        await talk(app, "1")
        await talk(app, "2")
        await talk(app, "3")
        first, second, third = (await messages_of(app))[1::2]
        assert (notices(first), notices(second)) == ([], [])
        assert notices(third) == ["Today's budget is nearly used up: $0.6000 of $0.9000."]
        asked = await talk(app, "4")
        (question,) = await app.approvals.pending()
        assert (asked.status, question.tool) == ("suspended", "exceed_budget")
        assert (question.preview or "").startswith("Today's budget is used up: $0.9000 of $0.9000.")
        assert question.coverage is None
        refused = await (await app.receive(pressed(question.id, approved=False))).outcome()
        assert refused.status == "failed"
        assert "decided not to go on today" in (refused.error or "")
        await talk(app, "5")
        (question,) = await app.approvals.pending()
    # What was asked and what was used are known to the next process.
    async with open_workspace(tmp_path, model, mode="yolo") as app:
        set_budget(tmp_path, {"perDay": 0.9, "warnAt": 0.5, "stop": 2}, mode="yolo")
        answered = await (await app.receive(pressed(question.id, approved=True))).outcome()
        assert answered.text == "four"
        sent = to_model_messages(model.requests[-1].messages)
        assert all("budget" not in str(each) for each in sent)
        assert tools_of((await messages_of(app))[-1])[0][:2] == ("exceed_budget", "output-available")
        assert not app.orchestrator.is_tainted(await app.threads.read(ThreadId.parse(ROOM)))
        assert [(await talk(app, text)).text for text in ("6", "7")] == ["five", "six"]
        stopped = await talk(app, "8")
        assert stopped.status == "failed"
        assert "Nothing more is asked of models" in (stopped.error or "")
        assert len(model.requests) == 6


async def test_a_model_without_a_price_counts_in_tokens_and_a_rule_answers_for_people(tmp_path: Path) -> None:
    model = ScriptedModel([dear("one", None), dear("two", None)])
    async with open_workspace(tmp_path, model) as app:
        rules = {"deny": ["exceed_budget"]}
        set_budget(tmp_path, {"perDay": 0.1, "members": {"captain": {"tokensPerDay": 100}}}, **rules)
        assert (await talk(app, "1")).text == "one"
        refused = await talk(app, "2")
        assert "Today's budget (captain) is used up: 100 tokens of 100 tokens." in (refused.error or "")
        assert len(model.requests) == 1


@pytest.mark.parametrize("member", ["nina", "captain"])
def test_sums_follow_the_files_and_errands_count_for_who_asked(tmp_path: Path, member: str) -> None:
    layout, now = Layout(tmp_path), timestamp()
    layout.usage.mkdir(parents=True)
    path = layout.usage / f"{now[:7]}.jsonl"
    allowance = Allowance(layout)
    budget = BudgetSettings(per_month=2, members={"captain": MemberBudget(per_day=1)})
    assert {each.spent for each in allowance.look(budget, member)} == {0}
    errand = msgspec.structs.replace(step("nina", 1.5, asker="captain"), at=now)
    path.write_bytes(msgspec.json.encode(errand) + b'\n{"torn')
    found = {each.key: (each.spent, each.state) for each in allowance.look(budget, member)}
    assert found["month money"] == (1.5, "free")
    assert found.get("day money captain") == ((1.5, "spent") if member == "captain" else None)
    path.unlink()
    path.write_bytes(b"")
    assert {each.spent for each in allowance.look(budget)} == {0}
    allowance.note("month money", leave=True)
    assert Allowance(layout).mark().leave == ("month money",)
    layout.budget.write_bytes(b"{broken")
    assert allowance.mark().leave == ()
    assert allowance.look(BudgetSettings()) == []
