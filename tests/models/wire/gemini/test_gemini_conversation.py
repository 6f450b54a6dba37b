"""Whole conversations with Gemini over HTTP, against the strict loopback server and beside google-genai."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.errors import ModelAuthError, ModelBusyError, ModelRequestError, ModelStreamError
from shipmate.models.choose import choose_model
from shipmate.models.port import Finish, ModelEvent, TextDelta, ToolCall
from shipmate.models.relay import close_model
from shipmate.models.wire.gemini.gemini import GeminiWire
from shipmate.models.wire.gemini.gemini_reader import GeminiReader
from shipmate.models.wire.model import WireModel
from shipmate.models.wire.model_endpoint import Endpoint
from shipmate.models.wire.wire import WireError, WireSettings
from shipmate.values.message import user_message
from shipmate.workspace.config import Llm
from tests.support.gemini_rule import genai
from tests.support.gemini_stream import answers, fold
from tests.support.provider_case import KEY, READ, ask, collect
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, Reply, ask_tools, refuse, say
from tests.support.search import examples
from tests.support.wire_course import read_bytes, write_stream

SETTINGS = WireSettings(provider="google", model="gemini-3-flash-preview")


def connect(server: ProviderServer, path: str = "") -> WireModel:
    return WireModel(GeminiWire(), SETTINGS, Endpoint(base_url=server.url + path, key=KEY))


def words_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_w4_a_call_goes_back_with_its_signature_and_its_result() -> None:
    async with ProviderServer() as server:
        call = Call("read", '{"path": "a.md"}', "fc_1")
        server.script(Reply(text="I look.", thinking="Where?", calls=(call,)), say("Found."))
        model = connect(server)
        hello = user_message("u1", "Hello.")
        first = await collect(model, ask(hello))
        row, sidecar = await fold(first, model.name)
        second = await collect(model, ask(hello, row, sidecars={"a1": sidecar}))
        await model.close()
    assert words_of(second) == "Found."
    asked, answered = (request.body["contents"] for request in server.requests)
    assert answered[: len(asked)] == asked
    assert answered[1]["parts"][-1] == {
        "functionCall": {"id": "fc_1", "name": "read", "args": {"path": "a.md"}},
        "thoughtSignature": "YzJsbmJtRjBkWEps",
    }
    assert answered[2]["parts"] == [
        {"functionResponse": {"id": "fc_1", "name": "read", "response": {"output": "done"}}}
    ]


@pytest.mark.parametrize("path", ["", "/", "/v1beta", "/v1beta/"])
async def test_the_key_goes_in_a_header_to_the_address_of_streams(path: str) -> None:
    async with ProviderServer() as server:
        model = connect(server, path)
        events = await collect(model)
        await model.close()
    (request,) = server.requests
    assert request.path == "/v1beta/models/gemini-3-flash-preview:streamGenerateContent"
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.path
    assert isinstance(events[-1], Finish)
    assert events[-1].model == "google:gemini-3-flash-preview"
    assert events[-1].usage.cost is not None


async def test_gemini_is_chosen_with_its_wire_and_nothing_of_pydantic_ai() -> None:
    async with ProviderServer() as server:
        server.script(ask_tools(Call("read", '{"path": "b"}', "c1"), Call("read", "{}", "c1")))
        environ = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.url}
        model = choose_model(Llm(provider="google", model="gemini-2.5-flash"), environ)
        events = await collect(model)
        await close_model(model)
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert [(call.call_id, json.loads(call.arguments)) for call in calls] == [
        ("c1", {"path": "b"}),
        ("c1_", {}),
    ]


@pytest.mark.parametrize("place", [1, 2, 3])
async def test_an_answer_that_breaks_off_is_told(place: int) -> None:
    async with ProviderServer() as server:
        server.script(say("one two three four", end_after=place), say("one two three four", cut_after=place))
        model = connect(server)
        for _ in range(2):
            with pytest.raises(ModelStreamError):
                await collect(model)
        await model.close()


ERRORS: list[tuple[Reply, type[Exception]]] = [
    (refuse(400, "API key not valid. Please pass a valid API key.", kind="INVALID_ARGUMENT"), ModelAuthError),
    (refuse(403, "denied", kind="PERMISSION_DENIED"), ModelAuthError),
    (refuse(404, "models/x is not found", kind="NOT_FOUND"), ModelRequestError),
    (refuse(429, "quota", kind="RESOURCE_EXHAUSTED"), ModelBusyError),
    (Reply(rubbish=b'[{"error": {"code": 429, "message": "q", "status": "X"}}]'), ModelBusyError),
    (Reply(rubbish=b'data: {"error": {"code": 429, "message": "q", "status": "X"}}\n\n'), ModelBusyError),
    (Reply(rubbish=b"<html>no</html>"), ModelStreamError),
]


@pytest.mark.parametrize(("reply", "kind"), ERRORS, ids=range(len(ERRORS)))
async def test_trouble_has_its_name(reply: Reply, kind: type[Exception]) -> None:
    async with ProviderServer() as server:
        server.script(reply)
        model = connect(server)
        with pytest.raises(kind) as raised:
            await collect(model)
        assert KEY not in str(raised.value)
        assert words_of(await collect(model)).startswith("You said")
        await model.close()


async def test_the_server_refuses_what_gemini_would() -> None:
    """The strict server is no use unless it is."""
    async with ProviderServer() as server:
        model = connect(server)
        with pytest.raises(ModelRequestError, match="unique"):
            await collect(model, ask(tools=(READ, READ)))
        await model.close()


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
async def test_says_the_same_as_google_genai_does_of_one_server() -> None:
    reply = Reply(
        text="Ahoy, 你好.", thinking="Hm.", calls=(Call("read", '{"n": 1.5}', "c1"),), cached_tokens=3
    )
    async with ProviderServer() as server:
        server.script(reply, reply)
        model = connect(server)
        ours = await collect(model)
        await model.close()
        options = {"base_url": server.url}
        client = genai.Client(api_key=KEY, http_options=options)
        stream = await client.aio.models.generate_content_stream(model=SETTINGS.model, contents="Hello.")
        theirs = [chunk async for chunk in stream]
        await client.aio.aclose()
    parts = [part for chunk in theirs for part in chunk.candidates[0].content.parts]
    assert words_of(ours) == "".join(part.text for part in parts if part.text and not part.thought)
    (call,) = [event for event in ours if isinstance(event, ToolCall)]
    (wanted,) = [part.function_call for part in parts if part.function_call]
    assert (call.call_id, call.name, json.loads(call.arguments)) == (wanted.id, wanted.name, wanted.args)
    finish = ours[-1]
    assert isinstance(finish, Finish)
    assert finish.usage.input_tokens == theirs[-1].usage_metadata.prompt_token_count


@given(answers(), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_stream_cut_at_any_byte_goes_on_or_broke_off(
    chunks: list[dict[str, Any]], data: st.DataObject
) -> None:
    stream = write_stream([("message", chunk) for chunk in chunks])
    whole = read_bytes(GeminiReader(SETTINGS), stream)
    place = data.draw(st.integers(0, len(stream)))
    # In pieces it says the same, wherever they were cut.
    assert read_bytes(GeminiReader(SETTINGS), stream[:place], stream[place:]) == whole
    told, code = None, ""
    try:
        told = read_bytes(GeminiReader(SETTINGS), stream[:place])
    except WireError as fault:
        code = fault.code
    assert told == whole or code in ("broken-off", "not-json")
