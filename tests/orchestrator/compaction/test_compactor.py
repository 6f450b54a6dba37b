"""A long conversation stays within its model's window, and loses nothing that must be kept."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.errors import ContextTooLongError, ModelDownError
from shipmate.models.port import Finish, Model, ModelEvent, ModelRequest, TextDelta, ToolCall, Usage
from shipmate.models.to_model import to_model_messages
from shipmate.orchestrator.compaction import digest
from shipmate.orchestrator.compaction.clearing import WORDS
from shipmate.priming.export import select_course
from shipmate.thread.course import read_course
from shipmate.tools.toolset import Toolset
from shipmate.values.event import CourseEvent, Outcome
from shipmate.values.message import UIMessage, message_tokens, metadata_of, text_of
from shipmate.values.thread_id import ThreadId
from tests.support.workspace import ROOM, Probe, messages_of, note, pin, said, talk

WINDOW = 8_000
SUMMARY = "## Goal\nA boat.\n## Done\nThe keel.\n## Open\nThe mast.\n## Facts\nOak."
USAGE = Usage(input_tokens=0, output_tokens=1)
Behave = Callable[[ModelRequest], AsyncIterator[ModelEvent]]


async def speak(text: str, reason: Any = "stop") -> AsyncIterator[ModelEvent]:
    yield TextDelta(text)
    yield Finish(reason, USAGE)


class TwoMinds:
    """A model that answers people in one way and sums up in another."""

    name = "two:minds"

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []
        self.summed: list[ModelRequest] = []
        self.sum_up: Behave = lambda _: speak(SUMMARY)
        self.answer: Behave = lambda _: speak("Aye.")

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if request.system == WORDS["system"]:
            self.summed.append(request)
            return self.sum_up(request)
        self.asked.append(request)
        return self.answer(request)


@asynccontextmanager
async def open_small(
    folder: Path, model: Model, tools: tuple[Probe, ...] = (), window: int = WINDOW, **context: Any
) -> AsyncGenerator[Shipmate]:
    (folder / "Agent.md").write_text("# Captain\n")
    settings = {"llm": {"contextWindow": window}, "context": context}
    (folder / "ship.json").write_text(json.dumps(settings))
    async with Shipmate.open(folder, model=model, environ={}, toolset=Toolset(tools)) as app:
        yield app


def row(number: int, role: str, *parts: dict[str, Any], thread_id: str = ROOM) -> UIMessage:
    metadata = {"timestamp": "2026-01-01T00:00:00.000Z", "threadId": thread_id, "course": 1, "userId": "ann"}
    metadata |= {"outcome": "replied"} if role == "assistant" else {"platform": "cli"}
    return {"id": f"m{number}", "role": role, "metadata": metadata, "parts": list(parts)}  # pyright: ignore[reportReturnType]


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def output(call_id: str, text: str) -> dict[str, Any]:
    return {
        "type": "tool-look",
        "toolCallId": call_id,
        "state": "output-available",
        "input": {"mark": call_id},
        "output": text,
    }


def long_talk(count: int = 12, length: int = 2_200, thread_id: str = ROOM) -> list[UIMessage]:
    """Make a conversation of words alone, which no clearing shortens."""
    made: list[UIMessage] = []
    for number in range(count):
        made.append(
            row(
                2 * number,
                "user",
                words(f"Question {number}: mind hull/plan-{number}.md and #{number}41."),
                thread_id=thread_id,
            )
        )
        made.append(row(2 * number + 1, "assistant", words("plank" * (length // 5)), thread_id=thread_id))
    return made


def seen_by(model: TwoMinds) -> str:
    """Give all that the last request says."""
    request = model.asked[-1]
    return str(to_model_messages(request.messages, sidecars=request.sidecars, model=model.name))


async def thread_of(app: Shipmate, thread_id: str = ROOM) -> Any:
    return await app.threads.read(ThreadId.parse(thread_id))


def compact(focus: str = "") -> CourseEvent:
    return CourseEvent(
        platform="cli",
        thread_id=ROOM,
        user_id="ann",
        message_id=f"compact-{random.random()}",
        timestamp="2026-01-01T00:00:00.000Z",
        summarise=True,
        focus=focus,
    )


async def test_a_summary_opens_a_course_before_the_run(tmp_path: Path) -> None:
    model = TwoMinds()
    async with open_small(tmp_path, model) as app:
        await app.threads.create(ThreadId.parse(ROOM), long_talk())
        assert (await note(app, pin("The mast is 12 m."))).status == "replied"
        before = (await thread_of(app)).history()
        outcome = await talk(app, "Now the sails!")
        assert (outcome.status, outcome.text) == ("replied", "Aye.")
        thread = await thread_of(app)
        rows = thread.messages
        assert rows[: len(before)] == before
        assert [each["role"] for each in rows[len(before) :]] == ["user", "system", "assistant"]
        course = read_course(rows[-2])
        assert course is not None
        assert (course.course, course.kept) == (2, (rows[-3]["id"],))
        assert metadata_of(rows[-1])["course"] == 2
        assert sum(map(message_tokens, thread.history())) < sum(map(message_tokens, before))
        # The model reads the pins, the summary, the last words as they were, and what the summary lost.
        request = model.asked[-1]
        read = to_model_messages(request.messages, sidecars=request.sidecars, model=model.name)
        assert [each.role for each in read] == ["user", "assistant", "user"]
        text = seen_by(model)
        wanted = ["The mast is 12 m.", "The keel.", "hull/plan-0.md", "#1141", "Now the sails!"]
        wanted += [text_of(each) for each in before if each["role"] == "user"][-3:]
        assert [each for each in wanted if each not in text] == []
        # The next request begins with this one, and nothing is summed up anew.
        await talk(app, "And the rudder.")
        later = to_model_messages(
            model.asked[-1].messages, sidecars=model.asked[-1].sidecars, model=model.name
        )
        assert later[: len(read)] == read
        assert len(model.summed) == 1
        # What a summary costs is booked.
        used = await app.store.ledger.usage("2000", ROOM)
        assert [each.step for each in used] == [0, 1, 1]
        # A course can be saved with the words it answers.
        told = select_course((await thread_of(app)).messages, 2, 2)
        assert [each["role"] for each in told] == ["system", "user", "assistant", "user", "assistant"]
        # The next summary is made of this one too, and what it loses of its facts is added again.
        model.answer = lambda _: speak("plank " * 1_000)
        model.sum_up = lambda _: speak(SUMMARY.replace("The keel.", "All."))
        for number in range(6):
            await talk(app, f"Tell on, {number}.")
        assert (await thread_of(app)).course == 3
        assert "The keel." in str(model.summed[-1].messages)
        assert "The mast is 12 m." in seen_by(model)
        assert "hull/plan-11.md" in seen_by(model)


FAULTS = ("empty", "blank", "longer", "refuses", "late", "cut", "unfinished", "down", "calls", "half", "good")


def misbehave(fault: str, chance: random.Random) -> Behave:
    """Make a summariser that fails in one way, each time a little differently."""
    filler = " ".join(
        chance.choice(("oak", "pine", "tar", "船", "帆")) for _ in range(chance.randrange(5, 60))
    )

    async def answer(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        match fault:
            case "empty":
                yield Finish("stop", USAGE)
            case "blank":
                yield TextDelta(" \n" * chance.randrange(1, 9))
                yield Finish("stop", USAGE)
            case "longer":
                yield TextDelta(SUMMARY + filler * 300)
                yield Finish("stop", USAGE)
            case "refuses":
                yield TextDelta(f"I cannot help with that. {filler}")
                yield Finish("stop", USAGE)
            case "late":
                yield TextDelta(SUMMARY)
                await asyncio.Event().wait()
            case "cut":
                yield TextDelta(SUMMARY + filler)
                yield Finish("length", USAGE)
            case "unfinished":
                yield TextDelta(SUMMARY)
            case "down":
                yield TextDelta(filler)
                raise ModelDownError(f"away {filler}")
            case "calls":
                yield ToolCall("c1", "look", "{}")
                yield Finish("tool-calls", USAGE)
            case "half":
                yield TextDelta(SUMMARY[: chance.randrange(1, len(SUMMARY) - 16)])
                yield Finish("stop", USAGE)
            case _:
                yield TextDelta(f"{SUMMARY} {filler}")
                yield Finish("stop", USAGE)

    return answer


async def test_two_hundred_faults_of_the_summariser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "SECONDS", 0.005)
    model = TwoMinds()
    counted = dict.fromkeys(FAULTS, 0)
    async with open_small(tmp_path, model, window=4_000) as app:
        for seed in range(200):
            chance = random.Random(seed)
            fault = FAULTS[seed % len(FAULTS)]
            room = f"cli:dm:p{seed}"
            facts = [f"deck-{chance.randrange(10**6)}", f"sheet {chance.random()}"]
            made = long_talk(chance.randrange(6, 9), 2_000, thread_id=room)
            for number, fact in enumerate(facts, 1):
                pinned = {"type": "data-pin", "id": "pin", "data": {"number": number, "text": fact}}
                made.append(row(900 + number, "system", pinned, words(f"Pin: {fact}"), thread_id=room))
            await app.threads.create(ThreadId.parse(room), made)
            model.sum_up = misbehave(fault, chance)
            before = list((await thread_of(app, room)).history())
            outcome = await talk(app, f"Go on {seed}.", thread_id=room)
            assert (outcome.status, outcome.text) == ("replied", "Aye."), (seed, fault)
            thread = await thread_of(app, room)
            assert thread.messages[: len(before)] == before
            text = seen_by(model)
            assert all(fact in text for fact in [*facts, f"Go on {seed}."]), (seed, fault)
            notices = [part["data"] for part in thread.messages[-1]["parts"] if part["type"] == "data-notice"]
            if fault == "good":
                assert thread.course == 2
                assert sum(map(message_tokens, thread.history())) < sum(map(message_tokens, before))
                assert all(f"hull/plan-{number}.md" in text for number in range(6))
            else:
                assert (thread.course, [each["kind"] for each in notices]) == (1, ["not-compacted"]), fault
                assert thread.history()[: len(before)] == before
            counted[fault] += 1
    assert min(counted.values()) >= 18


async def test_old_output_leaves_the_context_first_and_in_steps(tmp_path: Path) -> None:
    model, look = TwoMinds(), Probe("look")
    rows = [row(0, "user", words("Look around."))]
    rows.append(
        row(
            1,
            "assistant",
            *[output(f"c{number}", f"{number} " * 900) for number in range(12)],
            words("Seen."),
        )
    )
    async with open_small(tmp_path, model, (look,)) as app:
        await app.threads.create(ThreadId.parse(ROOM), rows)
        for number in range(4):
            assert (await talk(app, f"Word {number}.")).status == "replied"
        thread = await thread_of(app)
        assert not model.summed
        assert thread.course == 1
        assert thread.messages[1] == rows[1]
        assert 0 < len(thread.cleared) <= 9
        shown = [to_model_messages(each.messages, sidecars=each.sidecars, model="m") for each in model.asked]
        # One clearing, and then each request begins with the one before.
        for earlier, later in pairwise(shown):
            assert later[: len(earlier)] == earlier
        assert str(shown[0]).count("left the context") == len(thread.cleared)
        assert ".ship/logs/calls/" in str(shown[0])
        kept = [part["output"] for part in model.asked[0].messages[1]["parts"] if "output" in part][-3:]
        assert kept == [part["output"] for part in rows[1]["parts"] if "output" in part][-3:]
    # After a restart the same is shown.
    async with open_small(tmp_path, again := TwoMinds(), (look,)) as app:
        await talk(app, "Later.")
        latest = to_model_messages(again.asked[0].messages, sidecars=again.asked[0].sidecars, model="m")
        assert latest[: len(shown[-1])] == shown[-1]


async def test_what_arrives_meanwhile_and_a_kill_lose_nothing(tmp_path: Path) -> None:
    model, held, begun = TwoMinds(), asyncio.Event(), asyncio.Event()

    async def hesitate(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        begun.set()
        await held.wait()
        async for event in speak(SUMMARY):
            yield event

    async def wait(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        begun.set()
        await asyncio.Event().wait()
        yield Finish("stop", USAGE)

    model.sum_up = hesitate
    async with open_small(tmp_path, model) as app:
        await app.threads.create(ThreadId.parse(ROOM), long_talk())
        first = await app.receive(said("First.", message_id="one"))
        await begun.wait()
        # The process ends between the summary and its row.
    async with open_small(tmp_path, model) as app:
        assert (await thread_of(app)).course == 1
        begun.clear()
        first = await app.receive(said("First.", message_id="one"))
        await begun.wait()
        second = await app.receive(said("Second.", message_id="two"))
        held.set()
        assert (await first.outcome()).status == (await second.outcome()).status == "replied"
        asked = [text_of(each) for each in (await messages_of(app))[-5:] if each["role"] == "user"]
        assert asked == ["First.", "Second."]
        assert (await thread_of(app)).course == 2
        assert [text_of(each) for each in model.asked[-1].messages if each["role"] == "user"] == asked
    # And once the row is there, before the answer: the words are answered in the course that it opened.
    other, model.answer = "cli:dm:eve", wait
    async with open_small(tmp_path, model) as app:
        await app.threads.create(ThreadId.parse(other), long_talk(thread_id=other))
        begun.clear()
        await app.receive(said("Third.", message_id="three", thread_id=other))
        await begun.wait()
        assert (await thread_of(app, other)).course == 2
    model.answer, count = lambda _: speak("Aye."), len(model.summed)
    async with open_small(tmp_path, model) as app:
        third = await app.receive(said("Third.", message_id="three", thread_id=other))
        assert (await third.outcome()).text == "Aye."
        assert ((await thread_of(app, other)).course, len(model.summed)) == (2, count)
        assert [text_of(each) for each in model.asked[-1].messages if each["role"] == "user"] == ["Third."]


async def test_a_run_that_reads_much_goes_on_to_its_end(tmp_path: Path) -> None:
    """Within one run outputs are cleared, and what still does not fit is cut for the request."""
    model, look = TwoMinds(), Probe("look")

    async def answer(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        steps = sum("toolCallId" in part for each in request.messages for part in each["parts"])
        if steps < 12:
            yield ToolCall(f"c{steps}", "look", json.dumps({"mark": f"{steps} " * 2_500}))
            yield Finish("tool-calls", USAGE)
        else:
            async for event in speak("Seen."):
                yield event

    model.answer = answer
    async with open_small(tmp_path, model, (look,)) as app:
        outcome = await talk(app, "Look twelve times.")
        assert (outcome.status, outcome.text) == ("replied", "Seen."), outcome.error
        assert len(look.marks) == 12
        assert (await thread_of(app)).cleared
        for request in model.asked:
            assert sum(map(message_tokens, request.messages)) < WINDOW
            assert "Look twelve times." in [text_of(each) for each in request.messages]
        stored = [part["output"] for part in (await messages_of(app))[-1]["parts"] if "output" in part]
        assert all(len(each) > 4_000 for each in stored)


async def test_compact_by_command_carries_what_is_open(tmp_path: Path) -> None:
    model, send, web = TwoMinds(), Probe("send", acts=True), Probe("web", untrusted=True)

    async def call(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield ToolCall("w1", "web", "{}")
        yield ToolCall("s1", "send", '{"mark": "letters/to-bob.md"}')
        yield Finish("tool-calls", USAGE)

    async with open_small(tmp_path, model, (send, web), window=100_000) as app:
        assert (await note(app, compact())).status == "failed"
        await talk(app, "Hello.")
        # Nothing is gained by summing up one word.
        short = await note(app, compact())
        assert (short.status, (await thread_of(app)).course) == ("failed", 1)
        assert "saves too little" in (short.error or "")
        for _ in range(8):
            await talk(app, "Tell me of the mast. " * 60)
        model.answer = call
        assert (await talk(app, "Write to Bob.")).status == "suspended"
        done = await note(app, compact("the mast"))
        assert done.status == "replied", done.error
        assert "summary" in done.text
        assert "the mast" in str(model.summed[-1].messages)
        course = read_course((await messages_of(app))[-1])
        assert course is not None
        assert (course.course, course.tainted, [each.tool for each in course.approvals]) == (
            2,
            True,
            ["send"],
        )
        model.answer = lambda _: speak("Sent.")
        assert (await talk(app, "yes")).text == "Sent."
        assert send.marks == ["letters/to-bob.md"]
        assert "Write to Bob." in seen_by(model)


async def test_a_provider_that_finds_it_too_long_gets_one_more_try(tmp_path: Path) -> None:
    model = TwoMinds()
    refusals = [True]

    async def answer(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if refusals and refusals.pop():
            raise ContextTooLongError("context_length_exceeded")
        async for event in speak("Aye."):
            yield event

    model.answer = answer
    async with open_small(tmp_path, model, window=100_000) as app:
        await app.threads.create(ThreadId.parse(ROOM), long_talk())
        assert (await talk(app, "Now the sails!")).text == "Aye."
        assert (await thread_of(app)).course == 2
        assert "Now the sails!" in seen_by(model)
        # Twice is too often: it says what to do, and the thread goes on.
        refusals[:] = [True, True]
        failed = await talk(app, "Sails again.")
        assert (failed.status, failed.kind) == ("failed", "context")
        assert (await talk(app, "On.")).text == "Aye."


async def test_no_message_makes_a_thread_unusable(tmp_path: Path) -> None:
    """What is too large is named before anything is sent; the next words are answered, whoever sums up."""
    model = TwoMinds()
    model.sum_up = lambda _: speak("")
    async with open_small(tmp_path, model) as app:
        outcome: Outcome = await talk(app, "word " * 20_000)
        assert (outcome.status, outcome.kind, model.asked) == ("failed", "context", [])
        assert outcome.error is not None
        assert "The message of 100,000 characters does not fit" in outcome.error
        assert (await talk(app, "Shorter.")).text == "Aye."
        assert sum(map(message_tokens, model.asked[-1].messages)) < WINDOW
        assert "Shorter." in seen_by(model)
        # Off, nothing is summed up, and it still fits.
    async with open_small(tmp_path, model, compactAt=0) as app:
        model.summed.clear()
        assert (await talk(app, "Once more.")).text == "Aye."
        assert (model.summed, (await thread_of(app)).course) == ([], 1)
