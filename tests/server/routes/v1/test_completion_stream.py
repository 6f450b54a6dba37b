"""A stream begins with its first word; before that, trouble has a status."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.errors import ModelDownError
from shipmate.models.scripted import ScriptedModel, fail, hold, say
from shipmate.server.routes.v1 import completion_stream
from tests.support.openai_program import PATH, ask, events, problem, said
from tests.support.server import Served, make_site, make_workspace, opener_for, serving


async def test_w5_one_that_takes_long_opens_all_the_same_and_tells_trouble_as_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion_stream, "KEEP_ALIVE_SECONDS", 0.05)
    gate = asyncio.Event()
    script = ScriptedModel([[hold(gate), fail(ModelDownError("cannot be reached"))]])
    async with serving(make_site(make_workspace(tmp_path), opener_for(script))) as served:
        body = {"messages": [said("hello")], "stream": True}
        async with served.client.stream("POST", PATH, json=body) as response:
            # The head is here before a word is.
            assert response.status_code == 200
            gate.set()
            await response.aread()
        (told,) = events(response)
        assert "cannot be reached" in told["error"]["message"]


async def test_w5_a_repeat_joins_the_answer_that_is_being_written(tmp_path: Path) -> None:
    gate = asyncio.Event()
    script = ScriptedModel([[say("One, "), hold(gate), say("two.")]])
    async with serving(make_site(make_workspace(tmp_path), opener_for(script))) as served:
        body = {"messages": [said("count")], "stream": True}
        key = {"idempotency-key": "one"}
        async with served.client.stream("POST", PATH, json=body, headers=key) as first:
            assert first.status_code == 200
            async with served.client.stream("POST", PATH, json=body, headers=key) as second:
                gate.set()
                await second.aread()
            await first.aread()
    for response in (first, second):
        *chunks, done = events(response)
        assert done == "[DONE]"
        said_ = "".join(each["choices"][0]["delta"].get("content", "") for each in chunks)
        assert said_ == "One, two."
    assert len(script.requests) == 1


async def test_w5_a_server_that_stops_says_so(tmp_path: Path) -> None:
    gate = asyncio.Event()
    site = make_site(make_workspace(tmp_path), opener_for(ScriptedModel([[say("One, "), hold(gate)]])))
    async with serving(site) as served:
        body = {"messages": [said("count")], "stream": True}
        async with served.client.stream("POST", PATH, json=body) as response:
            assert response.status_code == 200
            site.streams.leave()
            await response.aread()
        assert "stops" in events(response)[-1]["error"]["message"]


async def test_w5_a_body_that_cannot_be_taken_is_refused_before_any_stream(served: Served) -> None:
    refused = await ask(served, stream=True)
    assert (refused.status_code, problem(refused)["param"]) == (400, "messages")
