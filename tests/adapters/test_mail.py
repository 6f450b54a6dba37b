"""Mail is heard once and answered in its conversation; nobody speaks for another, and no loop begins."""

from __future__ import annotations

import asyncio
import imaplib
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Literal

import pytest

from shipmate.adapters.mail import RATE, MailAdapter, MailSettings
from shipmate.delivery.adapter import OutgoingFile, OutgoingMessage
from shipmate.errors import ConfigError, NotFoundError, SendError, SendLaterError, SendRefusedError
from shipmate.values.adapter_event import AdapterEvent
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, LONG, Check, Heard, listening
from tests.support.mail_server import AUTHSERV, OWN, PASSWORD, PERSON, PROOF, MailServer
from tests.support.raw_server import Certificates

THREAD = ThreadId("mail", "dm", PERSON)


class MailCounterpart:
    """A person who writes mail."""

    def __init__(self, server: MailServer) -> None:
        self.server = server
        self.adapter = MailAdapter("mail", server.settings())
        self.thread_id = THREAD

    async def say(self, text: str) -> None:
        self.server.deliver(self.server.write(text))

    def texts(self) -> list[str]:
        return [text_of(each) for each in self.server.sent]

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        words = {"later": "450 4.7.1 Greylisted, try again in 2 seconds", "refused": "550 5.1.1 nobody here"}
        self.server.faults.append(words.get(how, "lost"))


def text_of(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return body.get_content().replace("\r\n", "\n").removesuffix("\n")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    async with MailServer() as server:
        await check(MailCounterpart(server))


@asynccontextmanager
async def heard_by(server: MailServer, **settings: Any) -> AsyncGenerator[tuple[MailAdapter, Heard]]:
    adapter, heard = MailAdapter("mail", server.settings(**settings)), Heard()
    async with listening(adapter, heard):
        yield adapter, heard


async def take(heard: Heard) -> AdapterEvent:
    return await asyncio.wait_for(heard.events.get(), LONG)


def answer(event: AdapterEvent, text: str = "aye", **values: Any) -> OutgoingMessage:
    thread_id = ThreadId(event.platform, event.chat.kind, event.chat.id, event.chat.topic)
    return OutgoingMessage(thread_id=thread_id, text=text, key="k" * 32, **values)


@pytest.mark.parametrize(("can_idle", "takes_marks"), [(True, True), (False, False)])
async def test_mail_is_heard_once_across_restarts_and_what_was_read_before_is_left_alone(
    can_idle: bool, takes_marks: bool
) -> None:
    async with MailServer(can_idle=can_idle, takes_marks=takes_marks) as server:
        server.deliver(server.write("old"), "\\Seen")
        first = server.deliver(server.write("one"))
        async with heard_by(server) as (_, heard):
            assert (await take(heard)).text == "one"
            await server.until(lambda: "\\Seen" in first.flags)
            server.deliver(server.write("two"))
            assert (await take(heard)).text == "two"
            await server.until(lambda: "\\Seen" in server.stored[-1].flags)
        # While nobody listens a person reads along, where that does not matter.
        server.deliver(server.write("three"), *["\\Seen"] * takes_marks)
        async with heard_by(server) as (_, heard):
            assert (await take(heard)).text == "three"
            await server.until(lambda: "\\Seen" in server.stored[-1].flags)
            assert heard.events.empty()
        assert ("IDLE" in server.commands) is can_idle


async def test_a_mail_that_comes_twice_has_the_same_id_and_a_lost_connection_is_made_anew() -> None:
    async with MailServer() as server:
        mail = server.write("one")
        server.deliver(mail)
        adapter, heard = MailAdapter("mail", server.settings()), Heard()
        task = asyncio.create_task(adapter.listen(heard.hear))
        event = await take(heard)
        await server.until(lambda: "IDLE" in server.commands or server.stored[0].flags)
        server.cut()
        with pytest.raises(ConnectionError, match="ended the connection"):
            await asyncio.wait_for(task, LONG)
        server.deliver(mail)
        async with listening(adapter, heard):
            assert (await take(heard)).message_id == event.message_id == f"{PERSON}.m1@home.example"


async def test_answers_stay_in_their_conversation_also_after_a_restart() -> None:
    async with MailServer() as server:
        server.deliver(server.write("one", Subject="=?utf-8?b?5r2u5rGQ?="))
        async with heard_by(server) as (adapter, heard):
            event = await take(heard)
            assert event.chat.title == "潮汐"
            await adapter.send(answer(event))
            sent_id = await MailAdapter("mail", server.settings()).send(answer(event, "and again"))
            for mail in server.sent:
                assert (mail["Subject"], mail["In-Reply-To"]) == ("Re: 潮汐", "<m1@home.example>")
                assert (mail["Auto-Submitted"], mail["From"], mail["To"]) == ("auto-replied", OWN, PERSON)
            # One client answers with the whole chain, another names our mail alone.
            chain = f"{server.sent[-1]['References']} {sent_id}"
            server.deliver(server.write("two", References=chain, In_Reply_To=sent_id))
            server.deliver(server.write("three", In_Reply_To=sent_id, Subject="Re: something else"))
            server.deliver(server.write("another matter"))
            events = [await take(heard) for _ in range(3)]
        assert [each.chat.topic == event.chat.topic for each in events] == [True, True, False]
        # What nobody wrote first has a subject of its own, and its answers come back to it.
        fresh = await adapter.send(OutgoingMessage(thread_id=THREAD, text="The tide\nturned", key="n" * 32))
        assert server.sent[-1]["Subject"] == "The tide turned"
        server.deliver(server.write("oh", In_Reply_To=fresh))
        async with heard_by(server) as (_, heard):
            assert (await take(heard)).chat.topic is None


MACHINES = [
    {"Auto_Submitted": "auto-replied"},
    {"Auto_Submitted": "auto-generated; x=no"},
    {"Precedence": "Bulk"},
    {"Precedence": "auto_reply"},
    {"List_Id": "<crew.home.example>"},
    {"X_Auto_Response_Suppress": "DR, OOF, AutoReply"},
    {"X_Autoreply": "yes"},
    {"Return_Path": "<>"},
    {"From": OWN, "Authentication_Results": PROOF.replace("home", "ship")},
    {"From": "Mail Delivery <MAILER-DAEMON@home.example>"},
    {"From": "no-reply@home.example"},
]


async def test_what_programs_write_is_never_answered_and_a_hidden_loop_is_slow() -> None:
    async with MailServer() as server:
        for each in MACHINES:
            server.deliver(server.write("I am away", **each))
        bounce = server.write("failed")
        bounce.replace_header("Content-Type", "multipart/report; boundary=x")
        server.deliver(bounce)
        server.deliver(server.write("hello", Auto_Submitted="no"))
        async with heard_by(server) as (adapter, heard):
            events = [await take(heard) for _ in range(len(MACHINES) + 2)]
            assert [each.speaker.is_bot for each in events] == [True] * (len(MACHINES) + 1) + [False]
            # Our own mail, as it comes back from a program that sends everything on.
            await adapter.send(answer(events[-1]))
            echo = server.sent[-1]
            del echo["From"]
            echo["From"], echo["Authentication-Results"] = PERSON, PROOF
            server.deliver(echo)
            assert (await take(heard)).speaker.is_bot
            for _ in range(RATE + 5):
                server.deliver(server.write("I am here again"))
            for _ in range(RATE - 1):
                await take(heard)
            server.deliver(server.write("help", From="bo@home.example"))
            assert (await take(heard)).speaker.id == "bo@home.example"
            unmarked = [each for each in server.stored if not each.flags]
            assert len(unmarked) >= 6, "what came too fast waits, and is not lost"


RESULTS = [
    "",
    f"{AUTHSERV}; none",
    f"{AUTHSERV}; dmarc=fail header.from=home.example; dkim=pass header.d=home.example",
    f"{AUTHSERV}; dmarc=pass header.from=evil.example",
    f"{AUTHSERV}; spf=pass smtp.mailfrom=a@evil.example; dkim=pass header.d=evil.example",
    PROOF.replace(AUTHSERV, "mx.evil.example"),
    f"{AUTHSERV}.evil.example; dmarc=pass header.from=home.example",
    f"{AUTHSERV}; x=y (; dmarc=pass header.from=home.example)",
    f"{AUTHSERV}; x=y (a (b) ; dmarc=pass header.from=home.example ; c)",
    f"{AUTHSERV}; spf=fail (a)) ; dmarc=pass header.from=home.example ; (c",
    f'{AUTHSERV}; x=y reason="; dmarc=pass header.from=home.example ;"',
]
AUTHORS = [
    f"ann@home.example, {PERSON}",
    f"<evil@evil.example> <{PERSON}>",
    f'"x" <{PERSON}>, evil@evil.example',
    "",
]


async def test_who_is_not_proven_to_have_written_is_not_heard() -> None:
    async with MailServer() as server:
        for each in RESULTS:
            server.deliver(server.write("forged", Authentication_Results=each))
        for each in AUTHORS:
            server.deliver(f"From: {each}\n".encode() + server.write("forged", From="").as_bytes())
        # A proof that a mail brought along, below that of the server which took it.
        honest = f"Authentication-Results: {AUTHSERV}; dmarc=fail header.from=home.example\n"
        server.deliver(honest.encode() + server.write("forged").as_bytes())
        server.deliver(b"From: bo@home.example\n" + server.write("two authors").as_bytes())
        signed = f"{AUTHSERV} 1; dkim=pass header.i=@home.example"
        server.deliver(server.write("not proven by DMARC", Authentication_Results=signed))
        async with heard_by(server) as (_, heard):
            assert (await take(heard)).text == "not proven by DMARC"
            assert heard.events.empty()
        await server.until(lambda: all(each.flags for each in server.stored[:-1]))


async def test_without_proof_nobody_approves_and_settings_that_are_unsafe_are_refused() -> None:
    async with MailServer() as server:
        for values, words in [
            ({"authserv": ""}, "anybody can write any name into From"),
            ({"imap": "imap.example.com"}, "over TLS, except on this machine"),
            ({"smtp": "smtp.example.com:25"}, "over TLS, except on this machine"),
            ({"smtp": ":25"}, "name the mail servers"),
            ({"address": "mate@ship.example\r\nBcc: x@y.example"}, "address of the mailbox"),
            ({"password": "x\r\na1 DELETE INBOX"}, "one line each"),
        ]:
            with pytest.raises(ConfigError, match=words):
                MailAdapter("mail", server.settings(**values))
        # Strangers are not told a code: it would go to whomever a forger names.
        stranger = server.deliver(server.write("spam", From="bo@home.example", Authentication_Results=""))
        server.deliver(server.write("hello", Authentication_Results=""))
        async with heard_by(server, authserv="", approvals=False, allow_from=(PERSON,)) as (_, heard):
            assert (await take(heard)).text == "hello"
            assert stranger.flags
        wrong = MailAdapter("mail", server.settings(password="not it"))
        with pytest.raises(ConnectionError) as caught:
            await wrong.listen(Heard().hear)
        assert str(caught.value) == "the mail server refuses LOGIN"


async def test_files_come_and_go_and_no_header_can_be_smuggled_in(tmp_path: Path) -> None:
    async with MailServer() as server:
        mail = server.write("look", html="<p>look</p>")
        mail.add_attachment(b"\x89PNG", "image", "png", filename="潮汐.png")
        mail.add_attachment("Grüße".encode(), "text", "plain", filename="../notes.txt")
        server.deliver(mail)
        path = tmp_path / "x"
        path.write_bytes(b"%PDF" * 1000)
        async with heard_by(server) as (adapter, heard):
            event = await take(heard)
            assert [(each.filename, each.media_type, each.size) for each in event.files] == [
                ("潮汐.png", "image/png", 4),
                ("notes.txt", "text/plain", 7),
            ]
            pieces = [b"".join([piece async for piece in adapter.fetch(each)]) for each in event.files]
            assert pieces == [b"\x89PNG", "Grüße".encode()]
            name = "tide\r\nBcc: evil@evil.example.pdf"
            file = OutgoingFile(path=path, filename=name, media_type="application/pdf", size=4000)
            await adapter.send(answer(event, "here\r\n.\r\nRCPT TO:<evil@evil.example>", file=file))
            server.validity += 1
            with pytest.raises(NotFoundError, match="not there any more"):
                await anext(aiter(adapter.fetch(event.files[0])))
        sent = server.sent[-1]
        assert "Bcc" not in sent
        assert text_of(sent) == "here\n.\nRCPT TO:<evil@evil.example>"
        (attached,) = sent.iter_attachments()
        assert (attached.get_content(), attached.get_content_type()) == (b"%PDF" * 1000, "application/pdf")
        evil = ThreadId("mail", "dm", "ann@home.example> BODY=8BITMIME")
        with pytest.raises(SendRefusedError):
            await adapter.send(OutgoingMessage(thread_id=evil, text="x", key="k"))


async def test_over_tls_the_server_must_be_who_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = Certificates(tmp_path)
    server = MailServer()
    await server.open(certificates.context())
    adapter = MailAdapter("mail", server.settings())
    try:
        with pytest.raises(ssl.SSLCertVerificationError):
            await adapter.listen(Heard().hear)
        with pytest.raises(SendLaterError, match="SSLCertVerificationError"):
            await adapter.send(OutgoingMessage(thread_id=THREAD, text="x", key="k"))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates.file))
        await adapter.send(OutgoingMessage(thread_id=THREAD, text="x", key="k"))
        assert text_of(server.sent[-1]) == "x"
        server.deliver(server.write("hello"))
        async with heard_by(server) as (_, heard):
            assert (await take(heard)).text == "hello"
        wrong = MailAdapter("mail", server.settings(password="not it"))
        with pytest.raises(SendLaterError, match="does not let us in") as caught:
            await wrong.send(OutgoingMessage(thread_id=THREAD, text="x", key="k"))
        assert caught.value.everywhere
    finally:
        await server.__aexit__()


async def test_the_standard_library_reads_the_same_mailbox() -> None:
    """The server of these tests speaks IMAP as a foreign client does."""
    async with MailServer() as server:
        stored = server.deliver(server.write("hello"))

        def read() -> list[Any]:
            with imaplib.IMAP4("127.0.0.1", server.imap_port) as box:
                box.login(OWN, PASSWORD)
                box.select()
                return [box.uid("SEARCH", "UNSEEN"), box.uid("FETCH", "1", "(BODY.PEEK[])")]

        found, fetched = await asyncio.to_thread(read)
        assert found == ("OK", [b"1"])
        assert fetched[1][0][1] == stored.raw


async def test_a_send_that_nobody_answers_is_left_open() -> None:
    async with MailServer() as server:
        adapter = MailAdapter("mail", server.settings())
        server.faults.append("lost")
        with pytest.raises(SendError) as caught:
            await adapter.send(OutgoingMessage(thread_id=THREAD, text="x", key="k"))
        assert type(caught.value) is SendError
        server._smtp.close()  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(SendLaterError):
            await adapter.send(OutgoingMessage(thread_id=THREAD, text="x", key="k"))


def test_the_settings_are_those_of_ship_json() -> None:
    assert {"imap", "smtp", "authserv", "approvals"} <= set(MailSettings.__struct_encode_fields__)
