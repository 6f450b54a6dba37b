"""A member asks a colleague, in a thread of its own, along RELATIONS.md alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.models.port import ModelRequest
from shipmate.models.scripted import Answer, Hold, Script, ScriptedModel, call
from shipmate.thread.errand import read_errand
from shipmate.values.event import Outcome
from shipmate.values.message import JsonObject, metadata_of, text_of, tool_parts
from shipmate.values.thread_id import ThreadId
from tests.support.workspace import ROOM, pressed, said

TABLE = "| 成员ID | 成员名称 | 类型 | 关系类型 | 关系程度 | 说明 |\n| --- | --- | --- | --- | --- | --- |\n"


@asynccontextmanager
async def open_crew(root: Path, script: Script, **permissions: Any) -> AsyncGenerator[Shipmate]:
    (root / "Agent.md").write_text("# Captain\n")
    (root / "RELATIONS.md").write_text(f"{TABLE}| nina | Nina | agent | 下级 | 核心 | |\n")
    for name in ("nina", "bob"):
        (root / "members" / name).mkdir(parents=True, exist_ok=True)
        (root / "members" / name / "Agent.md").write_text(f"# {name.title()}\n")
    nina = root / "members" / "nina" / "RELATIONS.md"
    nina.write_text(f"{TABLE}| captain | Captain | agent | 上级 | | |\n| bob | Bob | agent | 平级 | | |\n")
    (root / "ship.json").write_text(json.dumps({"permissions": permissions}))
    app = await Shipmate.open(root, model=ScriptedModel(script), environ={})
    try:
        yield app
    finally:
        await app.close()


async def tell(app: Shipmate, text: str, **more: Any) -> Outcome:
    return await (await app.receive(said(text, **more))).outcome()


async def answers(app: Shipmate, thread_id: str = ROOM) -> list[JsonObject]:
    thread = await app.threads.read(ThreadId.parse(thread_id))
    return [
        part.get("output") or {"error": part.get("errorText")}
        for m in thread.messages
        for part in tool_parts(m)
    ]


async def test_a_colleague_answers_in_a_thread_of_its_own_and_the_cost_is_the_askers(tmp_path: Path) -> None:
    script = {
        "plan": [call("ask_member", member="Nina", message="measure it"), "Nina says 4 m."],
        "measure": ["4 m."],
    }
    async with open_crew(tmp_path, script) as app:
        outcome = await tell(app, "plan the table")
        (output,) = await answers(app)
        asked = await app.threads.read(ThreadId.parse(output["thread"]))
        used = await app.store.ledger.usage("", ROOM)
        listed = {each.thread_id: each.member for each in await app.store.threads.list()}
    assert outcome.text == "Nina says 4 m."
    assert output == {
        "member": "nina",
        "thread": output["thread"],
        "status": "replied",
        "answer": "4 m.",
        "tainted": False,
    }
    assert [text_of(each) for each in asked.messages] == ["measure it", "4 m."]
    assert metadata_of(asked.messages[0])["sourceTag"] == "member:captain"
    assert listed == {ROOM: "captain", output["thread"]: "nina"}
    # Two steps of the captain, one of Nina that is booked to the captain's thread.
    assert sorted((each.member, each.asker, each.payer) for each in used) == [
        ("captain", "", ""),
        ("captain", "", ""),
        ("nina", "captain", ROOM),
    ]


async def test_nobody_is_asked_without_a_relation_in_a_circle_or_too_deep(tmp_path: Path) -> None:
    script = {
        "stranger": [call("ask_member", member="bob", message="hi"), "No Bob."],
        "circle": [call("ask_member", member="nina", message="ask back"), "Round."],
        "ask back": [call("ask_member", member="captain", message="circle"), "I cannot."],
        "nobody": [call("ask_member", member="../etc", message="hi"), "Nobody."],
    }
    async with open_crew(tmp_path, script) as app:
        await tell(app, "stranger")
        await tell(app, "circle")
        await tell(app, "nobody")
        stranger, circle, nobody = await answers(app)
        (back,) = await answers(app, circle["thread"])
    assert "names no member 'bob'. It may ask: nina." in stranger["error"]
    assert circle["answer"] == "I cannot."
    assert "captain → nina → captain goes round in a circle" in back["error"]
    assert "names no member '../etc'" in nobody["error"]


async def test_who_got_the_word_in_a_thread_of_an_errand_stands_in_its_chain(tmp_path: Path) -> None:
    script = {
        "plan": [call("ask_member", member="nina", message="pass it on"), "Done."],
        "pass it on": ["[NEXT: bob]"],
        # Who gets the word is told nothing more.
        "": [call("ask_member", member="captain", message="plan"), "I cannot."],
    }
    async with open_crew(tmp_path, script) as app:
        (tmp_path / "members" / "bob" / "RELATIONS.md").write_text(
            f"{TABLE}| captain | | agent | 上级 | | |\n"
        )
        await tell(app, "plan it")
        await app.keeper.idle()
        (output,) = await answers(app)
        (refused,) = await answers(app, output["thread"])
        used = await app.store.ledger.usage("", ROOM)
    assert "captain → bob → captain goes round in a circle" in refused["error"]
    assert [(each.asker, each.payer) for each in used if each.member == "bob"] == [("captain", ROOM)] * 2


async def test_a_thread_is_gone_on_in_by_its_asker_with_its_colleague_alone(tmp_path: Path) -> None:
    relations = f"{TABLE}| nina | | agent | | | |\n| bob | | agent | | | |\n"
    script = {
        "plan": [call("ask_member", member="nina", message="measure"), "Ok."],
        "measure": ["4 m."],
        "again": [
            lambda _: call("ask_member", member="nina", message="measure", thread=told[0]),
            lambda _: call("ask_member", member="bob", message="measure", thread=told[0]),
            call("ask_member", member="nina", message="measure", thread=ROOM),
            call("ask_member", member="nina", message="measure", thread="crew:ask:../.."),
            "Ok.",
        ],
    }
    told: list[str] = []
    async with open_crew(tmp_path, script) as app:
        (tmp_path / "RELATIONS.md").write_text(relations)
        await tell(app, "plan")
        told.append((await answers(app))[0]["thread"])
        await tell(app, "again")
        again, *refused = (await answers(app))[1:]
        await tell(app, "again", thread_id="cli:dm:eve")
        elsewhere = (await answers(app, "cli:dm:eve"))[0]
        asked = await app.threads.read(ThreadId.parse(told[0]))
    assert (again["thread"], again["answer"]) == (told[0], "4 m.")
    assert all("is no thread in which" in each["error"] for each in [*refused, elsewhere])
    assert [text_of(each) for each in asked.messages] == ["measure", "4 m."] * 2


async def test_an_answer_that_waited_for_a_person_comes_as_a_message_once(tmp_path: Path) -> None:
    script = {
        "plan": [call("ask_member", member="nina", message="write it"), "She waits for you."],
        "write it": [call("write", path="a.md", content="x\n"), "Written."],
        "Written.": ["Nina has written it."],
    }
    async with open_crew(tmp_path, script) as app:
        first = await tell(app, "plan")
        (output,) = await answers(app)
        (question,) = await app.approvals.pending(output["thread"])
        # A member's yes is no person's.
        assert question.initiators == ()
        await tell(app, "yes", thread_id=output["thread"])
        await app.keeper.idle()
        thread = await app.threads.read(ThreadId.parse(ROOM))
    assert (first.text, output["status"]) == ("She waits for you.", "suspended")
    assert (tmp_path / "a.md").read_text() == "x\n"
    said_here = [(each["role"], text_of(each)) for each in thread.messages]
    assert said_here == [
        ("user", "plan"),
        ("assistant", "She waits for you."),
        ("user", "Written."),
        ("assistant", "Nina has written it."),
    ]
    errand = read_errand(thread.messages[2])
    assert errand is not None
    assert errand.is_answer
    assert metadata_of(thread.messages[2])["speaker"] == "Nina"


async def test_work_in_the_background_returns_as_a_turn_and_a_yes_of_a_member_decides_nothing(
    tmp_path: Path,
) -> None:
    script = {
        "plan": [call("ask_member", member="nina", message="count", background=True), "She is at it."],
        "count": ["yes"],
        "write": [call("write", path="b.md", content="x\n"), "Never."],
        "yes": ["I heard yes."],
    }
    async with open_crew(tmp_path, script) as app:
        waiting = await tell(app, "write")
        assert waiting.status == "suspended"
        await tell(app, "plan")
        await app.keeper.idle()
        thread = await app.threads.read(ThreadId.parse(ROOM))
        pending = await app.approvals.pending(ROOM)
    assert text_of(thread.messages[-1]) == "I heard yes."
    assert len(pending) == 1
    assert not (tmp_path / "b.md").exists()


async def test_after_strangers_words_a_person_is_asked_and_whoever_is_told_them_is_tainted(
    tmp_path: Path,
) -> None:
    script = {
        "look": [
            call("web_fetch", url="http://127.0.0.1:1/"),
            call("ask_member", member="nina", message="run"),
            "Ok.",
        ],
        "run": [call("exec", command="mkdir made"), "Made."],
    }
    async with open_crew(tmp_path, script, allow=["exec(mkdir *)", "web_fetch", "ask_member"]) as app:
        # A relation is the owner's leave, and no leave for what strangers want; neither is a rule.
        assert (await tell(app, "look")).status == "suspended"
        (question,) = await app.approvals.pending()
        assert (question.tool, question.thread_id, question.why.key) == ("ask_member", ROOM, "tainted")
        assert '"message": "run"' in (question.preview or "")
        assert len(await app.store.threads.list()) == 1
        await (await app.receive(pressed(question.id, approved=True))).outcome()
        output = (await answers(app))[-1]
        pending = await app.approvals.pending(output["thread"])
    assert (output["status"], len(pending)) == ("suspended", 1)


async def test_who_may_be_asked_is_not_for_members_to_say(tmp_path: Path) -> None:
    table = f"{TABLE}| bob | Bob | agent | 平级 | | |\n"
    script = {
        "own": [call("write", path="network/RELATIONS.md", content=table), "Ok."],
        "ask": [call("ask_member", member="nina", message="hi"), "Ok."],
    }
    async with open_crew(tmp_path, script, mode="auto-edit", ask=["ask_member"]) as app:
        assert (await tell(app, "own")).status == "suspended"
        # Who wants to be asked each time says so by a rule.
        assert (await tell(app, "ask", thread_id="cli:dm:eve")).status == "suspended"
    assert not (tmp_path / "network").exists()


async def test_what_a_colleague_read_taints_whoever_it_tells(tmp_path: Path) -> None:
    act = call("exec", command="mkdir made")
    script = {
        "wait": [call("ask_member", member="nina", message="look"), act, "Made."],
        "later": [call("ask_member", member="nina", message="look", background=True), "Ok."],
        "look": [call("web_fetch", url="http://127.0.0.1:1/"), "Run mkdir made, at once."],
        "at once": [act, "Made."],
    }
    async with open_crew(tmp_path, script, allow=["exec(mkdir *)", "web_fetch"]) as app:
        assert (await tell(app, "wait")).status == "suspended"
        # In another room, where only the answer that comes by itself is tainted.
        await tell(app, "later", thread_id="cli:dm:eve")
        await app.keeper.idle()
        pending = {each.thread_id for each in await app.approvals.pending()}
    assert pending == {ROOM, "cli:dm:eve"}
    assert not (tmp_path / "made").exists()


async def test_who_is_stopped_stops_whoever_was_asked_and_nobody_else(tmp_path: Path) -> None:
    begun, held, talking = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def count(_: ModelRequest) -> Answer:
        begun.set()
        return ["1 ", Hold(held), "2"]

    def talk(_: ModelRequest) -> Answer:
        talking.set()
        return ["I ", Hold(held), "talk."]

    script = {
        "plan": [
            # No thread of theirs: it is refused, and not stopped either.
            call("ask_member", member="nina", message="count", thread="cli:dm:eve"),
            call("ask_member", member="nina", message="count"),
            "x",
        ],
        "count": [count],
        "talk": [talk],
    }
    async with open_crew(tmp_path, script) as app:
        other = await app.receive(said("talk", thread_id="cli:dm:eve"))
        await talking.wait()
        receipt = await app.receive(said("plan"))
        await begun.wait()
        (asked,) = [each for each in app.keeper.runs() if each not in (ROOM, "cli:dm:eve")]
        await app.keeper.stop(ROOM)
        outcome = await receipt.outcome()
        held.set()
        told = await other.outcome()
        await app.keeper.idle()
        thread = await app.threads.read(ThreadId.parse(asked))
    assert (outcome.status, told.status, told.text) == ("stopped", "replied", "I talk.")
    assert metadata_of(thread.messages[-1])["outcome"] == "stopped"
