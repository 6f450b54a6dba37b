"""Serve a mailbox over IMAP and take mail over SMTP, on loopback.

async with MailServer() as server:
    adapter = MailAdapter("mail", server.settings())
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage, Message
from email.policy import default
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from shipmate.adapters.mail import MailSettings

OWN, PERSON, PASSWORD = "mate@ship.example", "ann@home.example", 'the"pass\\word'
AUTHSERV = "mx.ship.example"
PROOF = f"{AUTHSERV}; dmarc=pass (p=none) header.from=home.example; spf=pass smtp.mailfrom=home.example"


@dataclass
class Stored:
    """A mail in the mailbox."""

    uid: int
    raw: bytes
    flags: set[str] = field(default_factory=set[str])
    at: str = field(default_factory=lambda: datetime.now(UTC).strftime("%d-%b-%Y %H:%M:%S +0000"))

    @property
    def message(self) -> EmailMessage:
        """Return it parsed."""
        found = message_from_bytes(self.raw, policy=default)
        assert isinstance(found, EmailMessage)
        return found


class MailServer:
    """A mailbox, and a way out for mail."""

    def __init__(self, *, can_idle: bool = True, takes_marks: bool = True) -> None:
        self.can_idle, self.takes_marks = can_idle, takes_marks
        self.validity = 7
        self.stored: list[Stored] = []
        self.sent: list[EmailMessage] = []
        # What the next mails are answered; "lost" is silence after they were taken.
        self.faults: deque[str] = deque()
        self.commands: list[str] = []
        self.changed = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._count = 0

    async def open(self, trust: ssl.SSLContext | None = None) -> None:
        """Begin to serve; with a certificate both begin encrypted."""
        self.is_plain = trust is None
        limit = 40_000_000
        self._imap = await asyncio.start_server(self._serve_imap, "127.0.0.1", 0, ssl=trust, limit=limit)
        self._smtp = await asyncio.get_running_loop().create_server(self._make_smtp(trust), "127.0.0.1", 0)
        self.imap_port, self.smtp_port = (
            each.sockets[0].getsockname()[1] for each in (self._imap, self._smtp)
        )

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._imap.close()
        self._smtp.close()
        self.cut()

    def cut(self) -> None:
        """End every connection."""
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    def settings(self, **values: Any) -> MailSettings:
        """Return settings of the mailbox."""
        common: dict[str, Any] = {
            "address": OWN,
            "password": PASSWORD,
            "imap": f"localhost:{self.imap_port}",
            "smtp": f"localhost:{self.smtp_port}",
            "authserv": AUTHSERV,
            "poll_seconds": 0.05,
            "security": "plain" if self.is_plain else "tls",
        }
        return MailSettings(**(common | values))

    # What people do.

    def write(self, text: str = "hello", *, html: str = "", **headers: str) -> EmailMessage:
        """Return a mail to the bot, with its proof on top."""
        self._count += 1
        mail = EmailMessage()
        common = {
            "Authentication-Results": PROOF,
            "Return-Path": f"<{PERSON}>",
            "From": f"Ann <{PERSON}>",
            "To": OWN,
            "Subject": "The tides",
            "Message-ID": f"<m{self._count}@home.example>",
        }
        for name, value in (common | {key.replace("_", "-"): each for key, each in headers.items()}).items():
            if value:
                mail[name] = value
        mail.set_content(text)
        if html:
            mail.add_alternative(html, subtype="html")
        return mail

    def deliver(self, mail: Message | bytes, *flags: str) -> Stored:
        """Put a mail into the mailbox, and tell whoever waits."""
        raw = mail if isinstance(mail, bytes) else mail.as_bytes()
        raw = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        stored = Stored(len(self.stored) + 1, raw, set(flags))
        self.stored.append(stored)
        for writer in self._writers:
            writer.write(f"* {len(self.stored)} EXISTS\r\n".encode())
        return stored

    async def until(self, condition: Any) -> None:
        """Wait until something holds."""
        while not condition():
            await self.changed.wait()

    def _note(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    # IMAP.

    async def _serve_imap(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"* OK ready\r\n")
        try:
            while line := await reader.readline():
                tag, _, command = line.decode().strip().partition(" ")
                self.commands.append(command)
                if command == "IDLE":
                    writer.write(b"+ idling\r\n")
                    assert (await reader.readline()) in (b"DONE\r\n", b"")
                    writer.write(f"{tag} OK done\r\n".encode())
                    continue
                lines, status = self._obey(command, writer)
                writer.write(b"".join(lines) + f"{tag} {status}\r\n".encode())
                self._note()
        finally:
            self._writers.discard(writer)
            writer.close()

    def _obey(self, command: str, writer: asyncio.StreamWriter) -> tuple[list[bytes], str]:
        verb, _, rest = command.removeprefix("UID ").partition(" ")
        match verb.upper():
            case "LOGIN":
                escaped = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
                is_known = rest in (f'"{OWN}" "{escaped}"', f'{OWN} "{escaped}"')
                return [], "OK in" if is_known else f"NO wrong password {rest}"
            case "CAPABILITY":
                return [f"* CAPABILITY IMAP4rev1{' IDLE' * self.can_idle}\r\n".encode()], "OK done"
            case "SELECT" | "EXAMINE":
                self._writers.add(writer)
                flags = "\\Seen \\*" if self.takes_marks else "\\Seen"
                head = f"* {len(self.stored)} EXISTS\r\n* OK [UIDVALIDITY {self.validity}] v\r\n"
                return [f"{head}* OK [PERMANENTFLAGS ({flags})] f\r\n".encode()], "OK [READ-WRITE] open"
            case "SEARCH":
                found = " ".join(str(each.uid) for each in self.stored if self._matches(each, rest))
                return [f"* SEARCH {found}\r\n".encode()], "OK done"
            case "FETCH":
                return self._fetch(rest), "OK done"
            case "STORE":
                uids, _, change = rest.partition(" ")
                flags = re.search(r"\((.*)\)", change)
                assert flags
                for each in self.stored:
                    if str(each.uid) in uids.split(","):
                        each.flags |= set(flags[1].split())
                return [], "OK done"
            case "NOOP" | "LOGOUT":
                return [], "OK done"
            case _:
                return [], "BAD what"

    def _matches(self, stored: Stored, rest: str) -> bool:
        words = rest.split()
        match words[0]:
            case "UNKEYWORD":
                return words[1] not in stored.flags
            case "KEYWORD":
                return words[1] in stored.flags
            case "SEEN":
                return "\\Seen" in stored.flags
            case "UNSEEN":
                return "\\Seen" not in stored.flags
            case "FROM":
                return words[1].strip('"') in str(stored.message["From"])
            case _:
                return words[0] == "ALL"

    def _fetch(self, rest: str) -> list[bytes]:
        uid, _, what = rest.partition(" ")
        stored = next((each for each in self.stored if str(each.uid) == uid), None)
        if stored is None:
            return []
        section = re.search(r"BODY(?:\.PEEK)?\[(HEADER)?\](?:<0\.(\d+)>)?", what)
        assert section
        raw = stored.raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if section[1] else stored.raw
        raw = raw[: int(section[2])] if section[2] else raw
        name = f"BODY[{section[1] or ''}]{'<0>' if section[2] else ''}"
        head = f'* {uid} FETCH (UID {uid} INTERNALDATE "{stored.at}" {name} {{{len(raw)}}}\r\n'
        return [head.encode(), raw, b")\r\n"]

    # SMTP.

    def _make_smtp(self, trust: ssl.SSLContext | None) -> Any:
        def login(_s: Any, _session: Any, _envelope: Any, mechanism: str, data: Any) -> AuthResult:
            del mechanism
            is_known = (data.login, data.password) == (OWN.encode(), PASSWORD.encode())
            return AuthResult(success=is_known, handled=False)

        options: dict[str, Any] = {"hostname": "mx", "enable_SMTPUTF8": False}
        if trust is not None:
            options |= {
                "tls_context": trust,
                "require_starttls": True,
                "auth_required": True,
                "authenticator": login,
            }
        return lambda: SMTP(self, loop=asyncio.get_running_loop(), **options)

    async def handle_RCPT(
        self, _server: Any, _session: Session, envelope: Envelope, address: str, *_: Any
    ) -> str:
        if self.faults and self.faults[0] != "lost":
            return self.faults.popleft()
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=default)
        assert isinstance(mail, EmailMessage)
        assert envelope.rcpt_tos == [mail["To"]]
        self.sent.append(mail)
        self._note()
        if self.faults:
            self.faults.popleft()
            assert server.transport
            server.transport.close()
        return "250 OK"
