from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from shipmate import ApprovalReplyEvent, ScriptedModel, Shipmate, TextEvent, call
from shipmate.errors import PrimingError
from shipmate.priming.script.parse import parse_script
from shipmate.priming.script.writer import write_script
from shipmate.rehearsal.perform import DENIAL_LIMIT, perform
from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.workspace.layout import Layout
from tests.support.cassette import (
    STEP,
    approved,
    called,
    denied,
    failed,
    make_script,
    make_workspace,
    pieces_of,
    snapshot,
    told,
    wish,
    words,
)
from tests.support.provider_server import ProviderServer, Recorded
from tests.support.provider_wire import Call, Reply, ask_tools, refuse, say

REMINDER = {"content": "Mind the tide.", "id": "r1", "scope": "dialog"}
WRITE = {"path": "log.md", "content": "All is well.\n"}


async def test_p2_a_script_in_which_a_member_acted_is_played_as_it_was_recorded(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    before = snapshot(tmp_path)
    script = make_script(
        (
            "keep a log",
            [
                STEP,
                words("I look first."),
                called("read", "r1", output="nothing yet", path="log.md"),
                STEP,
                approved(called("write", "w1", output="Created log.md: 1 line.", **WRITE)),
                STEP,
                words("Written."),
            ],
        ),
        ("thanks", [words("You are welcome.")]),
    )
    performed = await perform(layout, script, Setting(model="script", tools="script"))
    assert told(performed) == [
        [
            ("words", "I look first."),
            ("call", "read"),
            ("result", "read"),
            ("call", "write"),
            ("result", "write"),
            ("words", "Written."),
        ],
        [("words", "You are welcome.")],
    ]
    assert [turn.stopped for turn in performed.turns] == ["", ""]
    assert [turn.missed for turn in performed.turns] == [[], []]
    assert [turn.cost_usd for turn in performed.turns] == [0, 0]
    assert snapshot(tmp_path) == before, "what is answered from the script leaves no trace"


async def test_a_recorded_denial_is_repeated(tmp_path: Path) -> None:
    script = make_script(("keep a log", [denied("write", **WRITE), words("Then not.")]))
    performed = await perform(make_workspace(tmp_path), script, Setting(model="script"))
    assert told(performed) == [[("call", "write"), ("denial", "write"), ("words", "Then not.")]]
    assert performed.turns[0].missed == []


async def test_the_same_call_denied_and_then_approved_is_answered_in_order(tmp_path: Path) -> None:
    script = make_script(
        (
            "keep a log",
            [
                denied("write", "w1", **WRITE),
                STEP,
                approved(called("write", "w2", output="Created.", **WRITE)),
                STEP,
                words("Now."),
            ],
        )
    )
    performed = await perform(make_workspace(tmp_path), script, Setting(model="script"))
    assert [kind for kind, _ in told(performed)[0]] == ["call", "denial", "call", "result", "words"]


async def test_calls_beside_each_other_get_each_its_own_decision(tmp_path: Path) -> None:
    parts = [
        approved(called("write", "w1", output="Created.", **WRITE)),
        denied("write", "w2", **WRITE),
        called("write", "w3", output="Again.", **WRITE),
        STEP,
        words("Some."),
    ]
    script = make_script(("keep a log", parts))
    performed = await perform(make_workspace(tmp_path), script, Setting(model="script"))
    results = [(piece.kind, piece.text) for piece in pieces_of(performed)[0] if piece.kind != "call"]
    assert results == [("result", "Created."), ("denial", ""), ("result", "Again."), ("words", "Some.")]


async def test_recorded_errors_and_files_are_told_again(tmp_path: Path) -> None:
    shown = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA=="}
    script = make_script(
        (
            "show it",
            [
                failed("read", "r1", error="a.md: there is no such file or folder.", path="a.md"),
                STEP,
                called("show_image", "s1", output="Shown: a.png", path="a.png"),
                shown,
                STEP,
                words("There."),
            ],
        )
    )
    performed = await perform(make_workspace(tmp_path), script, Setting(model="script"))
    assert [kind for kind, _ in told(performed)[0]] == ["call", "error", "call", "result", "file", "words"]


async def test_a_rule_that_denies_by_now_is_found(tmp_path: Path) -> None:
    script = make_script(
        ("keep a log", [called("write", output="Created.", **WRITE), STEP, words("Written.")])
    )
    layout = make_workspace(tmp_path, permissions={"deny": ["write"]})
    performed = await perform(layout, script, Setting(model="script"))
    assert told(performed) == [[("call", "write"), ("error", "write"), ("words", "Written.")]]
    assert pieces_of(performed)[0][1].text.startswith("not allowed")


@pytest.mark.parametrize(
    "part",
    [denied("write", **WRITE), failed("write", error="not allowed: a rule denies it", **WRITE)],
    ids=["person", "rule"],
)
async def test_what_was_refused_and_runs_unasked_by_now_is_found(
    tmp_path: Path, part: dict[str, object]
) -> None:
    script = make_script(("keep a log", [part, STEP, words("No.")]))
    layout = make_workspace(tmp_path, permissions={"mode": "yolo"})
    performed = await perform(layout, script, Setting(model="script"))
    assert [kind for kind, _ in told(performed)[0]] == ["call", "error", "words"]
    assert "was refused" in pieces_of(performed)[0][1].text
    assert performed.turns[0].missed == [
        'write {"path": "log.md", "content": "All is well.\\n"}: it was refused then, and runs now'
    ]
    assert not (tmp_path / "log.md").exists()


async def test_tools_that_only_the_script_knows_are_answered_too(tmp_path: Path) -> None:
    script = make_script(
        ("look it up", [called("mcp__sea__depth", output={"fathoms": 12}, place="here"), STEP, words("12.")])
    )
    performed = await perform(make_workspace(tmp_path), script, Setting(model="script"))
    assert pieces_of(performed)[0][1].value == {"fathoms": 12}


async def test_a_script_that_ends_with_a_call_ends_there(tmp_path: Path) -> None:
    script = make_script(("look", [called("read", output="Hello.", path="a.md")]), ("and?", []))
    performed = await perform(make_workspace(tmp_path), script, Setting(model="script"))
    assert told(performed) == [[("call", "read"), ("result", "read")], []]
    assert [turn.stopped for turn in performed.turns] == ["", ""]


async def test_a_script_nobody_speaks_in_cannot_be_performed(tmp_path: Path) -> None:
    script = parse_script("### record agent_words_record\n```\n---\ngenseq: 1\n---\nhi\n```\n")
    with pytest.raises(PrimingError, match="no user turn"):
        await perform(make_workspace(tmp_path), script, Setting(model="script"))


async def test_a_model_that_cannot_be_had_is_told_apart_from_a_deviation(tmp_path: Path) -> None:
    script = make_script(("hello", [words("Hello.")]))
    performed = await perform(make_workspace(tmp_path), script, Setting(model="nobody:nothing"))
    assert performed.turns == []
    assert "nobody" in performed.unusable


def speaking(root: Path, server: ProviderServer) -> Layout:
    """Make a workspace whose member's model is the server's."""
    llm = {
        "provider": "openai-compatible",
        "model": "m",
        "baseUrl": f"{server.url}/v1",
        "apiKey": "k",
        "maxRetries": 0,
    }
    return make_workspace(root, llm=llm)


ASKED = called("read", "r1", output="Hello from then.", path="a.md")


async def test_a_model_is_answered_by_name_and_arguments(tmp_path: Path) -> None:
    script = make_script(("read it", [ASKED, STEP, words("It says hello.")]))
    async with ProviderServer() as server:
        server.script(ask_tools(Call("read", '{"path": "a.md", "offset": 1}')), say("Hello, it says."))
        layout = speaking(tmp_path, server)
        performed = await perform(layout, script, Setting())
    assert [path.parent for path in layout.ship.rglob("*") if path.is_file()] == [layout.usage], "it was paid"
    assert [(piece.kind, piece.text) for piece in pieces_of(performed)[0]] == [
        ("call", ""),
        ("result", "Hello from then."),
        ("words", "Hello, it says."),
    ]
    assert performed.turns[0].missed == []


async def test_a_call_that_was_not_recorded_is_missed_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("as it is now")
    script = make_script(("read it", [ASKED, STEP, words("It says hello.")]))
    async with ProviderServer() as server:
        server.script(
            ask_tools(Call("read", '{"path": "b.md"}')),
            ask_tools(Call("read", '{"path": "a.md"}')),
            ask_tools(Call("read", '{"path": "a.md"}')),
            ask_tools(Call("write", '{"path": "a.md", "content": "x"}')),
            say("Well."),
        )
        performed = await perform(speaking(tmp_path, server), script, Setting())
    kinds = [piece.kind for piece in pieces_of(performed)[0]]
    assert kinds == ["call", "error", "call", "result", "call", "error", "call", "denial", "words"]
    assert performed.turns[0].missed == [
        'read {"path": "b.md", "offset": 1, "limit": 100000}: the script has no such call left',
        'read {"path": "a.md", "offset": 1, "limit": 100000}: the script has no such call left',
        'write {"path": "a.md", "content": "x"}: the script has no such call left',
    ]
    assert not (tmp_path / "a.md").exists()


@pytest.mark.parametrize("forced", [False, True])
async def test_forced_puts_the_scripts_own_history_before_each_turn(tmp_path: Path, forced: bool) -> None:
    script = make_script(
        ("one", [words("first, as recorded")]), ("two", [words("second")]), reminders=[REMINDER]
    )
    async with ProviderServer() as server:
        server.script(say("first, as of now"), say("second"))
        performed = await perform(speaking(tmp_path, server), script, Setting(forced=forced))
        sent = json.dumps(server.requests[1].body["messages"])
        pinned = [json.dumps(request.body["messages"]) for request in server.requests]
    assert ("first, as recorded" in sent) is forced
    assert ("first, as of now" in sent) is not forced
    assert all("Mind the tide." in each for each in pinned), "reminders hold from the beginning"
    assert told(performed) == [[("words", "first, as of now")], [("words", "second")]]


async def test_one_turn_that_breaks_does_not_spoil_the_rest_when_forced(tmp_path: Path) -> None:
    script = make_script(("one", [words("1")]), ("two", [words("2")]))
    for forced, expected in ((False, 1), (True, 2)):
        async with ProviderServer() as server:
            server.script(say(""), say("2"))
            performed = await perform(speaking(tmp_path, server), script, Setting(forced=forced))
        assert len(performed.turns) == expected
        assert "nothing" in performed.turns[0].stopped
        assert performed.unusable == ""


async def test_a_provider_that_refuses_the_key_makes_the_rehearsal_unusable(tmp_path: Path) -> None:
    script = make_script(("one", [words("1")]), ("two", [words("2")]))
    async with ProviderServer() as server:
        server.script(say("1"), refuse(401, "wrong key"))
        performed = await perform(speaking(tmp_path, server), script, Setting())
    assert performed.unusable
    assert told(performed) == [[("words", "1")]]


async def grant_writing(root: Path) -> str:
    """Let a person allow a call for always; return the id of the grant."""
    async with Shipmate.open(root, model=ScriptedModel([[call("write", **WRITE)], "Done."])) as ship:
        event: dict[str, Any] = {
            "platform": "cli",
            "thread_id": "cli:dm:ann",
            "user_id": "ann",
            "timestamp": "",
        }
        await (await ship.receive(TextEvent(**event, message_id="1", text="go"))).outcome()
        (question,) = await ship.approvals.pending()
        answer = ApprovalReplyEvent(
            **event, message_id="2", text="", approval_id=question.id, approved=True, scope="always"
        )
        await (await ship.receive(answer)).outcome()
        (grant,) = await ship.approvals.grants()
    (root / "log.md").unlink()
    return grant.id


async def test_grants_hold_for_live_tools_alone_and_only_while_they_are_in_force(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    grant_id = await grant_writing(tmp_path)
    said = wish("write", **WRITE)
    script = make_script((said, [called("write", output="recorded", **WRITE), STEP, words("Done.")]))
    performed = await perform(layout, script, Setting(model="rehearsal", tools="live"))
    assert [kind for kind, _ in told(performed)[0]] == ["words", "call", "result", "words"]
    assert (tmp_path / "log.md").exists()
    (tmp_path / "log.md").unlink()
    async with Shipmate.open(tmp_path) as ship:
        await ship.approvals.revoke(grant_id)
    performed = await perform(layout, script, Setting(model="rehearsal", tools="live"))
    (denial,) = [piece for piece in pieces_of(performed)[0] if piece.kind == "denial"]
    reason = "it was asked because no rule allows it"
    assert denial.text == f"a rehearsal approves nothing real; {reason}"
    assert not (tmp_path / "log.md").exists()


async def test_a_grant_that_is_revoked_in_the_middle_of_a_turn_holds_no_longer(tmp_path: Path) -> None:
    write = ask_tools(Call("write", json.dumps(WRITE)))
    replies = iter((write, write, say("Not done.")))

    async def revoke() -> None:
        async with Shipmate.open(tmp_path) as ship:
            await ship.approvals.revoke(grant_id)

    def answer(request: Recorded) -> Reply:
        if len(server.requests) == 2:
            (tmp_path / "log.md").unlink()
            worker = threading.Thread(target=asyncio.run, args=[revoke()])
            worker.start()
            worker.join()
        return next(replies)

    parts = [called("write", output="recorded", **WRITE), STEP, words("Done.")]
    async with ProviderServer(answer) as server:
        layout = speaking(tmp_path, server)
        grant_id = await grant_writing(tmp_path)
        performed = await perform(layout, make_script(("go", parts)), Setting(tools="live"))
    assert [kind for kind, _ in told(performed)[0]] == ["call", "result", "call", "denial", "words"]
    assert not (tmp_path / "log.md").exists()


async def test_a_model_that_keeps_asking_for_what_is_denied_is_stopped(tmp_path: Path) -> None:
    def answer(request: Recorded) -> Reply:
        return ask_tools(Call("write", json.dumps({"path": "a.md", "content": str(len(server.requests))})))

    script = make_script(("go", [words("Done.")]), ("and?", [words("Yes.")]))
    async with ProviderServer(answer) as server:
        performed = await perform(speaking(tmp_path, server), script, Setting(tools="live"))
        assert len(server.requests) == DENIAL_LIMIT + 1
    assert [bool(turn.stopped) for turn in performed.turns] == [True]
    assert not (tmp_path / "a.md").exists()


async def test_what_stands_before_anybody_spoke_is_told_first_and_a_cost_nobody_knows_is_none(
    tmp_path: Path,
) -> None:
    first = "### record agent_words_record\n```\n---\ngenseq: 1\n---\nWelcome aboard.\n```\n"
    script = parse_script(first + write_script(make_script(("hello", [words("Hello.")]))))
    async with ProviderServer() as server:
        server.script(say("Hello."))
        performed = await perform(speaking(tmp_path, server), script, Setting())
        assert "Welcome aboard." in json.dumps(server.requests[0].body["messages"])
    assert told(performed) == [[("words", "Hello.")]]
    assert performed.turns[0].cost_usd is None


async def test_words_said_one_after_the_other_are_one_turn_when_forced(tmp_path: Path) -> None:
    script = make_script(("one", []), ("more words", [words("Ahoy-1")]), ("two", [words("Ahoy-2")]))
    async with ProviderServer() as server:
        server.script(say("Ahoy-1"), say("Ahoy-2"))
        performed = await perform(speaking(tmp_path, server), script, Setting(forced=True))
        asked, again = (json.dumps(request.body["messages"]) for request in server.requests)
    assert told(performed) == [[("words", "Ahoy-1")], [("words", "Ahoy-2")]]
    assert (asked.count("more words"), "Ahoy-1" in asked) == (1, False)
    assert "Ahoy-1" in again
    assert "two" in again


@pytest.mark.parametrize("status", [400, 403, 429, 503])
async def test_a_provider_that_does_not_answer_is_no_deviation(tmp_path: Path, status: int) -> None:
    async with ProviderServer() as server:
        server.script(refuse(status, "not now"))
        performed = await perform(speaking(tmp_path, server), make_script(("one", [words("1")])), Setting())
    assert performed.turns == []
    assert performed.unusable
