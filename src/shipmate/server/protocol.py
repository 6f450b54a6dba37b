"""How requests are read and answers written: the web server's own way, with limits and fewer packets."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# What may come without being body: a head, the lengths of pieces, what follows the last one.
MARGIN_LIMIT = 64_000
RESPONSE_START = b"HTTP/1.1 "


class WebProtocol(HttpToolsProtocol):
    """One connection."""

    _margin = 0
    _is_upgrade = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        joined = JoiningTransport(cast("asyncio.Transport", transport), self.loop)
        super().connection_made(cast("asyncio.Transport", joined))

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._margin += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse()
        else:
            if self._margin > MARGIN_LIMIT:
                self._refuse()

    def on_headers_complete(self) -> None:
        self._margin = 0
        self._is_upgrade = self.parser.should_upgrade()
        if not self._is_upgrade:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._margin = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_upgrade:
            super().on_message_complete()

    def _decline_upgrade(self, rest: bytes) -> None:
        """Read a request without its wish to speak otherwise from then on: its body would be lost else."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse()
            return
        kept = [(name, value) for name, value in self.headers if name not in (b"upgrade", b"connection")]
        if any(name == b"connection" and b"close" in value.lower() for name, value in self.headers):
            kept.append((b"connection", b"close"))
        version = self.parser.get_http_version().encode()
        lines = [
            b"%b %b HTTP/%b" % (method, self.url, version),
            *(b"%b: %b" % each for each in kept),
            b"",
            b"",
        ]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join(lines) + rest)

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.send_400_response("Invalid HTTP request received.")


class JoiningTransport:
    """A transport that sends the head of an answer along with the first of its body: one packet, not two."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def write(self, data: bytes) -> None:
        """Send, but keep a head for as long as its body may follow at once."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif data.startswith(RESPONSE_START):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Send what is left and close."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _flush(self) -> None:
        head, self._head = self._head, b""
        if head:
            self._transport.write(head)
