"""What a message looks like, which rule fits it, and that a person's choice comes before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shipmate.models.choice import ModelChoice
from shipmate.models.route import classify
from shipmate.models.scripted import ScriptedModel
from shipmate.values.event import ModelSwitchEvent
from shipmate.values.message import UIMessage, metadata_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import Llm, RouteCondition, RouteRule
from tests.support.workspace import ROOM, messages_of, open_workspace, talk


def user(text: str, **file: str) -> UIMessage:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    return {"id": "u", "role": "user", "parts": [*parts, *([{"type": "file", **file}] if file else [])]}


@pytest.mark.parametrize(
    ("message", "task"),
    [
        (user("good morning"), "chat"),
        (user(" /cheap and cheerful ```x```"), "cheap"),
        (user("/cheapest"), "chat"),
        (user("what is it?", mediaType="image/png"), "vision"),
        (user("why?\n```\nx = 1\n```"), "code"),
        (user("look at src/app.py, please"), "code"),
        (user("here", mediaType="text/plain", filename="main.rs"), "code"),
        (user("sum it up", mediaType="application/pdf", filename="a.pdf"), "analysis"),
        (user("长" * 1500), "analysis"),
        ({"id": "u", "role": "user", "parts": []}, "chat"),
    ],
)
def test_a_message_is_classified_without_a_model(message: UIMessage, task: str) -> None:
    assert classify(message) == task


def test_a_model_that_rules_chose_is_followed_by_the_members_own() -> None:
    own = Llm(provider="ollama", model="big", fallback=(Llm(provider="ollama", model="last"),))
    choice = ModelChoice(own, {})
    rules = [
        RouteRule(model="none", when=RouteCondition(platform="web")),
        RouteRule(model="vllm:tiny", when=RouteCondition(thread="cli:dm:*", task="chat"), why="quick"),
    ]
    name, why = choice.route(rules, user("hello"), "captain", ThreadId.parse(ROOM))
    assert (name, why) == ("route vllm:tiny", "task=chat thread=cli:dm:*: quick")
    assert choice.route(rules, user("a.py"), "captain", ThreadId.parse(ROOM)) == (None, "")
    settings = choice._settings(name)  # pyright: ignore[reportPrivateUsage]
    assert [each.model for each in (settings, *settings.fallback)] == ["tiny", "big", "last"]
    assert choice._settings("vllm:tiny").fallback == ()  # pyright: ignore[reportPrivateUsage]


async def test_rules_choose_and_a_person_chooses_otherwise(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel(["one", "two"])) as app:
        rule = {"when": {"task": "cheap", "member": "captain"}, "model": "rehearsal", "why": "costs nothing"}
        (tmp_path / "ship.json").write_text(json.dumps({"routing": [rule]}))
        assert (await talk(app, "hello")).text == "one"
        await talk(app, "/cheap hello")
        assert (await talk(app, "hello again")).text == "two"
        asked = ModelSwitchEvent(
            platform="cli",
            thread_id=ROOM,
            user_id="ann",
            message_id="m1",
            timestamp="2026-01-01T00:00:00.000Z",
        )
        told = (await (await app.receive(asked)).outcome()).text
        await talk(app, "/cheap", model="rehearsal")
        steps = await app.store.ledger.usage("")
        answers = [metadata_of(each).get("model") for each in (await messages_of(app))[1::2]]
    why = "task=cheap member=captain: costs nothing"
    assert [(each.model, each.route) for each in steps] == [
        ("scripted", ""),
        ("rehearsal", why),
        ("scripted", ""),
        ("rehearsal", ""),
    ]
    assert answers == [None, "rehearsal", None, "rehearsal"]
    assert f"- {why} → rehearsal" in told
