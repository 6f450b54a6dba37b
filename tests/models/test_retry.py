from __future__ import annotations

from collections.abc import Sequence

import pytest

from shipmate.errors import ModelAuthError, ModelBusyError, ModelDownError, ModelError, ModelStreamError
from shipmate.models.port import Finish, ModelEvent, ModelNotice, TextDelta
from shipmate.models.retry import LONGEST_PAUSE, RetryingModel
from shipmate.models.scripted import ScriptedModel, cut, fail, say
from tests.support.provider_case import ask, collect, connect
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse
from tests.support.provider_wire import say as reply


class Clock:
    """Note the pauses instead of waiting."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def patient(
    script: Sequence[ModelError | str], clock: Clock, retries: int = 3, chance: float = 1.0
) -> tuple[RetryingModel, ScriptedModel]:
    inner = ScriptedModel([fail(step) if isinstance(step, ModelError) else step for step in script])
    return RetryingModel(inner, retries, sleep=clock.sleep, chance=lambda: chance), inner


async def test_asks_again_with_growing_pauses() -> None:
    clock = Clock()
    model, inner = patient([ModelBusyError(), ModelDownError(), ModelStreamError(), "Here."], clock)
    events = await collect(model)
    assert [event.wait_seconds for event in events if isinstance(event, ModelNotice)] == [0.5, 1.0, 2.0]
    assert isinstance(events[0], ModelNotice)
    assert (events[0].kind, events[0].model) == ("retry", "scripted")
    assert "Wait a little" not in events[0].reason
    assert events[3] == TextDelta("Here.")
    assert clock.pauses == [0.5, 1.0, 2.0]
    assert len(inner.requests) == 4
    assert model.name == "scripted"


async def test_leaves_part_of_the_pause_to_chance_and_caps_it() -> None:
    clock = Clock()
    model, _ = patient([ModelBusyError()] * 10 + ["Here."], clock, retries=10, chance=0.0)
    await collect(model)
    assert clock.pauses[0] == 0.25
    assert max(clock.pauses) == LONGEST_PAUSE / 2


async def test_waits_as_long_as_the_provider_asks_but_not_longer_than_the_cap() -> None:
    clock = Clock()
    model, _ = patient([ModelBusyError(retry_after=7), "Here."], clock)
    await collect(model)
    assert clock.pauses == [7]
    model, inner = patient([ModelBusyError(retry_after=3600), "Here."], clock)
    with pytest.raises(ModelBusyError):
        await collect(model)
    assert len(inner.requests) == 1


async def test_gives_up_after_the_last_attempt() -> None:
    clock = Clock()
    model, inner = patient([ModelDownError("still away")] * 4, clock, retries=2)
    with pytest.raises(ModelDownError, match="still away"):
        await collect(model)
    assert len(inner.requests) == 3


async def test_does_not_repeat_what_cannot_help() -> None:
    clock = Clock()
    model, inner = patient([ModelAuthError()], clock)
    with pytest.raises(ModelAuthError):
        await collect(model)
    assert clock.pauses == []
    assert len(inner.requests) == 1


@pytest.mark.parametrize("end", [fail(ModelDownError()), cut()])
async def test_never_repeats_an_answer_that_has_begun(end: object) -> None:
    inner = ScriptedModel([[say("Half"), end], "Again."])  # pyright: ignore[reportArgumentType]
    model = RetryingModel(inner, 3, sleep=Clock().sleep)
    seen: list[ModelEvent] = []
    with pytest.raises(ModelError):
        await _gather(model, seen)
    assert seen == [TextDelta("Half")]
    assert len(inner.requests) == 1


async def test_asks_again_when_a_stream_ends_before_it_began() -> None:
    clock = Clock()
    inner = ScriptedModel([[cut()], "Here."])
    events = await collect(RetryingModel(inner, 1, sleep=clock.sleep))
    assert isinstance(events[-1], Finish)
    assert len(clock.pauses) == 1


async def test_outlasts_a_real_server_that_is_busy_and_down() -> None:
    clock = Clock()
    async with ProviderServer() as server, connect("anthropic", server) as inner:
        server.script(
            refuse(429, "slow down", kind="rate_limit_error", headers={"retry-after": "2"}),
            refuse(500, "oops", kind="api_error"),
            reply("Here."),
        )
        events = await collect(RetryingModel(inner, 3, sleep=clock.sleep, chance=lambda: 1.0))
    assert isinstance(events[-1], Finish)
    assert clock.pauses == [2, 1.0]
    assert len(server.requests) == 3


async def _gather(model: RetryingModel, seen: list[ModelEvent]) -> None:
    async for event in model.stream(ask()):
        seen.append(event)
