"""Threads leave something to remember: asked in one question, then told in every next request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.app import Shipmate
from shipmate.errors import ModelDownError
from shipmate.memory.memory_entry import read_memory
from shipmate.memory.service import MemoryService
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta, Usage
from shipmate.models.to_model import to_model_messages
from shipmate.orchestrator.compaction import digest
from shipmate.orchestrator.compaction.clearing import WORDS
from shipmate.thread.course import read_course
from shipmate.tools.file.memory_upsert import MemoryUpsert
from shipmate.tools.tool import Tool
from shipmate.tools.toolset import Toolset
from shipmate.values.event import CourseEvent
from shipmate.values.thread_id import ThreadId
from tests.orchestrator.compaction.test_compactor import SUMMARY, long_talk
from tests.support.workspace import ROOM, Probe, course, messages_of, note, pressed, talk

USAGE = Usage(input_tokens=1, output_tokens=1)
FOUND = [
    {
        "scope": "project",
        "kind": "decision",
        "heading": "Release day",
        "content": "Releases go out on Thursdays.",
    },
    {"scope": "user", "kind": "preference", "heading": "Tone", "content": "Short answers, please."},
]


async def speak(text: str, reason: Any = "stop") -> AsyncIterator[ModelEvent]:
    yield TextDelta(text)
    yield Finish(reason, USAGE)


class Minds:
    """A model that answers people, sums up and distils, each in its own way."""

    name = "three:minds"

    def __init__(self, *found: Any) -> None:
        self.asked: list[ModelRequest] = []
        self.looked: list[ModelRequest] = []
        self.order: list[str] = []
        self.found = [json.dumps(each) if isinstance(each, list) else each for each in found or (FOUND,)]
        self.distil: Callable[[ModelRequest], AsyncIterator[ModelEvent]] = lambda _: speak(
            self.found.pop(0) if self.found else "[]"
        )
        self.words = "Aye."

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if request.system == WORDS["system"]:
            self.order.append("sum up")
            return speak(SUMMARY)
        if "JSON list" in request.system:
            self.order.append("distil")
            self.looked.append(request)
            return self.distil(request)
        self.order.append("answer")
        self.asked.append(request)
        return speak(self.words)


@asynccontextmanager
async def open_with_rule(
    folder: Path, model: Minds, *tools: Tool[Any], rule: str = "{every: 2}", **settings: Any
) -> AsyncGenerator[Shipmate]:
    (folder / "Agent.md").write_text(f"---\nmemory: {rule}\n---\n\n# Captain\n")
    (folder / "ship.json").write_text(json.dumps(settings))
    toolset = Toolset((MemoryUpsert(), *tools))
    async with Shipmate.open(folder, model=model, environ={}, toolset=toolset) as app:
        yield app


def compact() -> CourseEvent:
    return msgspec.structs.replace(course(), summarise=True)


def notices(message: Any) -> list[str]:
    return [part["data"]["text"] for part in message["parts"] if part["type"] == "data-notice"]


@pytest.mark.parametrize("profile", ["shipmate", "nanobot", "zyhive"])
async def test_m3_what_is_agreed_to_is_in_the_next_request_and_nothing_is_written_unasked(
    tmp_path: Path, profile: str
) -> None:
    model = Minds()
    # Not even where everything else runs unasked.
    settings: dict[str, Any] = {"context": {"profile": profile}, "permissions": {"mode": "yolo"}}
    async with open_with_rule(tmp_path, model, **settings) as app:
        assert (await talk(app, "we release on Thursdays")).status == "replied"
        asked = await talk(app, "be short")
        (question,) = await app.approvals.pending()
        assert (asked.status, asked.text, question.tool) == ("suspended", "Aye.", "remember")
        assert "+Releases go out on Thursdays." in (question.preview or "")
        assert "users/cli.ann.md" in (question.preview or "")
        assert question.why.key == "memory"
        assert question.coverage is None
        service = MemoryService(app.layout)
        assert service.files() == []
    async with open_with_rule(tmp_path, model, **settings) as app:
        # One word, after a restart.
        answered = await talk(app, "yes")
        assert (answered.status, len(model.asked)) == ("replied", 2)
        message = (await messages_of(app))[-1]
        assert notices(message) == ["Remembered: Release day, Tone"]
        (entry,) = read_memory(app.layout.project_memory.read_text()).entries
        assert (entry.kind, entry.source, entry.is_tainted) == ("decision", ROOM, False)
        await talk(app, "hello again")
        sent = model.asked[-1].system + str(
            to_model_messages(model.asked[-1].messages, sidecars=model.asked[-1].sidecars, model=model.name)
        )
        assert "> Releases go out on Thursdays." in sent
        assert "> Short answers, please." in sent
        assert "remember" not in str(to_model_messages(model.asked[-1].messages))
        assert not app.orchestrator.is_tainted(await app.threads.read(ThreadId.parse(ROOM)))
        # What is remembered is told to who looks next, and only new words are looked through.
        await talk(app, "and on")
        assert "> Releases go out on Thursdays." in str(model.looked[-1].messages)
        assert "be short" not in str(model.looked[-1].messages)


async def test_a_no_writes_nothing_and_a_late_yes_still_counts_without_a_model(tmp_path: Path) -> None:
    changed = [{**FOUND[0], "content": "Releases go out on Fridays."}]
    model = Minds(FOUND, FOUND, changed)
    async with open_with_rule(tmp_path, model) as app:
        await talk(app, "one")
        await talk(app, "two")
        (question,) = await app.approvals.pending()
        await (await app.receive(pressed(question.id, approved=False))).outcome()
        assert MemoryService(app.layout).files() == []
        assert await app.approvals.pending() == []
        # The talk goes on beside a question; the question waits.
        await talk(app, "three")
        await talk(app, "four")
        (question,) = await app.approvals.pending()
        assert (await talk(app, "five, whatever")).status == "replied"
        before = len(model.asked)
        late = await (await app.receive(pressed(question.id, approved=True))).outcome()
        assert (late.status, len(model.asked)) == ("replied", before)
        assert "Thursdays" in app.layout.project_memory.read_text()
        # What contradicts it takes its place, and the earlier words are kept.
        await talk(app, "six: Fridays then")
        (question,) = await app.approvals.pending()
        assert "-Releases go out on Thursdays." in (question.preview or "")
        await talk(app, "yes")
        service = MemoryService(app.layout)
        assert "Thursdays" not in service.read(app.layout.project_memory)
        assert "Thursdays" in service.log(app.layout.project_memory)[0].before
        service.undo()
        assert "Thursdays" in service.read(app.layout.project_memory)


async def refuse(_: ModelRequest) -> AsyncIterator[ModelEvent]:
    raise ModelDownError("no answer")
    yield Finish("stop", USAGE)


async def stall(_: ModelRequest) -> AsyncIterator[ModelEvent]:
    await asyncio.Event().wait()
    yield Finish("stop", USAGE)


@pytest.mark.parametrize(
    ("distil", "why"),
    [
        (lambda _: speak(""), "answered with nothing"),
        (lambda _: speak("I cannot help with that."), "no list of memories"),
        (lambda _: speak(json.dumps(FOUND * 20)), "more than it may"),
        (lambda _: speak("[" + " " * 20_000 + "]"), "more than it may"),
        (lambda _: speak(json.dumps(FOUND), "length"), "broke off"),
        (lambda _: speak('[{"scope": "world", "heading": "x", "content": "y"}]'), "no list of memories"),
        (refuse, "no answer"),
        (stall, "within 0 s"),
    ],
)
async def test_a_model_that_answers_badly_changes_nothing_and_is_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distil: Any, why: str
) -> None:
    monkeypatch.setattr(digest, "SECONDS", 0.05)
    model = Minds()
    model.distil = distil
    async with open_with_rule(tmp_path, model) as app:
        await talk(app, "one")
        bad = await talk(app, "two")
        (said,) = notices((await messages_of(app))[-1])
        assert (bad.status, bad.text) == ("replied", "Aye.")
        assert "nothing changes" in said
        assert why in said
        await talk(app, "three")
        assert len(model.looked) == 1
        assert notices((await messages_of(app))[-1]) == []
        # Later it is tried again, with all that was not looked through.
        model.distil = lambda _: speak(json.dumps(FOUND))
        assert (await talk(app, "four")).status == "suspended"
        assert "one" in str(model.looked[-1].messages)
        assert MemoryService(app.layout).files() == []


async def test_what_must_not_be_remembered_is_left_out_whatever_the_model_says(tmp_path: Path) -> None:
    bad = [
        {"scope": "project", "heading": "Key", "content": "The key is sk-ant-REDACTED."},
        {"scope": "project", "heading": "Place", "content": "All lies in /home/ann/boat."},
        {"scope": "user", "heading": "Bob", "content": "Bob is at bob@example.org."},
        {"scope": "user", "heading": "Pay", "content": "The salary is due."},
        {"scope": "user", "heading": "Gone", "content": ""},
        {"scope": "project", "kind": "fact", "heading": "Hull", "content": "Oak."},
    ]
    model = Minds([*bad, *FOUND])
    rule = "{every: 1, keep: [decision], avoid: [salary]}"
    probe = Probe("web", untrusted=True)
    async with open_with_rule(
        tmp_path, model, probe, rule=rule, memory={"keep": ["decision", "fact"]}
    ) as app:
        await talk(app, "one")
        (question,) = await app.approvals.pending()
        assert [each["heading"] for each in question.input["entries"]] == ["Hull", "Release day"]
        assert "salary" in str(model.looked[0].messages)
    # Of people in a group, and where an answer ends with a question: nobody is asked.
    for place, text, changed in (("telegram:group:1", "Aye.", FOUND[1:]), (ROOM, "Shall I?", FOUND)):
        model = Minds(changed)
        model.words = text
        folder = tmp_path / place.partition(":")[0]
        folder.mkdir()
        async with open_with_rule(folder, model, rule="{every: 1}") as app:
            outcome = await talk(app, "one", thread_id=place, platform=place.partition(":")[0])
            assert outcome.status == "replied"
            assert await app.approvals.pending() == []


async def test_before_a_summary_facts_are_offered_and_strangers_words_are_said_to_be_such(
    tmp_path: Path,
) -> None:
    model = Minds()
    context = {"llm": {"contextWindow": 8_000}}
    probe = Probe("web", untrusted=True)
    async with open_with_rule(tmp_path, model, probe, rule="{every: 500}", **context) as app:
        rows = long_talk()
        rows[1]["parts"].insert(
            0,
            {
                "type": "tool-web",
                "toolCallId": "c1",
                "state": "output-available",
                "input": {"mark": ""},
                "output": "strange words of a page",
            },
        )
        async with app.threads.open(ThreadId.parse(ROOM)) as thread:
            await thread.append(*rows)
        outcome = await talk(app, "go on")
        assert model.order == ["distil", "sum up", "answer"]
        assert "strange words" not in str(model.looked[0].messages)
        assert "Question 3" in str(model.looked[0].messages)
        (question,) = await app.approvals.pending()
        assert (outcome.status, question.why.key) == ("suspended", "memory-tainted")
        assert '"tainted":true' in (question.preview or "")
        assert any(read_course(each) for each in await messages_of(app))
        await talk(app, "yes")
        assert "Strangers may have had a hand" in app.captain.context.memory.get_memory_context()


async def test_a_typed_compact_offers_first_as_well(tmp_path: Path) -> None:
    model = Minds()
    async with open_with_rule(tmp_path, model, rule="{every: 500}") as app:
        async with app.threads.open(ThreadId.parse(ROOM)) as thread:
            await thread.append(*long_talk(4))
        assert (await note(app, compact())).status == "replied"
        assert model.order == ["distil", "sum up"]
        (question,) = await app.approvals.pending()
        assert question.tool == "remember"
        answered = await talk(app, "yes")
        assert (answered.status, model.order) == ("replied", ["distil", "sum up"])
        assert "Thursdays" in app.layout.project_memory.read_text()


async def test_stop_ends_a_typed_compact_as_well(tmp_path: Path) -> None:
    model = Minds()
    begun = asyncio.Event()

    async def wait(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        begun.set()
        await asyncio.Event().wait()
        yield Finish("stop", USAGE)

    model.distil = wait
    async with open_with_rule(tmp_path, model) as app:
        async with app.threads.open(ThreadId.parse(ROOM)) as thread:
            await thread.append(*long_talk(4))
        before = len(await messages_of(app))
        receipt = await app.receive(compact())
        await begun.wait()
        assert await app.keeper.stop(ROOM)
        outcome = await receipt.outcome()
        assert (outcome.status, model.order) == ("stopped", ["distil"])
        assert "stays as it was: stopped" in (outcome.error or "")
        assert len(await messages_of(app)) == before
        assert not await app.keeper.stop(ROOM)
