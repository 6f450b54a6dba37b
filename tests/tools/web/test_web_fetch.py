from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import subprocess
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from shipmate.errors import ToolError
from shipmate.tools.tool import ToolContext
from shipmate.tools.web import fetcher as module
from shipmate.tools.web.fetcher import Fetcher, resolve_public
from shipmate.tools.web.web_fetch import WebFetch

PAGE = """<html><head><title>Tides &amp; winds</title></head><body><nav>Menu Home About</nav>
<article><h1>Tides</h1><p>The tide rises twice a day, as every sailor knows well, and falls twice as well.</p>
<p>A second paragraph about <a href="/wind">the wind</a> makes this a page worth reading for a while.</p>
</article><script>alert(1)</script></body></html>"""


class Site:
    """Serve canned answers on loopback and remember who came."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.connections = 0
        self.port = 0

    def answer(
        self, path: str, body: bytes, kind: str = "text/html", status: str = "200 OK", more: str = ""
    ) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}"
        self.answers[path] = f"{head}Connection: close\r\n\r\n".encode() + body

    def redirect(self, path: str, target: str) -> None:
        self.answer(path, b"", status="302 Found", more=f"Location: {target}\r\n")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(request.decode())
            path = request.split()[1].decode()
            writer.write(self.answers.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site


async def resolve(host: str, port: int) -> list[str]:
    """Take `public.test` for the test server; all else is checked as in earnest."""
    return ["127.0.0.1"] if host == "public.test" else await resolve_public(host, port)


@pytest.fixture
def tool() -> WebFetch:
    return WebFetch(Fetcher(resolve))


async def fetch(tool: WebFetch, context: ToolContext, url: str, **more: object) -> str:
    return (await tool.run(tool.parse({"url": url, **more}), context)).output


async def test_a_page_becomes_markdown(site: Site, tool: WebFetch, context: ToolContext) -> None:
    site.answer("/", PAGE.encode())
    url = f"http://public.test:{site.port}/"
    output = await fetch(tool, context, url)
    assert output.startswith(f"{url}\n\n# Tides & winds\n")
    assert "rises twice a day" in output
    assert "the wind](" in output
    assert "alert" not in output
    assert "Menu Home" not in output
    assert f"host: public.test:{site.port}" in site.requests[0].lower()
    assert "# Tides & winds" in context.layout.call_log(context.thread_id, context.call_id).read_text()


async def test_text_and_json_are_given_as_they_are(site: Site, tool: WebFetch, context: ToolContext) -> None:
    site.answer("/j", b'{"a": [1, 2]}', "application/json; charset=utf-8")
    site.answer("/g", "你好".encode("gbk"), "text/plain; charset=gbk")
    site.answer("/b", b"\x00\x01", "application/pdf")
    site.answer("/z", gzip.compress(b"squeezed"), "text/plain", more="Content-Encoding: gzip\r\n")
    made = BytesIO()
    canvas = Canvas(made)
    canvas.drawString(72, 700, "Tide tables.")
    canvas.save()
    site.answer("/tables.pdf", made.getvalue(), "application/octet-stream")
    site.answer("/p", b"A file that begins with %PDF- is a PDF.", "text/plain")
    base = f"http://public.test:{site.port}"
    read = await fetch(tool, context, f"{base}/tables.pdf")
    assert read.endswith("[tables.pdf: PDF, 1 page]\n[page 1]\nTide tables.")
    assert (await fetch(tool, context, f"{base}/p")).endswith("is a PDF.")
    assert (await fetch(tool, context, f"{base}/j")).endswith('{"a": [1, 2]}')
    assert (await fetch(tool, context, f"{base}/g")).endswith("你好")
    assert "not text" in await fetch(tool, context, f"{base}/b")
    assert (await fetch(tool, context, f"{base}/z")).endswith("squeezed")


async def test_long_pages_are_shortened_and_huge_ones_cut(
    site: Site, tool: WebFetch, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answer("/", b"x" * 300_000, "text/plain")
    output = await fetch(tool, context, f"http://public.test:{site.port}/", max_chars=1000)
    assert len(output) < 1300
    assert "characters left out" in output
    monkeypatch.setattr(module, "SIZE_LIMIT", 100_000)
    site.answer("/bomb", gzip.compress(b"y" * 50_000_000), "text/plain", more="Content-Encoding: gzip\r\n")
    assert "only its beginning" in await fetch(
        tool, context, f"http://public.test:{site.port}/bomb", max_chars=1000
    )


async def test_errors_are_told(
    site: Site, tool: WebFetch, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/junk"] = b"not http at all\r\n\r\n"
    site.answers["/cut"] = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"
    base = f"http://public.test:{site.port}"
    with pytest.raises(ToolError, match="answered 404 Not Found"):
        await fetch(tool, context, f"{base}/none")
    for path in ("/junk", "/cut"):
        with pytest.raises(ToolError, match="could not be fetched"):
            await fetch(tool, context, base + path)
    with pytest.raises(ToolError, match="could not be fetched"):
        await fetch(tool, context, "http://public.test:1/")
    monkeypatch.setattr(module, "SECONDS", 0.2)
    site.answers["/slow"] = b""

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        with pytest.raises(ToolError, match="did not answer"):
            await fetch(tool, context, f"http://public.test:{server.sockets[0].getsockname()[1]}/")


async def test_redirects_are_followed_a_few_times_without_cookies(
    site: Site, tool: WebFetch, context: ToolContext
) -> None:
    base = f"http://public.test:{site.port}"
    site.answer("/a", b"", status="301 Moved", more="Location: /b\r\nSet-Cookie: who=me\r\n")
    site.answer("/b", b"arrived", "text/plain")
    site.redirect("/loop", "/loop")
    assert await fetch(tool, context, f"{base}/a") == f"{base}/b\n\narrived"
    assert "who=me" not in site.requests[-1]
    with pytest.raises(ToolError, match="more than 5 times"):
        await fetch(tool, context, f"{base}/loop")


# Every way to write an address that must not be fetched; PORT stands for the test server's.
SPELLINGS: list[str] = json.loads((Path(__file__).parent / "private_urls.json").read_text())


@pytest.fixture
async def guarded(monkeypatch: pytest.MonkeyPatch) -> Fetcher:
    """Give the fetcher as it ships; names that would need a name server have a private answer."""
    loop = asyncio.get_running_loop()
    genuine = loop.getaddrinfo

    async def look_up(host: str, port: int) -> list[str]:
        from ipaddress import ip_address

        try:
            found = await genuine(host, port, flags=4, type=1)
        except (OSError, UnicodeError):
            return ["127.0.0.1"]
        return [str(ip_address(str(entry[4][0]))) for entry in found]

    return Fetcher(lambda host, port: resolve_public(host, port, look_up))


def test_there_are_enough_spellings() -> None:
    assert len(set(SPELLINGS)) >= 120


@pytest.mark.parametrize("url", SPELLINGS, ids=ascii)
async def test_no_spelling_of_a_private_address_is_fetched(
    site: Site, guarded: Fetcher, context: ToolContext, url: str
) -> None:
    site.answer("/", b"inside", "text/plain")
    with pytest.raises(ToolError):
        await fetch(WebFetch(guarded), context, url.replace("PORT", str(site.port)))
    assert site.connections == 0


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1:{port}/in", "//127.0.0.1:{port}/in", "http://[::ffff:7f00:1]:{port}/in", "http://0x7f.1:{port}/in",
     "http://localhost:{port}/in", "http://169.254.169.254/", "file:///etc/passwd", "gopher://127.0.0.1:{port}/",
     "http://user:pass@127.0.0.1:{port}/in", "http://user@public.test:{port}/in", "http://[", "http://"],
)  # fmt: skip
async def test_redirects_to_private_addresses_are_not_followed(
    site: Site, tool: WebFetch, context: ToolContext, target: str
) -> None:
    site.answer("/in", b"inside", "text/plain")
    site.redirect("/out", target.format(port=site.port))
    with pytest.raises(ToolError):
        await fetch(tool, context, f"http://public.test:{site.port}/out")
    assert site.connections == 1


async def test_the_checked_address_is_the_one_connected_to(site: Site, context: ToolContext) -> None:
    """Let the name change its address between two look-ups: it is looked up once a connection."""
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    asked: list[str] = []

    async def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    connected: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        connected.extend(await resolve_public(host, port, look_up))
        return ["127.0.0.1"]  # stands for the public address, which tests cannot reach

    site.redirect("/", "/again")
    with pytest.raises(ToolError, match="public internet"):
        await fetch(WebFetch(Fetcher(resolve)), context, f"http://rebind.example:{site.port}/")
    assert asked == ["rebind.example", "rebind.example"]
    assert connected == ["93.184.216.34"]
    assert site.connections == 1


def make_certificate(folder: Path) -> None:
    files = ["-keyout", "key.pem", "-out", "cert.pem"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=x",
        *files,
    ]
    names = ["-addext", "subjectAltName=DNS:public.test"]
    subprocess.run([*command, *names], cwd=folder, check=True, capture_output=True)


async def test_certificates_are_checked_against_the_name(
    site: Site, context: ToolContext, tmp_path: Path
) -> None:
    make_certificate(tmp_path)
    site.answer("/", b"sealed", "text/plain")
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))

    async def anything(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    async with await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=serving) as server:
        port = server.sockets[0].getsockname()[1]
        tool = WebFetch(Fetcher(anything, trust))
        assert (await fetch(tool, context, f"https://public.test:{port}/")).endswith("sealed")
        with pytest.raises(ToolError, match="could not be fetched"):
            await fetch(tool, context, f"https://other.test:{port}/")
        with pytest.raises(ToolError, match="could not be fetched"):
            await fetch(WebFetch(Fetcher(anything)), context, f"https://public.test:{port}/")


def test_fetching_asks_and_taints() -> None:
    assert WebFetch.labels.acts
    assert WebFetch.labels.reads_untrusted
