"""Serve a workspace whose model is scripted, to programs that speak OpenAI's protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from shipmate.errors import (
    ContextTooLongError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelRequestError,
    ModelStreamError,
)
from shipmate.models.port import Finish, Usage
from shipmate.models.scripted import ScriptedModel, call, fail, say, think
from tests.support.server import Served, make_site, make_workspace, opener_for, serving

USED = Usage(input_tokens=10, output_tokens=5, cost=0.0)
WRITE = call("write", path="c.md", content="gamma\n")
SCRIPT = {
    "": ["I only know a few words."],
    "hello": ["Hello there."],
    "again": ["Hello once more."],
    "think": [[think("Let me see."), "I thought about it."]],
    "weather": [[say("Let me ask."), call("get_weather", city="Paris")], "It is sunny."],
    "two towns": [[call("get_weather", city="Paris"), call("get_weather", city="Rome")], "Sun in both."],
    "both kinds": [[call("read", path="a.md"), call("get_weather", city="Paris")], "Alpha, and sun."],
    "shadow": [[call("read", path="a.md")], "I was told."],
    "write one file": [[WRITE], "Done with it."],
    "write then fail": [
        [call("write", path=".ship/scratch/x", content="x")],
        fail(ModelDownError("is away")),
    ],
    "be cut short": [[say("And so"), Finish("length", USED)]],
    "be filtered": [[say("I may"), Finish("content-filter", USED)]],
    "be busy": [fail(ModelBusyError("is over its limit"))],
    "be busy for a while": [fail(ModelBusyError("is over its limit", retry_after=90.2))],
    "be down": [fail(ModelDownError("cannot be reached"))],
    "be refused": [fail(ModelAuthError("refused the key"))],
    "be wrong": [fail(ModelRequestError("did not accept the request"))],
    "be too long": [fail(ContextTooLongError("cannot read a conversation this long"))],
    "break off": [fail(ModelStreamError("broke off"))],
    "begin and fail": [[say("I begin "), fail(ModelDownError("cannot be reached"))]],
}


@pytest.fixture
def script() -> ScriptedModel:
    return ScriptedModel(SCRIPT)


@pytest.fixture
async def served(tmp_path: Path, script: ScriptedModel) -> AsyncGenerator[Served]:
    site = make_site(make_workspace(tmp_path), opener_for(script))
    async with serving(site) as running:
        yield running


@pytest.fixture
async def openai(served: Served) -> AsyncGenerator[AsyncOpenAI]:
    token = served.site.token.value
    async with AsyncOpenAI(base_url=f"{served.address}/v1", api_key=token, max_retries=0) as client:
        yield client
