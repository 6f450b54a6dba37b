"""Speak by e-mail: hear a mailbox over IMAP, answer over SMTP.

What was heard is marked in the mailbox itself, after it is on disk: nothing else has to be remembered, and a
mail that comes twice is known by its Message-ID. Each conversation is a topic; our own Message-IDs carry it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import smtplib
import ssl
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from shipmate.adapters.mail_content import ADDRESS, NO_TOPIC, Mail, read_mail, write_mail
from shipmate.delivery.adapter import Adapter, Hear, OutgoingMessage
from shipmate.errors import ConfigError, NotFoundError, SendError, SendLaterError, SendRefusedError
from shipmate.values.adapter_event import AdapterEvent, Chat, RemoteFile, Speaker
from shipmate.values.event import AdapterCapabilities
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import AdapterSettings

CONNECT_SECONDS, ANSWER_SECONDS, FETCH_SECONDS, IDLE_SECONDS = 20.0, 60.0, 600.0, 540.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Marks what was heard; `\\Seen` where a mailbox takes no marks of one's own.
MARK, SEEN = "$ShipmateHeard", "\\Seen"
# Of a larger mail only the beginning is read.
MAIL_BYTES, LINE_BYTES, HEADER_BYTES = 26_000_000, 4_000_000, 64_000
FILE_BYTES, MESSAGE_CHARS = 15_000_000, 100_000
# So many mails of one correspondent are heard in an hour; others wait, so that no loop runs fast.
RATE, RATE_SECONDS, CORRESPONDENTS = 30, 3600.0, 10_000
# The conversations that are remembered, the mails looked through for one, and those marked with one command.
KNOWN, SEARCHED, MARKED_AT_ONCE = 1000, 30, 500
LITERAL = re.compile(rb"\{(\d{1,12})\}$")
SECONDS = re.compile(r"(\d{1,6}) ?s(?:ec|econds?)?\b")
log = logging.getLogger(__name__)


class MailSettings(AdapterSettings, frozen=True, kw_only=True):
    """The keys of an adapter of this kind."""

    address: str
    imap: Annotated[str, Meta(description="the server mail is read from: host, or host:port")]
    smtp: Annotated[str, Meta(description="the server mail is sent through: host, or host:port")]
    password: str
    user: Annotated[str, Meta(description="the name to log in with; the address when not set")] = ""
    mailbox: str = "INBOX"
    authserv: Annotated[
        str,
        Meta(description="whose Authentication-Results prove who wrote a mail; only proven mail is heard"),
    ] = ""
    poll_seconds: Annotated[float, Meta(description="how often to look where the server does not tell")] = (
        60.0
    )
    security: Annotated[Literal["tls", "plain"], Meta(description="plain only on this machine")] = "tls"


class Mailbox:
    """A connection to one mailbox."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._count = 0
        self.can_idle = self.has_news = False
        self.validity, self.mark = "0", SEEN

    async def begin(self, settings: MailSettings) -> None:
        """Log in, and open the mailbox."""
        await self._read()
        await self.ask(f"LOGIN {_quote(settings.user or settings.address)} {_quote(settings.password)}")
        self.can_idle = any(b" IDLE" in each[0].upper() for each in await self.ask("CAPABILITY"))
        for each in await self.ask(f"SELECT {_quote(settings.mailbox)}"):
            line = each[0].decode("latin-1")
            if found := re.search(r"\[UIDVALIDITY (\d+)\]", line):
                self.validity = found[1]
            if "[PERMANENTFLAGS" in line and ("\\*" in line or MARK in line):
                self.mark = MARK

    async def ask(self, command: str, seconds: float = ANSWER_SECONDS) -> list[list[bytes]]:
        """Send a command; return what came, line by line, literals apart."""
        self._count += 1
        tag = f"a{self._count} ".encode()
        found: list[list[bytes]] = []
        async with asyncio.timeout(seconds):
            self._writer.write(tag + command.encode() + b"\r\n")
            await self._writer.drain()
            while not (answer := await self._read())[0].startswith(tag):
                found.append(answer)
        if not answer[0][len(tag) :].upper().startswith(b"OK"):
            # The words of a server may repeat what it was told, passwords among it.
            raise ConnectionError(f"the mail server refuses {command.partition(' ')[0]}")
        return found

    async def search(self, what: str) -> list[int]:
        """Return the numbers of mails, oldest first."""
        found = await self.ask(f"UID SEARCH {what}")
        lines = [each[0] for each in found if each[0].upper().startswith(b"* SEARCH")]
        return sorted(int(number) for line in lines for number in line.split()[2:] if number.isdigit())

    async def fetch(self, uid: int, what: str, size: int) -> tuple[str, bytes] | None:
        """Return when a mail arrived and its first bytes; None when it is gone."""
        command = f"UID FETCH {uid} (INTERNALDATE BODY.PEEK[{what}]<0.{size}>)"
        for each in await self.ask(command, FETCH_SECONDS):
            if len(each) > 1 and b" FETCH " in each[0].upper():
                found = re.search(rb'INTERNALDATE "([^"]{1,40})"', b" ".join((each[0], *each[2:])))
                return (found[1].decode("latin-1") if found else ""), each[1]
        return None

    async def note(self, uids: list[int]) -> None:
        """Mark mails as heard."""
        flags = SEEN if self.mark == SEEN else f"{SEEN} {self.mark}"
        for start in range(0, len(uids), MARKED_AT_ONCE):
            some = ",".join(map(str, uids[start : start + MARKED_AT_ONCE]))
            await self.ask(f"UID STORE {some} +FLAGS.SILENT ({flags})")

    async def wait(self, seconds: float) -> None:
        """Wait until there may be something new."""
        if self.has_news:
            return
        if not self.can_idle:
            await asyncio.sleep(seconds)
            await self.ask("NOOP")
            return
        self._count += 1
        tag = f"a{self._count} ".encode()
        self._writer.write(tag + b"IDLE\r\n")
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_SECONDS):
                while not self.has_news:
                    if (await self._read())[0].startswith(tag):
                        raise ConnectionError("the mail server does not let us wait")
        self._writer.write(b"DONE\r\n")
        async with asyncio.timeout(ANSWER_SECONDS):
            while not (await self._read())[0].startswith(tag):
                pass

    async def _read(self) -> list[bytes]:
        pieces: list[bytes] = []
        while True:
            line = (await self._reader.readuntil(b"\r\n"))[:-2]
            pieces.append(line)
            if (size := LITERAL.search(line)) is None:
                self.has_news |= pieces[0].upper().endswith(b" EXISTS")
                return pieces
            if int(size[1]) > MAIL_BYTES:
                raise ConnectionError("the mail server sends more than was asked for")
            pieces.append(await self._reader.readexactly(int(size[1])))


class MailAdapter(Adapter):
    """The adapter of one mailbox."""

    kind: ClassVar[str] = "mail"
    settings_type: ClassVar[type[AdapterSettings]] = MailSettings

    def __init__(self, name: str, settings: MailSettings) -> None:
        super().__init__(name, settings)
        self.capabilities = AdapterCapabilities(
            supports_files=True,
            max_file_bytes=FILE_BYTES,
            max_incoming_bytes=MAIL_BYTES,
            max_message_chars=MESSAGE_CHARS,
        )
        _check(name, settings)
        self._settings = settings
        self._own = settings.address.lower()
        # The last mail of conversations, which the next one answers.
        self._last: OrderedDict[tuple[str, str | None], Mail] = OrderedDict()
        self._times: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=RATE))
        self._waiting: dict[int, float] = {}

    async def listen(self, hear: Hear) -> None:
        """Hear each mail that was not heard, and mark it; wait for others."""
        async with self._open() as box:
            if box.mark != SEEN and not await box.search(f"KEYWORD {box.mark}"):
                # The first time: what somebody has read needs no answer any more.
                await box.note(await box.search("SEEN"))
            self._waiting.clear()
            while True:
                box.has_news = False
                for uid in await box.search(f"UNKEYWORD {box.mark}" if box.mark != SEEN else "UNSEEN"):
                    if self._waiting.get(uid, 0.0) <= time.monotonic():
                        await self._take(box, uid, hear)
                await box.wait(self._settings.poll_seconds)

    async def send(self, message: OutgoingMessage) -> str:
        """Send a mail that answers the last one of its conversation."""
        if not ADDRESS.fullmatch(message.chat_id):
            raise SendRefusedError("this is no address to which a mail can be sent")
        last = await self._find_last(message.thread_id)
        message_id = (
            f"<{message.key}.{message.thread_id.topic or NO_TOPIC}.shipmate@{self._own.partition('@')[2]}>"
        )
        content = await asyncio.to_thread(write_mail, self._own, message, message_id, last)
        await asyncio.to_thread(_post, self._settings, message.chat_id, content)
        return message_id

    async def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of what came with a mail."""
        validity, uid, place = file.id.split(".")
        async with self._open() as box:
            found = await box.fetch(int(uid), "", MAIL_BYTES) if validity == box.validity else None
        mail = await asyncio.to_thread(self._read, found[1]) if found else None
        if mail is None or len(mail.files) <= int(place):
            raise NotFoundError(f"the mail with {file.filename} is not there any more, or too large.")
        yield mail.files[int(place)].content

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Mailbox]:
        host, port = _split(self._settings.imap, 993)
        trust = None if self._settings.security == "plain" else ssl.create_default_context()
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, ssl=trust, limit=LINE_BYTES)
        try:
            box = Mailbox(reader, writer)
            async with asyncio.timeout(ANSWER_SECONDS):
                await box.begin(self._settings)
            yield box
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise ConnectionError("the mail server ended the connection") from None
        finally:
            writer.close()

    async def _take(self, box: Mailbox, uid: int, hear: Hear) -> None:
        found = await box.fetch(uid, "", MAIL_BYTES)
        mail = await asyncio.to_thread(self._read, found[1]) if found else None
        if mail is None:
            log.warning("%s: a mail cannot be read", self.name)
        elif not (mail.is_proven and self._may_hear(mail.address)):
            log.warning("%s: a mail is not proven to be from %s, and not heard", self.name, mail.address)
        elif not mail.is_machine and (wait := self._hurry(mail.address)) > 0:
            log.warning("%s: %s writes too much; it is heard later", self.name, mail.address)
            self._waiting[uid] = time.monotonic() + wait
            return
        else:
            self._remember(mail)
            await hear(self._make_event(mail, f"{box.validity}.{uid}", found[0] if found else ""))
            self._count(mail)
        await box.note([uid])

    def _make_event(self, mail: Mail, place: str, arrived: str) -> AdapterEvent:
        files = (
            RemoteFile(
                id=f"{place}.{n}", media_type=each.media_type, filename=each.filename, size=len(each.content)
            )
            for n, each in enumerate(mail.files)
        )
        try:
            at = timestamp(parsedate_to_datetime(arrived))
        except (ValueError, TypeError, OverflowError):
            at = timestamp()
        return AdapterEvent(
            platform=self.name,
            chat=Chat(id=mail.address, topic=mail.topic, title=mail.subject),
            speaker=Speaker(id=mail.address, name=mail.name, is_bot=mail.is_machine),
            message_id=f"{mail.address}.{mail.message_id.strip('<>') or place}",
            timestamp=at,
            text=mail.text or mail.subject,
            files=tuple(files),
        )

    def _read(self, raw: bytes) -> Mail | None:
        return read_mail(raw, self._own, self._settings.authserv)

    def _may_hear(self, address: str) -> bool:
        """Return whether a stranger there may be answered; where From is not proven that could be anybody."""
        settings = self._settings
        return bool(settings.authserv or settings.open or address in settings.allow_from)

    def _hurry(self, address: str) -> float:
        """Return how long the next mail of a correspondent has to wait."""
        times = self._times.get(address, ())
        return times[0] + RATE_SECONDS - time.monotonic() if len(times) == RATE else 0.0

    def _count(self, mail: Mail) -> None:
        if len(self._times) > CORRESPONDENTS:
            self._times.clear()
        if not mail.is_machine:
            self._times[mail.address].append(time.monotonic())

    def _remember(self, mail: Mail) -> None:
        self._last[mail.address, mail.topic] = msgspec.structs.replace(mail, text="", files=())
        if len(self._last) > KNOWN:
            self._last.popitem(last=False)

    async def _find_last(self, thread_id: ThreadId) -> Mail | None:
        """Return the last mail of a conversation; the mailbox is asked after a restart."""
        key = thread_id.scope_id, thread_id.topic
        if key not in self._last and thread_id.topic is not None:
            try:
                async with self._open() as box:
                    for uid in (await box.search(f'FROM "{thread_id.scope_id}"'))[-SEARCHED:]:
                        found = await box.fetch(uid, "HEADER", HEADER_BYTES)
                        mail = self._read(found[1]) if found else None
                        if mail and (mail.address, mail.topic) == key:
                            self._remember(mail)
            except (OSError, TimeoutError) as error:
                raise SendLaterError(f"the mailbox cannot be asked: {error}") from None
        return self._last.get(key)


def _check(name: str, settings: MailSettings) -> None:
    """Refuse settings that are unsafe, or that cannot work."""
    place = f"adapters.{name}"
    if not ADDRESS.fullmatch(settings.address):
        raise ConfigError(f"{place}.address: write the address of the mailbox, such as mate@ship.example.")
    texts = (settings.user, settings.password, settings.mailbox)
    if not all(each.isprintable() for each in texts) or not settings.mailbox.isascii():
        raise ConfigError(f"{place}: user, password and mailbox are one line each, mailbox in ASCII.")
    if not settings.authserv and settings.approvals:
        raise ConfigError(
            f"{place}: anybody can write any name into From. Set authserv to the name with which your mail "
            'server begins its Authentication-Results, or set "approvals": false, so that nobody approves '
            "anything by e-mail."
        )
    for server in (settings.imap, settings.smtp):
        host, _ = _split(server, 0, place)
        if settings.security == "plain" and host not in LOOPBACK:
            raise ConfigError(f"{place}.security: mail is read and sent over TLS, except on this machine.")


def _split(server: str, port: int, place: str = "") -> tuple[str, int]:
    host, _, given = (
        server.rpartition(":") if server.rpartition(":")[2].isdigit() else (server, "", str(port))
    )
    if not host.strip("[]"):
        raise ConfigError(
            f"{place}: name the mail servers, such as imap.example.com or imap.example.com:993."
        )
    return host.strip("[]"), int(given)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _post(settings: MailSettings, to: str, content: bytes) -> None:
    """Hand a mail to the server; until it is told the whole, nothing was sent."""
    host, port = _split(settings.smtp, 465)
    is_plain = settings.security == "plain"
    server: smtplib.SMTP | None = None
    try:
        if port == 465:
            server = smtplib.SMTP_SSL(
                host, port, timeout=ANSWER_SECONDS, context=ssl.create_default_context()
            )
        else:
            server = smtplib.SMTP(host, port, timeout=ANSWER_SECONDS)
            if not is_plain:
                server.starttls(context=ssl.create_default_context())
        server.ehlo_or_helo_if_needed()
        if "auth" in server.esmtp_features or not is_plain:
            server.login(settings.user or settings.address, settings.password)
        _judge(*server.mail(settings.address))
        _judge(*server.rcpt(to))
        code, words = server.docmd("DATA")
        if code != 354:
            _judge(code, words)
    except smtplib.SMTPAuthenticationError:
        raise SendLaterError(
            "the mail server does not let us in; check user and password", everywhere=True
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        raise SendLaterError(f"the mail server cannot be used now ({type(error).__name__})") from None
    else:
        try:
            lines = re.sub(rb"(?m)^\.", b"..", content)
            server.send(lines + (b"" if lines.endswith(b"\r\n") else b"\r\n") + b".\r\n")
            code, words = server.getreply()
        except (OSError, smtplib.SMTPException) as error:
            raise SendError(f"the mail server did not answer ({type(error).__name__})") from None
        _judge(code, words)
    finally:
        if server is not None:
            server.close()


def _judge(code: int, words: bytes) -> None:
    """Raise what an answer of the mail server means, unless it is yes."""
    text = words.decode("utf-8", "replace")[:300]
    if 400 <= code < 500:
        found = SECONDS.search(text)
        raise SendLaterError(
            f"the mail server says: {text} ({code})", retry_after=float(found[1]) if found else None
        )
    if not 200 <= code < 300:
        raise SendRefusedError(f"the mail server refuses it: {text} ({code})")
