from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shipmate import ApprovalReplyEvent, ScriptedModel, Shipmate, TextEvent, ThreadId, call, timestamp
from shipmate.errors import NotFoundError
from shipmate.models.scripted import think
from shipmate.priming.export import save_script
from shipmate.priming.library import Library
from shipmate.priming.rehearsal.report.kept import last_report
from shipmate.priming.script.writer import write_script
from shipmate.rehearsal.rehearsal_setting import Setting, ToolMode
from shipmate.rehearsal.service import hold, rehearse
from shipmate.store.journal.usage import UsageFiles
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.layout import Layout
from tests.support.cassette import STEP, called, make_script, make_workspace, snapshot, words
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse, say


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


REF = "team_shared/look"


def put(layout: Layout, text: str) -> None:
    layout.shared_priming.mkdir(parents=True, exist_ok=True)
    (layout.shared_priming / "look.md").write_text(text)


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


async def test_a_report_says_what_was_rehearsed_and_is_kept(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    put(
        layout,
        write_script(
            make_script(("look", [called("read", output="Ahoy.", path="a.md"), STEP, words("Ahoy.")]))
        ),
    )
    report = await rehearse(layout, f"{REF}.md", Setting(model="script", forced=True))
    assert (report.verdict, report.ref, report.member) == ("same", REF, "captain")
    assert (report.tools, report.model, report.forced) == ("script", "script", True)
    assert last_report(layout, REF) == report


async def test_a_broken_script_has_a_report_and_a_missing_one_has_none(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    put(layout, "### record nothing\n")
    assert (await rehearse(layout, REF, Setting(model="script"))).verdict == "broken"
    with pytest.raises(NotFoundError):
        await rehearse(layout, "team_shared/none", Setting(model="script"))


@pytest.mark.parametrize(
    ("judged", "verdict"),
    [
        (say('{"holds": true}'), "same"),
        (say('{"holds": false, "reason": "it is rude"}'), "differs"),
        (say("who knows"), "differs"),
        (refuse(401, "wrong key"), "unusable"),
    ],
    ids=["holds", "fails", "unclear", "refused"],
)
async def test_a_rubric_is_judged_by_the_member_s_model(tmp_path: Path, judged: object, verdict: str) -> None:
    async with ProviderServer() as server:
        llm = {"provider": "openai-compatible", "model": "m", "baseUrl": f"{server.url}/v1", "apiKey": "k"}
        layout = make_workspace(tmp_path, llm={**llm, "maxRetries": 0})
        put(layout, RUBRIC)
        server.script(say("Ahoy there!"), judged)  # pyright: ignore[reportArgumentType]
        report = await rehearse(layout, REF, Setting())
        assert report.verdict == verdict, report
        assert len(server.requests) == 2
        assert "friendly greeting" in str(server.requests[1].body)


async def record(layout: Layout) -> None:
    """Hold a conversation in which a member reads, acts, asks and is refused, and save it as a script."""
    model = ScriptedModel(
        [
            [
                think("First I look."),
                "I look. ",
                call("read", path="docs/a.md"),
                call("glob", pattern="*.md"),
            ],
            [
                call("write", path="log.md", content="All is well.\n"),
                call("write", path="b.md", content="b\n"),
            ],
            [call("exec", command="cat log.md")],
            [call("read", path="missing.md")],
            "Done.",
            [call("nonsense", x=1)],
            [call("memory_upsert", scope="project", heading="Sea", content="Wide.")],
            "Remembered.",
        ]
    )
    event: dict[str, Any] = {
        "platform": "cli",
        "thread_id": "cli:dm:ann",
        "user_id": "ann",
        "timestamp": timestamp(),
    }
    async with Shipmate.open(layout.root, model=model) as ship:
        for number, text in enumerate(("keep a log", "remember the sea")):
            receipt = await ship.receive(TextEvent(**event, message_id=f"m{number}", text=text))
            outcome = await receipt.outcome()
            while outcome.status == "suspended":
                for each in await ship.approvals.pending():
                    is_refused = each.input.get("path") == "b.md"
                    answer = ApprovalReplyEvent(
                        **event,
                        message_id=f"r-{each.id}",
                        text="not that one" if is_refused else "",
                        approval_id=each.id,
                        approved=not is_refused,
                    )
                    outcome = await (await ship.receive(answer)).outcome()
            assert outcome.status == "replied", outcome
        await save_script(
            Library(layout),
            ship.threads,
            ship.store,
            thread_id=ThreadId.parse("cli:dm:ann"),
            slug="look",
        )


@pytest.mark.parametrize("tools", ["script", "sandbox"])
@pytest.mark.parametrize("forced", [False, True])
async def test_p2_what_a_member_did_and_was_refused_is_the_same_again(
    tmp_path: Path, tools: ToolMode, forced: bool
) -> None:
    layout = make_workspace(tmp_path / "ship")
    (layout.root / "docs").mkdir()
    (layout.root / "docs" / "a.md").write_text("Ahoy.\n")
    (layout.root / "docs" / "AGENTS.md").write_text("Speak of the sea here.\n")
    await record(layout)
    (layout.root / "log.md").unlink()
    (layout.ship / "memory" / "project.md").unlink()
    ref = "individual/captain/look"
    before = {name: data for name, data in snapshot(layout.root).items() if "rehearsals" not in name}
    report = await rehearse(layout, ref, Setting(model="script", tools=tools, forced=forced))
    if forced and tools == "sandbox":
        assert report.turns[1].deviations == [], "each turn has its history, and the copy what was done in it"
    assert report.verdict == "same", [turn.deviations for turn in report.turns]
    kinds = {piece.kind for turn in report.turns for piece in turn.new}
    assert kinds == {"words", "thought", "call", "result", "error", "denial"}
    after = {name: data for name, data in snapshot(layout.root).items() if "rehearsals" not in name}
    assert after == before


async def test_whoever_asks_for_the_wrong_member_leaves_no_mark_on_a_script(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    text = write_script(make_script(("hi", [words("Ahoy.")]), applicableMemberIds=["ux"]))
    put(layout, text)
    report = await rehearse(layout, REF, Setting(model="script"))
    assert (report.verdict, "not for captain" in report.reason) == ("broken", True)
    assert last_report(layout, REF) is None


async def test_the_member_s_own_model_judges_where_the_script_plays_its_side(tmp_path: Path) -> None:
    async with ProviderServer() as server:
        llm = {"provider": "openai-compatible", "model": "m", "baseUrl": f"{server.url}/v1", "apiKey": "k"}
        layout = make_workspace(tmp_path, llm={**llm, "maxRetries": 0})
        (tmp_path / "a.md").write_text("Ahoy there.\n")
        script = make_script(("look", [called("read", output="Ahoy.", path="a.md"), STEP, words("So.")]))
        result = next(each for each in script.records if each.type == "func_result_record")
        result.extra["expect"] = {"rubric": "It greets."}
        put(layout, write_script(script))
        server.script(say('{"holds": true}'))
        report = await rehearse(layout, REF, Setting(model="script", tools="sandbox"))
        assert (report.verdict, len(server.requests)) == ("same", 1), report


async def test_an_expectation_nobody_understands_names_its_script_and_line(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    put(layout, RUBRIC.replace("rubric:", "rubrik:"))
    report = await rehearse(layout, REF, Setting(model="script"))
    assert (report.verdict, report.reason.startswith(f"{REF}:8: record 2: ")) == ("broken", True), report


async def test_a_report_that_cannot_be_kept_is_given_all_the_same(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    put(layout, write_script(make_script(("hi", [words("Ahoy.")]))))
    layout.rehearsal(REF).parent.parent.mkdir(parents=True, exist_ok=True)
    layout.rehearsal(REF).parent.write_text("in the way")
    assert (await rehearse(layout, REF, Setting(model="script"))).verdict == "same"
