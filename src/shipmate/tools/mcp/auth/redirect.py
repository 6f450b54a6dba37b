"""Wait on this machine for the browser that comes back from a login."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import msgspec

from shipmate.tools.mcp.auth.endpoint import LoginError
from shipmate.tools.mcp.rpc import first_line

PATH = "/callback"
HEAD_LIMIT = 16_384
HEAD_SECONDS = 10.0
PAGE = b"<!doctype html><meta charset=utf-8><title>Shipmate</title><p>%s"
HEADERS = (
    b"Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
    b"Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
    b"Connection: close\r\n\r\n"
)


class Redirect(msgspec.Struct, frozen=True):
    """What a browser brought back; its code is good for one exchange."""

    code: str = ""
    error: str = ""

    def __repr__(self) -> str:
        return "Redirect()"


def read_redirect(address: str, state: str, issuer: str, *, names_issuer: bool) -> Redirect:
    """Read the address a browser was sent back to; raises LoginError where it answers no login of ours."""
    fields = parse_qs(urlsplit(address.strip()).query, keep_blank_values=True, max_num_fields=50)
    given = {name: values[0] for name, values in fields.items() if len(values) == 1}
    if not hmac.compare_digest(given.get("state", "").encode(), state.encode()):
        raise LoginError("this is not the answer to the login that was begun here.")
    said = given.get("iss")
    if (said is None and names_issuer) or (said is not None and said.rstrip("/") != issuer.rstrip("/")):
        raise LoginError("the answer comes from another issuer than the login was begun at.")
    if "error" in given:
        return Redirect(error=first_line(given["error"])[:60] or "unknown")
    if not given.get("code"):
        raise LoginError("the answer holds no code.")
    return Redirect(given["code"])


class RedirectListener:
    """A port of this machine that hears one answer; what is not the answer is turned away."""

    def __init__(self, state: str, issuer: str, *, names_issuer: bool) -> None:
        self._state = state
        self._issuer = issuer
        self._names_issuer = names_issuer
        self.answer: asyncio.Future[Redirect] = asyncio.get_running_loop().create_future()

    def take(self, address: str) -> None:
        """Take an address as the answer; raises LoginError where it is none."""
        found = read_redirect(address, self._state, self._issuer, names_issuer=self._names_issuer)
        if not self.answer.done():
            self.answer.set_result(found)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser."""
        with suppress(
            OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError
        ):
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._respond(head))
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def _respond(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].decode("ascii").partition(" ")
        address = rest.partition(" ")[0]
        if method != "GET" or urlsplit(address).path != PATH:
            return b"HTTP/1.1 404 Not Found\r\n" + HEADERS + PAGE % b"Nothing is here."
        try:
            self.take(address)
        except LoginError:
            return (
                b"HTTP/1.1 400 Bad Request\r\n"
                + HEADERS
                + PAGE % b"This is not the answer that is waited for."
            )
        return b"HTTP/1.1 200 OK\r\n" + HEADERS + PAGE % b"Shipmate has heard it. You can close this window."


@asynccontextmanager
async def open_port(port: int) -> AsyncGenerator[tuple[list[RedirectListener], str]]:
    """Listen on this machine alone; gives the place for the listener, and the address to come back to."""
    listeners: list[RedirectListener] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if listeners:
            await listeners[0].serve(reader, writer)
        else:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=HEAD_LIMIT)
    try:
        yield listeners, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}"
    finally:
        server.close()
