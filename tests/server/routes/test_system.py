"""The server itself: health, figures, description, page, and errors nobody foresaw."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.server.site import BuiltPage
from tests.support.server import Served, make_site, serving
from tests.support.wire import chat, user


async def test_health_needs_nobody_and_tells_nothing(served: Served) -> None:
    async with served.stranger() as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}


async def test_figures_are_counted_by_route(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    await served.client.get("/api/threads/room")
    text = (await served.client.get("/metrics")).text
    assert 'route="/api/threads/{thread_id}",status="200"} 1' in text
    assert "room" not in text
    assert re.search(r"^shipmate_live_streams 0$", text, re.MULTILINE)
    assert re.search(r"^shipmate_stream_chunks_total [1-9]", text, re.MULTILINE)
    for line in text.splitlines():
        assert re.fullmatch(r"# TYPE \w+ (counter|gauge|histogram)|\w+(\{.*\})? [0-9.]+", line), line


async def test_the_description_and_its_page_load_nothing_from_elsewhere(served: Served) -> None:
    schema = (await served.client.get("/openapi.json")).json()
    assert "/api/chat" in schema["paths"]
    page = (await served.client.get("/docs")).text
    assert "/api/threads/{thread_id}/messages" in page
    assert "<script" not in page
    assert "http" not in page.replace("http.", "")
    assert (await served.client.get("/docs.css")).headers["content-type"].startswith("text/css")


async def test_an_unforeseen_error_gets_an_id_and_keeps_its_text_in_the_log(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ship = await served.ship()

    async def break_down(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail in /home/someone")

    monkeypatch.setattr(ship.store.threads, "list", break_down)
    with caplog.at_level(logging.ERROR):
        response = await served.client.get("/api/threads")
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (500, "internal")
    assert "secret detail" not in response.text
    assert error["id"] in caplog.text
    assert "secret detail" in caplog.text


async def test_a_full_disk_is_told_in_our_words(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ship = await served.ship()

    async def refuse(*_: object) -> None:
        raise StorageError("/home/someone/.ship/state.db: no space left on device")

    monkeypatch.setattr(ship.keeper, "receive", refuse)
    response = await served.client.post("/api/chat", json={"id": "room", "messages": [user("u1", "hello")]})
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (503, "unavailable")
    # The page shows both, one after the other.
    assert error["next"]
    assert error["next"] not in error["message"]
    assert "/home" not in response.text


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "not-found"),
        ("POST", "/v1/nothing", 404, "not_found"),
        ("DELETE", "/api/session", 405, "method"),
        ("PUT", "/", 405, "method"),
        ("GET", "/nothing.js", 404, "not-found"),
        ("GET", "/../../etc/passwd.txt", 404, "not-found"),
        ("GET", "/%2e%2e/%2e%2e/server/token.py", 404, "not-found"),
        ("GET", "/assets/%00.js", 404, "not-found"),
    ],
)
async def test_wrong_addresses_are_refused_in_one_shape(
    served: Served, method: str, path: str, status: int, code: str
) -> None:
    response = await served.client.request(method, path)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_the_page_is_served_packed_and_cached(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>x</title>" + " " * 2000)
    (folder / "assets" / "main-abc.js").write_text("export {};" * 500)
    site.page = BuiltPage(folder)
    async with serving(site) as served, served.stranger() as client:
        page = await client.get("/threads/web:room:1")
        assert page.text.startswith("<!doctype html>")
        assert page.headers["content-encoding"] == "gzip"
        assert page.headers["cache-control"] == "no-cache"
        script = await client.get("/assets/main-abc.js", headers={"accept-encoding": "identity"})
        assert "immutable" in script.headers["cache-control"]
        assert script.text == "export {};" * 500
        assert (await client.head("/")).status_code == 200


async def test_a_page_that_is_not_built_says_what_to_do(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    site.page = BuiltPage(tmp_path / "nothing")
    async with serving(site) as served:
        response = await served.client.get("/")
        assert (response.status_code, response.json()["error"]["code"]) == (503, "no-page")
        assert "make page" in response.json()["error"]["next"]
