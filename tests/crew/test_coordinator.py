"""Several members in one thread: the word passes by name, from seat to seat, and people cut in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.app import Shipmate
from shipmate.crew import coordinator
from shipmate.crew.mention import find_mentions
from shipmate.models.scripted import Hold, ScriptedModel, call
from shipmate.values.message import metadata_of, text_of
from shipmate.values.thread_id import ThreadId
from tests.crew.test_ask_member import open_crew, tell
from tests.support.workspace import ROOM, said


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@nina please look", ["nina"]),
        ("Ready.\n  @Nina\n@bob", ["Nina", "bob"]),
        ("write to me@nina.example or see @nina", []),
        ("done [NEXT: nina, Bob Jones]", ["nina", "Bob Jones"]),
        ("[next:bob] and again\n@bob", ["bob"]),
        ("```py\n@property\ndef a(): ...\n```\nand `[NEXT: nina]`", []),
        ("~~~\n@nina\n", []),
        ("[NEXT: ]", []),
        ("@nina.b and more\n@bob.", ["nina.b", "bob"]),
        ("> @nina\n> [NEXT: bob]\nas he said", []),
        ("<!-- [NEXT: nina]\n@bob\n-->\n<!--\n@captain", []),
        ("``a ` [NEXT: nina]`` and `x` @bob", []),
        ("| @nina | 4 m |\n    @bob", []),
        ("`" * 100_000, []),
        ("```" * 50_000, []),
        ("[NEXT: " * 50_000, []),
        ("\n".join(f"@m{number}" for number in range(10_000)), [f"m{number}" for number in range(32)]),
    ],
)
def test_a_name_counts_at_the_start_of_a_line_or_in_a_mark_and_never_in_code(
    text: str, names: list[str]
) -> None:
    assert [each.name for each in find_mentions(text)] == names


async def transcript(app: Shipmate) -> list[tuple[str, str]]:
    thread = await app.threads.read(ThreadId.parse(ROOM))
    found: list[tuple[str, str]] = []
    for each in thread.messages:
        passed = [part["data"] for part in each["parts"] if part.get("type") == "data-handoff"]
        who = (
            f"{passed[0]['from']}→{passed[0]['to']}"
            if passed
            else metadata_of(each).get("member") or each["role"]
        )
        found.append((who, text_of(each)))
    return found


async def test_the_word_goes_round_and_each_hears_the_others_from_its_own_seat(tmp_path: Path) -> None:
    script = [
        "I would ask.\n@nina how long?",
        "4 m.\n[NEXT: bob, nobody]",
        "Cut.",
        "Thanks, all.",
    ]
    async with open_crew(tmp_path, script) as app:
        await tell(app, "make a table")
        await app.keeper.idle()
        told = await transcript(app)
        await tell(app, "@bob anything else?")
        await app.keeper.idle()
        again = await transcript(app)
        model = app.model
        thread = await app.threads.read(ThreadId.parse(ROOM))
    assert told == [
        ("user", "make a table"),
        ("assistant", "I would ask.\n@nina how long?"),
        ("captain→nina", ""),
        ("nina", "4 m.\n[NEXT: bob, nobody]"),
        ("nina→bob", ""),
        ("bob", "Cut."),
    ]
    assert again[len(told) :] == [("user", "@bob anything else?"), ("bob", "Thanks, all.")]
    assert isinstance(model, ScriptedModel)
    heard = [(each["role"], text_of(each)) for each in model.requests[2].messages if text_of(each)]
    assert heard == [
        ("user", "make a table"),
        ("user", "I would ask.\n@nina how long?"),
        ("user", "4 m.\n[NEXT: bob, nobody]"),
    ]
    assert metadata_of(model.requests[2].messages[1])["speaker"] == "captain"
    notices = [part["data"]["text"] for part in thread.messages[3]["parts"] if part["type"] == "data-notice"]
    assert notices == ["Nobody here is called nobody. There are: captain, bob, nina."]


async def test_members_stop_passing_the_word_until_a_person_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "MAX_HOPS", 3)
    async with open_crew(tmp_path, ["@nina", "@bob", "@captain", "@nina", "never"]) as app:
        await tell(app, "begin")
        await app.keeper.idle()
        told = await transcript(app)
        thread = await app.threads.read(ThreadId.parse(ROOM))
    assert [who for who, _ in told] == [
        "user",
        "assistant",
        "captain→nina",
        "nina",
        "nina→bob",
        "bob",
        "bob→captain",
        "assistant",
    ]
    notice = [part["data"]["text"] for part in thread.messages[-1]["parts"] if part["type"] == "data-notice"]
    assert notice == [
        "Members pass the word 3 times at most until a person speaks, so nina is not called. "
        "Say `@nina` to go on."
    ]


async def test_however_many_are_named_the_word_passes_no_more_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "MAX_HOPS", 3)
    # Each names itself too, and others twice.
    everybody = "[NEXT: captain, nina, bob, Nina, Bob]"
    async with open_crew(tmp_path, [everybody] * 9) as app:
        await tell(app, "begin")
        await app.keeper.idle()
        told = await transcript(app)
    assert [who for who, _ in told if "→" in who] == ["captain→nina", "captain→bob", "nina→captain"]


async def test_an_answer_goes_to_who_asked_and_no_loop_of_answers_and_words_is_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "MAX_HOPS", 2)
    asks = call("ask_member", member="bob", message="count", background=True)
    # Whoever gets the word asks and passes it on, and so does whoever gets an answer.
    script = {"begin": ["@nina"], "count": ["1"], "": [asks, "[NEXT: nina, captain]"]}
    async with open_crew(tmp_path, script) as app:
        await tell(app, "begin")
        await app.keeper.idle()
        told = await transcript(app)
    assert told[told.index(("user", "1")) + 1][0] == "nina"
    assert [who for who, _ in told if "→" in who] == ["captain→nina", "nina→captain"]


async def test_a_person_cuts_in_before_the_next_member(tmp_path: Path) -> None:
    going = asyncio.Event()
    script = {"begin": [["@nina ", Hold(going), "go"]], "wait": ["I wait."], "": ["Never."]}
    async with open_crew(tmp_path, script) as app:
        async with app.keeper.watch(ROOM) as queue:
            first = await app.receive(said("begin"))
            await queue.get()
        second = await app.receive(said("wait"))
        going.set()
        await first.outcome()
        await second.outcome()
        await app.keeper.idle()
        told = await transcript(app)
    assert told == [("user", "begin"), ("assistant", "@nina go"), ("user", "wait"), ("assistant", "I wait.")]


async def test_an_approval_in_the_middle_is_the_members_that_asked(tmp_path: Path) -> None:
    script = [
        "@nina write it",
        call("write", path="a.md", content="x\n"),
        "Written. [NEXT: captain]",
        "All done.",
    ]
    async with open_crew(tmp_path, script) as app:
        await tell(app, "make it")
        await app.keeper.idle()
        (question,) = await app.approvals.pending(ROOM)
    async with open_crew(tmp_path, script[2:]) as app:
        await tell(app, "yes")
        await app.keeper.idle()
        told = await transcript(app)
    assert question.initiators == ()
    assert (tmp_path / "a.md").read_text() == "x\n"
    assert told[-3:] == [
        ("nina", "Written. [NEXT: captain]"),
        ("nina→captain", ""),
        ("assistant", "All done."),
    ]
