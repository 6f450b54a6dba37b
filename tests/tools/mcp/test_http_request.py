"""What became of a request is told apart exactly: nothing of it left, or some of it may have arrived (W6)."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shipmate.models.wire.client import HttpClient
from shipmate.tools.mcp.http_request import open_client, send_request
from shipmate.tools.mcp.intake import Intake, IntakeError
from shipmate.tools.mcp.rpc import NotSentError, UnsureError
from tests.support.raw_server import Certificates, RawServer, Serve, Visit

BODY = b'{"jsonrpc":"2.0"}'


@pytest.fixture
async def client(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[HttpClient]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    made = open_client()
    yield made
    await made.close()


async def ask(client: HttpClient, url: str, **headers: str) -> bytes:
    async with send_request(client, Intake(), "POST", url, headers, BODY) as reply:
        return await reply.read(Intake(), 1_000_000)


async def hello(visit: Visit) -> None:
    await visit.answer("hello")


@pytest.mark.parametrize(
    "url", ["http://nowhere.invalid/", "http://127.0.0.1:1/", "ftp://host/", "http://", "http://a\0b/", "x"]
)
async def test_w6_where_nobody_is_reached_nothing_was_sent(client: HttpClient, url: str) -> None:
    with pytest.raises(NotSentError, match="it cannot be reached"):
        await ask(client, url)


@pytest.mark.parametrize("value", ["secret\r\nx: 1", "sécret", "secret\0"])
async def test_w6_a_header_that_cannot_be_sent_sends_nothing(client: HttpClient, value: str) -> None:
    async with RawServer(hello) as server:
        with pytest.raises(NotSentError) as caught:
            await ask(client, server.url, authorization=value)
        assert server.visits == []
    assert "cret" not in str(caught.value)


async def test_w6_a_certificate_that_is_wrong_sends_nothing(client: HttpClient, tmp_path: Path) -> None:
    async with RawServer(hello, Certificates(tmp_path).context()) as server:
        with pytest.raises(NotSentError, match="signed by nobody"):
            await ask(client, server.url)
        assert server.visits == []


async def cut(visit: Visit) -> None:
    visit.writer.transport.abort()


async def refuse(visit: Visit) -> None:
    await visit.answer("", status="403 Forbidden")


async def babble(visit: Visit) -> None:
    await visit.send("220 mail.example\r\n\r\n")
    visit.writer.close()


@pytest.mark.parametrize("proxy", [cut, refuse, babble])
async def test_w6_a_proxy_that_gives_no_way_sends_nothing(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch, proxy: Serve
) -> None:
    async with RawServer(proxy) as server:
        monkeypatch.setenv("HTTPS_PROXY", server.url)
        with pytest.raises(NotSentError, match="proxy"):
            await ask(client, "https://tools.example/mcp")
        assert [visit.head.split()[0] for visit in server.visits] == ["CONNECT"]


async def end_early(visit: Visit) -> None:
    await visit.send("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello")
    visit.writer.close()


@pytest.mark.parametrize("serve", [cut, babble, end_early])
async def test_w6_what_ends_after_it_was_sent_may_have_run(client: HttpClient, serve: Serve) -> None:
    async with RawServer(serve) as server:
        with pytest.raises(UnsureError):
            await ask(client, server.url)
        assert len(server.visits) == 1


async def test_w6_a_kept_connection_that_dies_under_a_call_is_not_asked_again(client: HttpClient) -> None:
    async def die_on_second(visit: Visit) -> None:
        await (hello if visit.number == 0 else cut)(visit)

    async with RawServer(die_on_second) as server:
        assert await ask(client, server.url) == b"hello"
        with pytest.raises(UnsureError):
            await ask(client, server.url)
        assert (len(server.visits), server.connections) == (2, 1)


async def test_w6_no_cookie_is_kept_and_no_redirect_followed(client: HttpClient) -> None:
    async def redirect(visit: Visit) -> None:
        more = "location: /there\r\nset-cookie: who=me\r\n"
        await visit.answer("", status="302 Found", more=more)

    async with RawServer(redirect) as server:
        for _ in range(2):
            async with send_request(client, Intake(), "POST", server.url, {}, BODY) as reply:
                assert (reply.status, reply.headers["location"]) == (302, "/there")
        assert [visit.head for visit in server.visits] == ["POST / HTTP/1.1"] * 2
        assert all("cookie" not in visit.headers for visit in server.visits)


async def test_w6_where_a_message_ends_is_not_for_settings_to_say(client: HttpClient) -> None:
    headers = {"Content-Length": "3", "Transfer-Encoding": "chunked", "Accept-Encoding": "identity"}
    async with RawServer(hello) as server:
        assert await ask(client, server.url, **headers) == b"hello"
        async with send_request(client, Intake(), "DELETE", server.url, headers) as reply:
            assert reply.status == 200
        first, second = server.visits
    assert (first.body, first.headers["content-length"]) == (BODY, str(len(BODY)))
    assert "content-length" not in second.headers
    assert all("transfer-encoding" not in visit.headers for visit in (first, second))


async def test_w6_a_compressed_answer_is_not_unpacked(client: HttpClient) -> None:
    async def packed(visit: Visit) -> None:
        await visit.answer(gzip.compress(b"x" * 100), more="content-encoding: gzip\r\n")

    async with RawServer(packed) as server:
        with pytest.raises(IntakeError, match="a compressed answer"):
            await ask(client, server.url)


async def test_w6_a_server_may_take_its_time_and_whoever_asks_says_how_long(client: HttpClient) -> None:
    async def wait(visit: Visit) -> None:
        await visit.reader.read()

    async with RawServer(wait) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await ask(client, server.url)
        await asyncio.wait_for(server.lost.wait(), 5)
