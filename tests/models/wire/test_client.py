"""The HTTP client over real sockets: what it keeps, what it refuses, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import gc
import gzip
import socket
import subprocess
import sys
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shipmate.models.wire.client import HttpClient, Patience
from shipmate.models.wire.http.address import read_address
from shipmate.models.wire.http.outgoing import StreamedContent
from shipmate.models.wire.http.trouble import HttpFault
from tests.support.raw_server import Certificates, RawServer, Serve, Visit

QUICK = Patience(first=0.3, stall=0.3)


async def hello(visit: Visit) -> None:
    await visit.answer("hello")


@asynccontextmanager
async def client(
    environ: Mapping[str, str] | None = None, patience: Patience | None = None
) -> AsyncGenerator[HttpClient]:
    made = HttpClient(environ, patience)
    try:
        yield made
    finally:
        await made.close()


async def fetch(asker: HttpClient, url: str, *, may_repeat: bool = False, limit: int = 1_000_000) -> bytes:
    async with asker.send("POST", url, content=b"{}", may_repeat=may_repeat) as answer:
        return await answer.read(limit)


async def fail(serve: Serve, *, limit: int = 1_000_000, patience: Patience | None = None) -> HttpFault:
    async with RawServer(serve) as server, client(patience=patience) as asker:
        with pytest.raises(HttpFault) as caught:
            await fetch(asker, server.url, limit=limit)
        # Whatever happened, the next request is answered by whoever answers.
        async with RawServer(hello) as other:
            assert await fetch(asker, other.url) == b"hello"
    assert "\n" not in caught.value.words
    return caught.value


async def test_sends_what_it_is_given_and_keeps_the_connection() -> None:
    async with RawServer(hello) as server, client() as asker:
        for _ in range(3):
            async with asker.send(
                "POST", f"{server.url}/v1/a?b=c", headers={"x-team": "crew"}, content=b"body"
            ) as answer:
                assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
                assert await answer.read(100) == b"hello"
    assert server.connections == 1
    visit = server.visits[0]
    assert (visit.head, visit.body) == ("POST /v1/a?b=c HTTP/1.1", b"body")
    assert visit.headers["host"] == f"127.0.0.1:{server.port}"
    assert (visit.headers["x-team"], visit.headers["accept-encoding"]) == ("crew", "identity")


async def test_many_at_once_each_get_their_own() -> None:
    async def echo(visit: Visit) -> None:
        await visit.answer(visit.head.split()[1])

    async with RawServer(echo) as server, client() as asker:
        wanted = [f"/{number}" for number in range(40)]
        found = await asyncio.gather(*(fetch(asker, server.url + path) for path in wanted))
    assert [each.decode() for each in found] == wanted


async def test_a_connection_the_server_closed_is_not_used_again() -> None:
    async def once(visit: Visit) -> None:
        await visit.answer("hello")
        visit.writer.close()

    async with RawServer(once) as server, client() as asker:
        for _ in range(3):
            assert await fetch(asker, server.url) == b"hello"
            server.lost.clear()
    assert server.connections == 3


@pytest.mark.parametrize("may_repeat", [True, False])
async def test_a_kept_connection_that_dies_under_a_request_is_replaced_once(may_repeat: bool) -> None:
    async def die_on_second(visit: Visit) -> None:
        if visit.number == 1:
            visit.writer.close()
        else:
            await visit.answer("hello")

    async with RawServer(die_on_second) as server, client() as asker:
        assert await fetch(asker, server.url, may_repeat=may_repeat) == b"hello"
        if may_repeat:
            assert await fetch(asker, server.url, may_repeat=True) == b"hello"
            assert server.connections == 2
        else:
            with pytest.raises(HttpFault, match="ended the connection"):
                await fetch(asker, server.url)


async def test_a_fresh_connection_that_dies_is_not_tried_again() -> None:
    async def die(visit: Visit) -> None:
        visit.writer.close()

    async with RawServer(die) as server, client() as asker:
        with pytest.raises(HttpFault, match="ended the connection"):
            await fetch(asker, server.url, may_repeat=True)
    assert server.connections == 1


async def test_what_an_idle_server_says_unasked_answers_nobody() -> None:
    async def forward(visit: Visit) -> None:
        await visit.answer("hello" if visit.number == 0 else "second")
        if visit.number == 0:
            await read.wait()
            await visit.answer("forged")
            said.set()

    read, said = asyncio.Event(), asyncio.Event()
    async with RawServer(forward) as server, client() as asker:
        assert await fetch(asker, server.url) == b"hello"
        read.set()
        await said.wait()
        assert await fetch(asker, server.url) == b"second"


async def test_leaving_early_closes_the_connection_at_once() -> None:
    async def talk(visit: Visit) -> None:
        await visit.begin()
        while True:
            await visit.chunk("word " * 1000)

    async with RawServer(talk) as server, client() as asker:
        async with asker.send("POST", server.url) as answer:
            async for _ in answer.pieces():
                break
        await asyncio.wait_for(server.lost.wait(), 5)
        async with RawServer(hello) as other:
            assert await fetch(asker, other.url) == b"hello"


@pytest.mark.parametrize("begun", [True, False])
async def test_a_cancelled_request_leaves_nothing_behind(begun: bool) -> None:
    asked = asyncio.Event()

    async def wait(visit: Visit) -> None:
        if begun:
            await visit.begin()
            await visit.chunk("word")
        asked.set()
        await asyncio.Event().wait()

    async with RawServer(wait) as server, client() as asker:
        task = asyncio.create_task(fetch(asker, server.url))
        await asked.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gc.collect()
        async with RawServer(hello) as other:
            assert await fetch(asker, other.url) == b"hello"


async def test_cancelled_while_it_connects_it_leaves_no_socket(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with client() as asker:
            task = asyncio.create_task(fetch(asker, f"https://127.0.0.1:{port}"))
            loop = asyncio.get_running_loop()
            silent.setblocking(False)
            near, _ = await loop.sock_accept(silent)
            near.setblocking(False)
            assert await loop.sock_recv(near, 10), "it began to encrypt"
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while await asyncio.wait_for(loop.sock_recv(near, 65_536), 5):
                pass
            near.close()


async def test_no_answer_in_time_is_a_timeout() -> None:
    async def wait(visit: Visit) -> None:
        await asyncio.Event().wait()

    fault = await fail(wait, patience=QUICK)
    assert (fault.kind, fault.words) == ("timeout", "127.0.0.1 said nothing for 0.3 s")


async def test_silence_in_the_middle_is_a_stall() -> None:
    async def stall(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk("word")
        await asyncio.Event().wait()

    assert (await fail(stall, patience=QUICK)).kind == "stalled"


async def test_a_server_that_takes_no_body_is_given_up() -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # pyright: ignore
        await released.wait()
        writer.transport.abort()
        closed.set()

    released, closed = asyncio.Event(), asyncio.Event()
    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with client(patience=Patience(write=0.3)) as asker:
        with pytest.raises(HttpFault) as caught:
            async with asker.send("POST", url, content=b"x" * 30_000_000):
                pass
    assert caught.value.kind == "timeout"
    released.set()
    await closed.wait()
    server.close()


async def test_an_early_refusal_of_a_long_body_is_read() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\nconnection: close\r\n\r\nlong")
        await writer.drain()
        while await reader.read(1_000_000):
            pass
        writer.transport.abort()
        closed.set()

    closed = asyncio.Event()
    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with (
        client() as asker,
        asker.send("POST", url, content=b"x" * 5_000_000) as answer,
    ):
        assert (answer.status, await answer.read(100)) == (413, b"long")
    await closed.wait()
    server.close()


@pytest.mark.parametrize(
    "reply",
    [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello",
        "HTTP/1.1 200",
        "",
    ],
)
async def test_a_connection_that_ends_early_is_cut(reply: str) -> None:
    async def cut(visit: Visit) -> None:
        await visit.send(reply)
        visit.writer.close()

    assert (await fail(cut)).kind == "cut"


async def test_a_reset_is_cut() -> None:
    async def reset(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk("word")
        visit.writer.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
        )
        visit.writer.transport.abort()

    assert (await fail(reset)).kind == "cut"


@pytest.mark.parametrize(
    "reply",
    [
        "SSH-2.0-OpenSSH_9.6\r\n\r\n",
        "<html>hello</html>\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + "x: " + "y" * 200_000,
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnot a number\r\n",
    ],
)
async def test_what_is_not_http_is_said_so(reply: str) -> None:
    async def speak(visit: Visit) -> None:
        await visit.send(reply)
        await asyncio.Event().wait()

    assert (await fail(speak)).kind == "protocol"


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("https://elsewhere.example/v1?key=secret", "https://elsewhere.example"),
        ("http://user:secret@elsewhere.example:8080/", "http://elsewhere.example:8080"),
        ("/v2/chat", "another path"),
        ("", "nowhere"),
    ],
)
async def test_redirects_are_not_followed(location: str, said: str) -> None:
    async def redirect(visit: Visit) -> None:
        await visit.answer("", status="307 Temporary Redirect", more=f"location: {location}\r\n")

    fault = await fail(redirect)
    assert fault.kind == "redirect"
    assert fault.words.endswith(said)
    assert "secret" not in fault.words


async def test_more_than_the_limit_is_not_kept() -> None:
    async def talk(visit: Visit) -> None:
        await visit.begin()
        while True:
            await visit.chunk("word " * 10_000)

    assert (await fail(talk, limit=100_000)).kind == "too-large"
    async with RawServer(talk) as server, client() as asker, asker.send("POST", server.url) as answer:
        assert len(await answer.read(1000, cut=True)) == 1000


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda raw: zlib.compress(raw)[2:-4]),
    ],
)
async def test_a_body_packed_unasked_is_unpacked(coding: str, pack: object) -> None:
    raw = b"hello " * 50_000

    async def packed(visit: Visit) -> None:
        await visit.answer(pack(raw), more=f"content-encoding: {coding}\r\n")  # pyright: ignore

    async with RawServer(packed) as server, client() as asker:
        assert await fetch(asker, server.url) == raw


@pytest.mark.parametrize(
    ("coding", "body", "kind"),
    [
        ("br", b"hello", "encoding"),
        ("zstd", b"hello", "encoding"),
        ("gzip", b"hello", "encoding"),
        ("gzip", gzip.compress(b"hello " * 1000)[:-20], "cut"),
        ("gzip", gzip.compress(b"\0" * 50_000_000), "too-large"),
    ],
    ids=["br", "zstd", "no gzip", "cut", "bomb"],
)
async def test_a_body_packed_wrongly_is_said_so(coding: str, body: bytes, kind: str) -> None:
    async def packed(visit: Visit) -> None:
        await visit.answer(body, more=f"content-encoding: {coding}\r\n")

    assert (await fail(packed)).kind == kind


async def test_nobody_listens() -> None:
    async with RawServer(hello) as server:
        url = server.url
    async with client() as asker:
        with pytest.raises(HttpFault, match="nothing answers at 127"):
            await fetch(asker, url)
        with pytest.raises(HttpFault, match=r"there is no host named nowhere\.invalid") as caught:
            await fetch(asker, "http://nowhere.invalid/v1")
    assert caught.value.kind == "unknown-host"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:1234/v1",
        "ftp://host/",
        "http://",
        "http://host:notaport/",
        "http://[::1",
        "file:///etc",
    ],
)
async def test_what_is_no_address_is_said_so(url: str) -> None:
    async with client() as asker:
        with pytest.raises(HttpFault) as caught:
            await fetch(asker, url)
    assert caught.value.kind == "address"


@pytest.mark.parametrize("value", ["secret\r\nx-evil: 1", "secret\n", "schlüssel", "secret\0"])
async def test_a_header_that_cannot_be_sent_is_not(value: str) -> None:
    async with RawServer(hello) as server, client() as asker:
        with pytest.raises(HttpFault) as caught:
            async with asker.send("POST", server.url, headers={"authorization": value}):
                pass
    assert caught.value.kind == "header"
    assert "secret" not in caught.value.words
    assert server.visits == []


async def test_an_address_may_hold_who_asks() -> None:
    async with RawServer(hello) as server, client() as asker:
        await fetch(asker, f"http://ann:pa%20ss@127.0.0.1:{server.port}/v1")
    assert server.visits[0].headers["authorization"] == "Basic YW5uOnBhIHNz"


def test_addresses_are_written_as_requests_name_them() -> None:
    assert read_address("https://bücher.example/ä?q=ü").origin == "https://xn--bcher-kva.example"
    assert read_address("https://host/ä b?q=ü").target == "/%C3%A4%20b?q=%C3%BC"
    assert read_address("http://[::1]:8080/v1").authority == "[::1]:8080"
    assert read_address("https://host:443").authority == "host"


# Encryption


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


async def test_a_certificate_of_ones_own_is_trusted_when_it_is_named(certificates: Certificates) -> None:
    named = {"SSL_CERT_FILE": str(certificates.file)}
    async with RawServer(hello, certificates.context()) as server, client(named) as asker:
        assert await fetch(asker, server.url) == b"hello"
        assert await fetch(asker, server.url) == b"hello"
    assert server.connections == 1


async def test_a_wrong_certificate_is_said_and_nothing_is_sent(certificates: Certificates) -> None:
    trusted = {"SSL_CERT_FILE": str(certificates.file)}
    cases = [
        (certificates.context(days=-1), trusted, "has expired"),
        (certificates.context("other.example"), trusted, "is another host's"),
        (certificates.context(), {}, "is signed by nobody this machine trusts"),
    ]
    for context, environ, words in cases:
        async with RawServer(hello, context) as server, client(environ) as asker:
            with pytest.raises(HttpFault, match=words) as caught:
                await fetch(asker, server.url)
            assert caught.value.kind == "certificate"
            assert server.visits == []


async def test_a_server_that_does_not_encrypt_is_said() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with client() as asker:
        with pytest.raises(HttpFault, match="does not encrypt at this port"):
            await fetch(asker, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    server.close()


async def test_a_file_of_certificates_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    for name in ("missing.pem", "empty.pem"):
        async with client({"SSL_CERT_FILE": str(tmp_path / name)}) as asker:
            with pytest.raises(HttpFault, match="SSL_CERT_FILE"):
                await fetch(asker, "https://127.0.0.1:1")


# Proxies


def tunnel(port: int, refuse: str = "") -> Serve:
    async def serve(visit: Visit) -> None:
        method = visit.head.split()[0]
        if refuse:
            await visit.answer("", status=refuse)
        elif method == "CONNECT":
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            await visit.send("HTTP/1.1 200 OK\r\n\r\n")
            try:
                await asyncio.gather(copy(visit.reader, far_writer), copy(far_reader, visit.writer))
            finally:
                far_writer.transport.abort()
        else:
            await visit.answer("by proxy")

    return serve


async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        sink.write(data)
        await sink.drain()
    sink.close()


async def test_a_proxy_is_used_for_what_is_elsewhere() -> None:
    async with RawServer(tunnel(0)) as proxy, client({"http_proxy": proxy.url}) as asker:
        assert await fetch(asker, "http://model.example/v1") == b"by proxy"
        async with RawServer(hello) as near:
            assert await fetch(asker, near.url) == b"hello"
    assert [visit.head for visit in proxy.visits] == ["POST http://model.example/v1 HTTP/1.1"]


async def test_an_encrypted_request_goes_through_the_proxy_unread(certificates: Certificates) -> None:
    async with (
        RawServer(hello, certificates.context("model.example")) as far,
        RawServer(tunnel(far.port)) as proxy,
    ):
        user = proxy.url.replace("http://", "http://ann:secret@")
        environ = {"HTTPS_PROXY": user, "SSL_CERT_FILE": str(certificates.file)}
        async with client(environ) as asker:
            for _ in range(2):
                assert await fetch(asker, "https://model.example/v1") == b"hello"
    assert [visit.head for visit in proxy.visits] == ["CONNECT model.example:443 HTTP/1.1"]
    assert proxy.visits[0].headers["proxy-authorization"] == "Basic YW5uOnNlY3JldA=="
    assert all("proxy-authorization" not in visit.headers for visit in far.visits)


async def test_a_proxy_that_refuses_is_said() -> None:
    refusing = tunnel(0, "407 Proxy Authentication Required")
    async with RawServer(refusing) as proxy, client({"ALL_PROXY": proxy.url}) as asker:
        with pytest.raises(HttpFault, match="407") as caught:
            await fetch(asker, "https://model.example/v1")
    assert caught.value.kind == "proxy"


async def test_a_socks_proxy_without_its_library_is_said() -> None:
    async with client({"ALL_PROXY": "socks5://127.0.0.1:1"}) as asker:
        with pytest.raises(HttpFault, match="SOCKS"):
            await fetch(asker, "https://model.example/v1")


def test_libraries_are_loaded_with_the_first_request() -> None:
    script = """
import sys, shipmate.models.wire.model
print([name for name in ('httpcore2', 'h11', 'anyio', 'ssl') if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['ssl']")


def test_one_client_serves_one_loop_after_another() -> None:
    asker = HttpClient()

    async def ask() -> bytes:
        async with RawServer(hello) as server:
            return await fetch(asker, server.url)

    assert asyncio.run(ask()) == asyncio.run(ask()) == b"hello"


@pytest.mark.parametrize("piece", ["x-slow: y\r\n", "x"])
async def test_a_head_that_comes_bit_by_bit_is_given_up(piece: str) -> None:
    async def drip(visit: Visit) -> None:
        await visit.send("HTTP/1.1 200 OK\r\nx-first: ")
        while not visit.writer.is_closing():
            await visit.send(piece, pause=0.02)

    fault = await fail(drip, patience=QUICK)
    assert fault.kind == "timeout"


async def test_preliminary_answers_without_end_are_given_up() -> None:
    async def promise(visit: Visit) -> None:
        while not visit.writer.is_closing():
            await visit.send("HTTP/1.1 100 Continue\r\n\r\n", pause=0.02)

    fault = await fail(promise, patience=QUICK)
    assert fault.kind == "timeout"


async def test_a_long_answer_may_take_longer_than_its_head() -> None:
    async def drip(visit: Visit) -> None:
        await visit.begin()
        for _ in range(20):
            await visit.chunk("x")
            await asyncio.sleep(0.03)
        await visit.chunk("")

    async with RawServer(drip) as server, client(patience=QUICK) as asker:
        assert await fetch(asker, server.url) == b"x" * 20


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_away_is_not_taken_for_the_server(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with client({f"{scheme.upper()}_PROXY": f"http://someone:passphrase@127.0.0.1:{port}"}) as asker:
        with pytest.raises(HttpFault) as caught:
            await fetch(asker, f"{scheme}://models.example/v1")
    assert caught.value.kind == "proxy"
    assert caught.value.is_unsent
    assert caught.value.words == f"the proxy cannot be reached (nothing answers at 127.0.0.1:{port})"


@pytest.mark.parametrize("is_proxied", [False, True])
async def test_a_body_that_is_read_while_it_is_sent_arrives_whole(is_proxied: bool) -> None:
    async def read() -> AsyncGenerator[bytes]:
        for number in range(50):
            await asyncio.sleep(0)
            yield bytes([number]) * 10_000

    async with RawServer(hello) as server:
        host = "http://far.example" if is_proxied else server.url
        async with client({"http_proxy": server.url} if is_proxied else {}) as asker:
            for _ in range(2):
                async with asker.send("POST", host, content=StreamedContent(500_000, read)) as answer:
                    assert await answer.read(10) == b"hello"
    whole = b"".join([piece async for piece in read()])
    assert [visit.body == whole for visit in server.visits] == [True, True]
