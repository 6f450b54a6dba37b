"""OpenAI's protocol, spoken by the real OpenAI client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openai as sdk
import pytest
from openai import AsyncOpenAI

from shipmate.errors import ModelDownError
from shipmate.models.scripted import ScriptedModel, fail, hold, say
from shipmate.server.routes.v1 import completion as completion_route
from tests.support.openai_program import PATH, ask, events, problem, said, words
from tests.support.server import Served, make_site, make_workspace, opener_for, serving
from tests.support.wire import messages


async def test_an_answer_comes_at_once_or_as_a_stream(openai: AsyncOpenAI) -> None:
    answer = await openai.chat.completions.create(
        model="captain", messages=[{"role": "user", "content": "hello"}]
    )
    assert answer.choices[0].message.content == "Hello there."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (
        10,
        5,
        15,
    )
    stream = await openai.chat.completions.create(
        model="captain", messages=[{"role": "user", "content": "think"}], stream=True
    )
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "I thought about it."
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(chunk.usage is None for chunk in chunks)
    assert len({(chunk.id, chunk.created) for chunk in chunks}) == 1


async def test_the_user_names_the_thread(served: Served, openai: AsyncOpenAI) -> None:
    for text in ("hello", "again"):
        history: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
        await openai.chat.completions.create(model="captain", messages=history, user="pim")
    stored = await messages(served.client, "api:user:pim")
    assert [message["role"] for message in stored] == ["user", "assistant", "user", "assistant"]
    raw = await openai.chat.completions.with_raw_response.create(
        model="captain",
        messages=[{"role": "user", "content": "hello"}],
        extra_headers={"x-shipmate-thread": "web:room:mine"},
    )
    assert raw.headers["x-shipmate-thread"] == "web:room:mine"
    assert len(await messages(served.client, "mine")) == 2


async def test_c8_a_call_that_waits_is_named_and_cannot_be_approved_here(
    served: Served, openai: AsyncOpenAI
) -> None:
    file = served.site.layout.root / "c.md"

    async def say(text: str) -> str:
        asked: list[Any] = [{"role": "user", "content": text}]
        answer = await openai.chat.completions.create(model="captain", messages=asked, user="pim")
        return answer.choices[0].message.content or ""

    told = await say("write one file")
    assert "approval" in told
    assert "`write`: c.md" in told
    assert "`shipmate approvals`" in told
    for consent in ("yes", "approve all", "同意", "yes, always", "approve `write`", "1 yes"):
        assert "does not count here" in await say(consent), consent
    ship = await served.ship()
    (waiting,) = await ship.approvals.pending()
    assert not file.exists()
    bob = await openai.chat.completions.create(
        model="captain",
        messages=[{"role": "user", "content": "yes"}],
        user="bob",
        extra_headers={"x-shipmate-thread": waiting.thread_id},
    )
    assert "does not count here" in (bob.choices[0].message.content or "")
    streamed = events(await ask(served, said("yes"), user="pim", stream=True))
    assert "does not count here" in "".join(
        each["choices"][0]["delta"].get("content", "") for each in streamed[:-1]
    )
    assert not file.exists()
    await say("no")
    assert [each.status for each in await ship.approvals.list()] == ["denied"]


async def test_a_stream_names_the_call_that_waits(served: Served, openai: AsyncOpenAI) -> None:
    stream = await openai.chat.completions.create(
        model="captain", messages=[{"role": "user", "content": "write one file"}], stream=True
    )
    told = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert told.startswith("This needs")
    assert "`write`: c.md" in told
    assert "`shipmate approvals`" in told
    (waiting,) = await (await served.ship()).approvals.pending()
    assert waiting.thread_id in told
    whole = words(await ask(served, said("write one file")))
    # Each request is a thread of its own, which the notice names.
    assert told.split("in the thread")[0] == whole.split("in the thread")[0]


async def test_w5_what_was_approved_elsewhere_goes_on_in_the_thread_that_was_named(served: Served) -> None:
    asked = await ask(served, said("write one file"))
    thread = asked.headers["x-shipmate-thread"]
    (waiting,) = await (await served.ship()).approvals.pending()
    decided = await served.client.post(f"/api/approvals/{waiting.id}", json={"approved": True})
    assert decided.status_code == 200
    await served.idle()
    assert (served.site.layout.root / "c.md").read_text() == "gamma\n"
    assert words(await ask(served, said("hello"), headers={"x-shipmate-thread": thread})) == "Hello there."
    stored = (await served.client.get(f"/api/threads/{thread}/messages")).json()["messages"]
    assert "Done with it." in str(stored)


STATUS = {
    "be busy": (429, sdk.RateLimitError, "rate_limit_exceeded"),
    "be down": (503, sdk.InternalServerError, "model_unavailable"),
    "be refused": (502, sdk.InternalServerError, "model_key_refused"),
    "break off": (502, sdk.InternalServerError, "model_broke_off"),
    "be wrong": (400, sdk.BadRequestError, "model_refused_request"),
    "be too long": (400, sdk.BadRequestError, "context_length_exceeded"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("trouble", STATUS)
async def test_w5_trouble_at_the_model_has_a_status_of_its_own(
    served: Served, openai: AsyncOpenAI, trouble: str, stream: bool
) -> None:
    status, kind, code = STATUS[trouble]
    with pytest.raises(kind) as raised:
        await openai.chat.completions.create(
            model="captain", messages=[{"role": "user", "content": trouble}], stream=stream
        )
    assert (raised.value.status_code, raised.value.code) == (status, code)
    problem(await ask(served, said(trouble), stream=stream))


async def test_w5_trouble_after_the_first_word_is_an_event_of_the_stream(
    served: Served, openai: AsyncOpenAI
) -> None:
    stream = await openai.chat.completions.create(
        model="captain", messages=[{"role": "user", "content": "begin and fail"}], stream=True
    )
    heard: list[str] = []

    async def hear() -> None:
        async for chunk in stream:
            heard.append(chunk.choices[0].delta.content or "")

    with pytest.raises(sdk.APIError, match="cannot be reached"):
        await hear()
    assert "".join(heard) == "I begin "
    told = events(await ask(served, said("begin and fail"), stream=True))
    assert set(told[-1]["error"]) == {"message", "type", "param", "code"}
    assert "cannot be reached" not in str(told[:-1])


async def test_w5_a_program_is_told_whether_it_may_ask_again(served: Served) -> None:
    assert (await ask(served, said("be down"))).headers["x-should-retry"] == "true"
    assert (await ask(served, said("be wrong"))).headers["x-should-retry"] == "false"
    assert "retry-after" not in (await ask(served, said("be down"))).headers
    assert (await ask(served, said("be busy for a while"))).headers["retry-after"] == "91"
    # What had acted must not be done once more by a client that repeats by itself.
    acted = await ask(served, said("write then fail"))
    assert (acted.status_code, acted.headers["x-should-retry"]) == (503, "false")


async def test_w5_an_answer_that_was_cut_short_says_so(served: Served) -> None:
    for text, reason in (("be cut short", "length"), ("be filtered", "content_filter")):
        answer = (await ask(served, said(text))).json()
        assert answer["choices"][0]["finish_reason"] == reason
        told = events(await ask(served, said(text), stream=True))
        assert told[-2]["choices"][0]["finish_reason"] == reason


async def test_w5_a_stream_ends_with_what_was_used_when_asked(openai: AsyncOpenAI) -> None:
    stream = await openai.chat.completions.create(
        model="captain",
        messages=[{"role": "user", "content": "hello"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 15
    assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_w5_members_are_models(served: Served, openai: AsyncOpenAI) -> None:
    folder = served.site.layout.root / "members" / "nina"
    folder.mkdir(parents=True)
    (folder / "Agent.md").write_text("# Nina\n\nYou are Nina.\n")
    assert {model.id for model in (await openai.models.list()).data} == {"captain", "nina"}
    assert (await openai.models.retrieve("nina")).id == "nina"
    with pytest.raises(sdk.NotFoundError) as raised:
        await openai.models.retrieve("gpt-4/turbo")
    assert raised.value.code == "model_not_found"
    with pytest.raises(sdk.NotFoundError, match="captain, nina"):
        await openai.chat.completions.create(model="gpt-4", messages=[{"role": "user", "content": "hello"}])
    history: list[Any] = [said("again"), {"role": "assistant", "content": "Yes."}, said("hello")]
    answer = await openai.chat.completions.create(model="nina", messages=history)
    assert (answer.model, answer.choices[0].message.content) == ("nina", "Hello there.")
    (step,) = await (await served.ship()).store.ledger.usage("")
    assert step.member == "nina"


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/responses", "/v1/embeddings"])
async def test_w5_what_is_not_here_names_what_is(served: Served, path: str) -> None:
    for response in (await served.client.post(path, json={"input": "x"}), await served.client.get(path)):
        assert response.status_code == 404
        assert "/v1/chat/completions" in problem(response)["message"]


async def test_w5_refusals_before_the_route_have_the_same_shape(served: Served) -> None:
    async with served.stranger(authorization="Bearer wrong") as stranger:
        refused = await stranger.post("/v1/chat/completions", json={"messages": [said("hello")]})
        assert (refused.status_code, problem(refused)["code"]) == (401, "invalid_api_key")
    assert problem(await served.client.get("/v1/nothing"))["code"] == "not_found"
    assert (await served.client.put("/v1/models", json={})).status_code == 405
    large = await served.client.post("/v1/chat/completions", content=b" " * 20_000_001)
    assert (large.status_code, problem(large)["code"]) == (413, "too_large")


async def test_w5_usage_of_a_turn_does_not_grow_with_the_table(served: Served, script: ScriptedModel) -> None:
    first = (await ask(served, said("hello"), user="pim")).json()["usage"]
    second = (await ask(served, said("hello"), user="pim")).json()["usage"]
    assert first == second
    assert first["prompt_tokens_details"] == {"cached_tokens": 0}
    assert len(script.requests) == 2


async def test_w5_one_that_takes_long_opens_all_the_same_and_tells_trouble_as_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion_route, "KEEP_ALIVE_SECONDS", 0.05)
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
