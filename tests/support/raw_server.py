"""A server on loopback that says exactly the bytes a test wants, with or without encryption."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Visit:
    """One request, and the connection it came by."""

    head: str
    headers: dict[str, str]
    body: bytes
    number: int
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader = field(repr=False)

    async def send(self, *pieces: bytes | str, pause: float = 0) -> None:
        """Send bytes as they are, each piece in a write of its own."""
        for piece in pieces:
            self.writer.write(piece if isinstance(piece, bytes) else piece.encode())
            await self.writer.drain()
            await asyncio.sleep(pause)

    async def answer(
        self, body: bytes | str, *, status: str = "200 OK", kind: str = "text/event-stream", more: str = ""
    ) -> None:
        """Send a whole answer."""
        raw = body if isinstance(body, bytes) else body.encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(raw)}\r\n{more}\r\n"
        await self.send(head.encode() + raw)

    async def begin(self, *, more: str = "") -> None:
        """Send the head of an answer in chunks."""
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n{more}\r\n"
        )
        await self.send(head)

    async def chunk(self, data: bytes | str) -> None:
        """Send one chunk; an empty one ends the answer."""
        raw = data if isinstance(data, bytes) else data.encode()
        await self.send(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")


Serve = Callable[[Visit], Awaitable[None]]


class RawServer:
    """Serves every request with one function; a connection stays open until that function closes it."""

    def __init__(self, serve: Serve, tls: ssl.SSLContext | None = None) -> None:
        self.visits: list[Visit] = []
        self.connections = 0
        self.lost = asyncio.Event()
        self.port = 0
        self._serve = serve
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Return the address."""
        return f"http{'s' if self._tls else ''}://{'localhost' if self._tls else '127.0.0.1'}:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._work(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (visit := await self._read(reader, writer)) is not None:
                self.visits.append(visit)
                await self._serve(visit)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.lost.set()
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Visit | None:
        head = (await reader.readline()).decode("latin-1").strip()
        if not head:
            return None
        headers: dict[str, str] = {}
        while line := (await reader.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = b"".join([piece async for piece in _read_chunks(reader)])
        else:
            body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Visit(head, headers, body, len(self.visits), writer, reader)


async def _read_chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()
    await reader.readline()


@dataclass(frozen=True)
class Certificates:
    """An authority of a test's own, and what it signs."""

    folder: Path
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def file(self) -> Path:
        """Return the authority's certificate."""
        path = self.folder / "authority.pem"
        if not path.exists():
            path.write_bytes(self._sign("authority", self.key, self.key, 30, is_authority=True))
        return path

    def context(self, host: str = "localhost", days: int = 30) -> ssl.SSLContext:
        """Return what a server of this name shows; days in the past make it expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        path = self.folder / f"{host}{days}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(private + self._sign(host, key, self.key, days))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _sign(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        by: ec.EllipticCurvePrivateKey,
        days: int,
        *,
        is_authority: bool = False,
    ) -> bytes:
        now = dt.datetime.now(dt.UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=60))
            .not_valid_after(now + dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        if is_authority:
            usage = x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            )
            builder = builder.add_extension(usage, critical=True)
        return builder.sign(by, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
