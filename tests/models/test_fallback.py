from __future__ import annotations

import pytest

from shipmate.errors import (
    ContextTooLongError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelError,
    ModelRequestError,
)
from shipmate.models.fallback import FallbackModel
from shipmate.models.port import Finish, ModelEvent, ModelNotice, TextDelta
from shipmate.models.relay import close_model
from shipmate.models.scripted import ScriptedModel, fail, say
from tests.support.provider_case import ask, collect


async def test_turns_to_the_next_model_and_says_which_one_answered() -> None:
    first = ScriptedModel([fail(ModelBusyError()), "Back again."], name="first")
    second = ScriptedModel([fail(ModelDownError())], name="second")
    third = ScriptedModel(["Here."], name="third")
    model = FallbackModel([first, second, third])
    events = await collect(model)
    notices = [event for event in events if isinstance(event, ModelNotice)]
    assert [(notice.kind, notice.model) for notice in notices] == [
        ("fallback", "second"),
        ("fallback", "third"),
    ]
    assert events[2] == TextDelta("Here.")
    assert isinstance(events[-1], Finish)
    assert events[-1].model == "third"
    assert model.name == "first"
    assert (await collect(model))[0] == TextDelta("Back again.")


async def test_raises_the_last_trouble_when_all_are_away() -> None:
    models = [
        ScriptedModel([fail(ModelBusyError("one"))]),
        ScriptedModel([fail(ModelDownError("two"))]),
    ]
    with pytest.raises(ModelDownError, match="two"):
        await collect(FallbackModel(models))


@pytest.mark.parametrize("error", [ModelAuthError(), ModelRequestError(), ContextTooLongError()])
async def test_shows_mistakes_instead_of_hiding_them(error: ModelError) -> None:
    spare = ScriptedModel(["Here."])
    with pytest.raises(type(error)):
        await collect(FallbackModel([ScriptedModel([fail(error)]), spare]))
    assert spare.requests == []


async def test_stays_with_a_model_that_has_begun() -> None:
    spare = ScriptedModel(["Here."])
    model = FallbackModel([ScriptedModel([[say("Half"), fail(ModelDownError())]]), spare])
    seen: list[ModelEvent] = []
    with pytest.raises(ModelDownError):
        await _gather(model, seen)
    assert seen == [TextDelta("Half")]
    assert spare.requests == []


async def test_closes_every_model() -> None:
    closed: list[str] = []

    class Closing(ScriptedModel):
        async def close(self) -> None:
            closed.append(self.name)

    await close_model(FallbackModel([Closing([], name="a"), ScriptedModel([]), Closing([], name="b")]))
    assert closed == ["a", "b"]


async def _gather(model: FallbackModel, seen: list[ModelEvent]) -> None:
    async for event in model.stream(ask()):
        seen.append(event)
