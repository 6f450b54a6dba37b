"""What a mail says is read within bounds, and only what its author wrote anew."""

from __future__ import annotations

from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.adapters.mail_content import Mail, read_mail, strip_quotes

OWN = "mate@ship.example"


def read(raw: bytes) -> Mail | None:
    return read_mail(b"From: ann@home.example\r\n" + raw, OWN, "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Yes.\n\nOn Mon, 16 Nov 2026 at 10:00, Mate <mate@ship.example> wrote:\n> Shall I?\n>\n> no?\n",
            "Yes.",
        ),
        ("Yes.\n\nOn Mon, 16 Nov 2026 at 10:00, Mate <mate@ship.example>\nwrote:\n\n> Shall I?", "Yes."),
        ("好的\n\n在 2026年11月16日，Mate 写道：\n> 可以吗？", "好的"),
        ("Yes\r\n\r\n-----Original Message-----\r\nFrom: Mate\r\nShall I?", "Yes"),
        ("Yes\n\n**From:** Mate\n**Sent:** Monday\n**To:** Ann\n\nShall I?", "Yes"),
        ("是\n\n发件人： Mate\n发送时间： 2026年\n\n可以吗？", "是"),
        ("Yes\n-- \nAnn, mate of the Sea", "Yes"),
        ("> Shall I?\n\nYes, and\n\n> when?\n\nnow", "> Shall I?\n\nYes, and\n\n> when?\n\nnow"),
        ("yes\n\nSent from my telephone\n\n> Shall I?", "yes"),
        ("好\n发自我的手机", "好"),
        ("> only this", "> only this"),
        ("On Monday Bo wrote: hi", "On Monday Bo wrote: hi"),
        ("From: the sea\nI greet you", "From: the sea\nI greet you"),
        ("", ""),
    ],
)
def test_only_what_was_written_anew_is_read(text: str, words: str) -> None:
    assert strip_quotes(text) == words


def test_a_page_is_read_as_markdown_and_its_quotation_is_left_out() -> None:
    mail = EmailMessage()
    mail["From"] = "Ann <ann@home.example>"
    mail.set_content(
        "<style>x</style><p>Take <b>this</b><br>one</p><div>On Monday, Mate wrote:</div>"
        "<blockquote>Which?</blockquote>",
        subtype="html",
    )
    found = read_mail(mail.as_bytes(), OWN, "")
    assert found is not None
    assert (found.name, found.text) == ("Ann", "Take **this**\none")


HOSTILE = [
    b"Content-Type: multipart/mixed; boundary=a\r\n\r\n"
    + b"--a\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n" * 50_000,
    b"Content-Type: text/plain; charset=punycode\r\n\r\n" + b"a-" + b"zz9" * 300_000,
    b"Content-Type: text/plain; charset=no-such\r\n\r\n\xff\xfe",
    b"Content-Type: text/html\r\n\r\n" + b"<div>" * 20_000,
    b"Content-Type: text/plain; charset*0=\xff; charset*=a'b\r\n\r\nx",
    b"Subject: " + b"=?utf-8?b?" * 100_000 + b"\r\n\r\nx",
    b"Subject: =?x?q?\xff?= \xff\r\nReferences: " + b"<a@b> " * 100_000 + b"\r\n\r\n> x\n" * 100_000,
    b"Content-Type: multipart/alternative\r\n\r\nno border",
    b"Content-Type: message/rfc822\r\n\r\nSubject: inside\r\n\r\nx",
    b"\r\n" + b"On a " * 200_000 + b"\n> x",
]


@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_no_mail_takes_long_or_breaks_the_reader(raw: bytes) -> None:
    found = read(raw)
    assert found is None or len(found.text) <= 100_000


@given(st.binary(max_size=500), st.binary(max_size=500))
def test_whatever_a_mail_holds_it_is_read_or_not(head: bytes, body: bytes) -> None:
    found = read(head + b"\r\n\r\n" + body)
    assert found is None or (found.address == "ann@home.example" and found.subject.isprintable())


def test_a_mail_inside_a_mail_is_a_file() -> None:
    inner = EmailMessage()
    inner["Subject"] = "inside"
    inner.set_content("x")
    mail = EmailMessage()
    mail["From"] = "ann@home.example"
    mail.set_content("see")
    mail.add_attachment(inner)
    found = read_mail(mail.as_bytes(), OWN, "")
    assert found is not None
    assert found.text == "see"
    assert [(each.filename, b"inside" in each.content) for each in found.files] == [("mail.eml", True)]
