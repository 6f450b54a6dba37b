from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.rehearsal.service import hold
from shipmate.store.journal.usage import UsageFiles
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.layout import Layout
from tests.support.cassette import make_workspace
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import say

REF = "team_shared/look"
RUBRIC = """### record human_text_record
---
genseq: 1
msgId: m1
---
Greet me.

### record agent_words_record
---
genseq: 1
expect:
  rubric: It is a friendly greeting.
---
Hello!
"""


def prepare(root: Path, server: ProviderServer) -> Layout:
    """Make a workspace whose member's model has a price, with a script that must be judged."""
    llm = {"provider": "openai", "model": "gpt-4o", "baseUrl": f"{server.url}/v1", "apiKey": "k"}
    layout = make_workspace(root, llm={**llm, "maxRetries": 0})
    layout.shared_priming.mkdir(parents=True)
    (layout.shared_priming / "look.md").write_text(RUBRIC)
    return layout


def spent(layout: Layout) -> float:
    files = UsageFiles(layout, DISK)
    steps = [step for name, _, _ in files.months() for step in files.read(name, 0)[0]]
    return sum(step.cost or 0 for step in steps)


async def test_p2_what_a_judge_is_paid_counts_and_is_kept(tmp_path: Path) -> None:
    async with ProviderServer() as server:
        layout = prepare(tmp_path, server)
        server.script(say("Ahoy there!"), say('{"holds": true}'))
        held = await hold(layout, REF, Setting())
    answer, judged = held.report.turns[0].cost_usd, held.performed.judged_usd
    assert held.report.verdict == "same"
    assert answer
    assert judged
    assert held.report.cost_usd == pytest.approx(answer + judged)
    assert spent(layout) == pytest.approx(answer + judged)


async def test_p2_a_bound_of_the_whole_holds_for_the_judge_too(tmp_path: Path) -> None:
    async with ProviderServer() as server:
        layout = prepare(tmp_path, server)
        server.script(say("Ahoy there!"), say('{"holds": true}'))
        answer = (await hold(layout, REF, Setting())).report.turns[0].cost_usd
        server.script(say("Ahoy there!"), say('{"holds": true}'))
        held = await hold(layout, REF, Setting(max_cost_usd=answer))
    assert [each.kind for each in held.report.turns[0].deviations] == ["cost"]
