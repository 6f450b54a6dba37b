"""OpenAI's protocol, spoken by the real OpenAI client."""

from __future__ import annotations

import pytest
from openai import AsyncOpenAI, BadRequestError

from tests.support.server import Served
from tests.support.wire import messages


@pytest.fixture
def openai(served: Served) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{served.address}/v1", api_key=served.site.token.value, max_retries=0)


async def test_an_answer_comes_at_once_or_as_a_stream(openai: AsyncOpenAI) -> None:
    said = await openai.chat.completions.create(
        model="captain", messages=[{"role": "user", "content": "hello"}]
    )
    assert said.choices[0].message.content == "Hello there."
    assert said.choices[0].finish_reason == "stop"
    assert said.usage is not None
    assert said.usage.total_tokens > 0
    stream = await openai.chat.completions.create(
        model="captain", messages=[{"role": "user", "content": "think"}], stream=True
    )
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "I thought about it."
    assert chunks[-1].choices[0].finish_reason == "stop"
    await openai.close()


async def test_the_user_names_the_thread(served: Served, openai: AsyncOpenAI) -> None:
    for words in ("hello", "again"):
        history = [{"role": "system", "content": "ignored"}, {"role": "user", "content": words}]
        await openai.chat.completions.create(model="x", messages=history, user="pim")  # pyright: ignore[reportArgumentType, reportCallIssue]
    stored = await messages(served.client, "api:user:pim")
    assert [message["role"] for message in stored] == ["user", "assistant", "user", "assistant"]
    raw = await openai.chat.completions.with_raw_response.create(
        model="x",
        messages=[{"role": "user", "content": "hello"}],
        extra_headers={"x-shipmate-thread": "web:room:mine"},
    )
    assert raw.headers["x-shipmate-thread"] == "web:room:mine"
    assert len(await messages(served.client, "mine")) == 2
    await openai.close()


async def test_c8_a_call_that_waits_is_named_and_cannot_be_approved_here(
    served: Served, openai: AsyncOpenAI
) -> None:
    file = served.site.layout.root / "c.md"

    async def ask(words: str, user: str = "pim") -> str:
        asked: list[dict[str, str]] = [{"role": "user", "content": words}]
        said = await openai.chat.completions.create(model="captain", messages=asked, user=user)  # pyright: ignore[reportArgumentType, reportCallIssue]
        return said.choices[0].message.content or ""

    words = await ask("write one file")
    assert "approval" in words
    assert "`write`: c.md" in words
    assert "`shipmate approvals`" in words
    for consent in ("yes", "approve all", "同意", "yes, always", "approve `write`", "1 yes"):
        assert "does not count here" in await ask(consent), consent
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
    assert not file.exists()
    await ask("no")
    assert [each.status for each in await ship.approvals.list()] == ["denied"]
    await openai.close()


async def test_a_stream_names_the_call_that_waits(served: Served, openai: AsyncOpenAI) -> None:
    stream = await openai.chat.completions.create(
        model="captain", messages=[{"role": "user", "content": "write one file"}], stream=True
    )
    words = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert "`write`: {" in words
    assert "c.md" in words
    assert "`shipmate approvals`" in words
    await openai.close()


async def test_wrong_requests_are_refused(served: Served, openai: AsyncOpenAI) -> None:
    for body in ({}, {"messages": "x"}, {"messages": []}, {"messages": [{"role": "user", "content": 5}]}):
        response = await served.client.post("/v1/chat/completions", json=body)
        assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid"), body
    with pytest.raises(BadRequestError):
        await openai.chat.completions.create(model="x", messages=[])
    models = await openai.models.list()
    assert [model.id for model in models.data] == ["captain"]
    await openai.close()
