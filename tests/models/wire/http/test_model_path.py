"""The name of a model is one step of an address and never leads anywhere else, on every wire."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.app import Shipmate
from shipmate.models.wire.http.address import read_address
from shipmate.models.wire.http.model_path import quote_model, write_resource
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.values.event import TextEvent
from shipmate.values.message import timestamp
from tests.support.provider_case import KEY, PROTOCOLS
from tests.support.provider_server import ProviderServer

LEADING_AWAY = [
    *("..", ".", "../x", "a/../b", "a/./b", "models/..", "models/../x", "tunedModels/../../files"),
    *("%2e%2e", "%2E%2e/x", "a%2f..%2fb", "%252e%252e", "..\\x", "a%5c..%5cb", "a//b", "/", "models/", " "),
    *("a\nb", "a%0ab", "x" * 300),
]
SIGNS = st.text(alphabet="ab./\\%2eEfF?#:;&= é模", max_size=14)


@pytest.mark.parametrize("name", LEADING_AWAY)
def test_a_name_that_would_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(HttpFault) as caught:
        write_resource(name)
    assert caught.value.is_unsent


@given(SIGNS)
def test_a_name_is_one_step_of_the_path_or_none(name: str) -> None:
    try:
        step = quote_model(name)
    except HttpFault:
        return
    target = read_address(f"http://h/v1beta/models/{step}:do?alt=sse").target
    path, question, query = target.partition("?")
    assert (question, query) == ("?", "alt=sse")
    assert path.split("/")[:3] == ["", "v1beta", "models"]
    (last,) = path.split("/")[3:]
    assert unquote(last.removesuffix(":do")) == name
    assert not any(each in ("", ".", "..") for each in unquote(unquote(last)).replace("\\", "/").split("/"))


def test_usual_names_stay_as_they_are() -> None:
    assert write_resource("gemini-2.5-pro") == "models/gemini-2.5-pro"
    assert write_resource("models/gemini-2.5-pro") == "models/gemini-2.5-pro"
    assert write_resource("tunedModels/a b?c") == "tunedModels/a%20b%3Fc"
    assert write_resource("files/secret") == "models/files%2Fsecret"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["../../v1/files", "a?key=1#x", "x/%2e%2e/y"])
async def test_no_wire_asks_at_another_path_for_an_odd_name(tmp_path: Path, protocol: str, name: str) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    async with ProviderServer() as server:
        provider, usual, path = PROTOCOLS[protocol]
        llm = {"provider": provider, "baseUrl": server.url + path, "apiKey": KEY, "maxRetries": 0}
        outcome = None
        for number, model in enumerate((usual, name)):
            (tmp_path / "ship.json").write_text(json.dumps({"llm": {**llm, "model": model}}))
            async with Shipmate.open(tmp_path, environ={}) as ship:
                event = TextEvent(
                    platform="web",
                    thread_id=f"web:room:{number}",
                    user_id="lin",
                    message_id="m1",
                    timestamp=timestamp(),
                    text="Hello.",
                )
                outcome = await (await ship.receive(event)).outcome()
        first, *rest = server.requests
        if protocol == "google" and not rest:
            assert outcome is not None
            assert (
                outcome.error == f"google:{name} cannot be asked: its name cannot be part of an address. "
                "Check `llm.model` in ship.json."
            )
        for request in rest:
            expected = first.path.replace(
                usual, name.replace("?", "%3F").replace("=", "%3D").replace("#", "%23")
            )
            assert request.path == expected
            assert request.query == first.query
        asked = [each.path for each in server.asides]
    assert not [path for path in asked if ".." in unquote(unquote(path))]
