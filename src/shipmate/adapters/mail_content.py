"""Read what a mail says, who surely wrote it and whether a program did, and write answers.

Every step of reading is bounded.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import EmailMessage, Message
from email.policy import SMTP
from email.utils import format_datetime
from typing import TypeAlias

import msgspec

from shipmate.delivery.adapter import OutgoingMessage
from shipmate.errors import SendRefusedError
from shipmate.tools.web.markup import read_markup

AnyMessage: TypeAlias = "Message[str, str]"
TEXT_CHARS, HTML_CHARS, SUBJECT_CHARS, HEADER_CHARS = 100_000, 1_000_000, 150, 2000
# A mail with more borders or parts than any has is not taken apart: that could take minutes.
BORDERS, PARTS, DEPTH = 200, 100, 20
ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}")
# One address, with or without a name; where another reader could see a second one, there is none.
FROM = re.compile(rf"\s*(?:([^<>,;:@]*)<({ADDRESS.pattern})>|({ADDRESS.pattern}))\s*")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
MESSAGE_ID = re.compile(r"<[\x21-\x3b\x3d\x3f-\x7e]{3,200}>")
# Our own ids hold the topic they belong to; none is written as zeros.
OWN_ID = re.compile(r"<[0-9A-Za-z]{1,64}\.([0-9a-f]{12})\.shipmate@")
NO_TOPIC = "0" * 12
# What a program writes: an answer to it could be answered for ever.
MACHINE_HEADERS = (
    "List-Id",
    "List-Unsubscribe",
    "X-Autoreply",
    "X-Autorespond",
    "X-Auto-Reply-From",
    "X-Loop",
)
PRECEDENCES = frozenset({"bulk", "list", "junk", "auto_reply"})
SUPPRESSIONS = frozenset({"all", "oof", "autoreply"})
ROBOTS = re.compile(r"(?i)(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)(?:[+-].*)?@.*")
COMMENT = re.compile(r"\([^()]*\)")
INTRO = re.compile(r"(?i)(?:on |am |le |el |在|于).{0,300}(?:wrote|schrieb|écrit|escribió|写道) ?[:：]")
ORIGINAL = re.compile(r"(?i)-{2,} ?(?:original message|原始邮件|原邮件) ?-{2,}|_{20,}")
OUTLOOK = re.compile(r"(?i)\**(?:from|von|de|发件人)[:：]\** ?\S")
SENT = re.compile(r"(?i)\**(?:sent|date|gesendet|envoyé|发送时间|日期)[:：]")
SIGNATURE = re.compile(r"-- |(?i:sent from my |get outlook for |发自我的|从我的).{0,80}")
ANSWERED = re.compile(r"(?i)(?:re|aw|sv|回复|答复) ?[:：]")
# The longest a header with references becomes: a line of a mail holds no more.
REFERENCE_CHARS = 900
# The subject of a mail that answers none is the beginning of its words.
TITLE_CHARS = 60
# Decoding these takes the square of their length.
SLOW_CODECS = frozenset({"punycode", "idna"})


class MailPart(msgspec.Struct, frozen=True):
    """A file of a mail."""

    filename: str
    media_type: str
    content: bytes


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a mail."""

    address: str
    name: str
    subject: str
    message_id: str
    references: tuple[str, ...]
    is_machine: bool
    is_proven: bool
    text: str = ""
    files: tuple[MailPart, ...] = ()

    @property
    def topic(self) -> str | None:
        """Return the conversation it belongs to: what our own ids say, else what its first mail makes."""
        for each in reversed(self.references):
            if own := OWN_ID.match(each):
                return None if own[1] == NO_TOPIC else own[1]
        root = next(iter(self.references), self.message_id)
        return hashlib.sha256(root.encode()).hexdigest()[:12]


def read_mail(raw: bytes, own: str, authserv: str) -> Mail | None:
    """Read a mail; None when it does not surely name one author, or cannot be taken apart."""
    try:
        return _read(raw, own, authserv)
    except (MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError):
        # The standard library raises each of these for one broken mail or another.
        return None


def _read(raw: bytes, own: str, authserv: str) -> Mail | None:
    is_whole = raw.lower().count(b"boundary") <= BORDERS
    mail = message_from_bytes(raw if is_whole else raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
    found = _read_author(mail)
    if found is None:
        return None
    name, address = found
    leaves = list(_leaves(mail, DEPTH))[:PARTS] if is_whole else []
    files = [each for each in leaves if _is_file(each)]
    said = [each for each in leaves if not _is_file(each)]
    plain = "\n\n".join(_text(each, TEXT_CHARS) for each in said if each.get_content_type() == "text/plain")
    if not plain.strip():
        pages = [_text(each, HTML_CHARS) for each in said if each.get_content_type() == "text/html"]
        plain = read_markup(pages[0], "") if pages else ""
    referred = MESSAGE_ID.findall(_header(mail, "References") + " " + _header(mail, "In-Reply-To"))
    return Mail(
        address=address,
        name=name,
        subject=_line(mail, "Subject")[:SUBJECT_CHARS],
        message_id=next(iter(MESSAGE_ID.findall(_header(mail, "Message-ID"))), ""),
        references=tuple(dict.fromkeys(referred)),
        is_machine=_is_machine(mail, address, own),
        is_proven=not authserv or _is_proven(mail, address.partition("@")[2], authserv),
        text=strip_quotes(plain[:TEXT_CHARS]),
        files=tuple(MailPart(_filename(each), each.get_content_type(), _bytes(each)) for each in files),
    )


def strip_quotes(text: str) -> str:
    """Return the words without the signature and without the mail they answer, if it stands below them."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    end = next((place for place, line in enumerate(lines) if _ends_words(lines, place, line)), len(lines))
    while end and (not lines[end - 1].strip() or lines[end - 1].startswith(">")):
        end -= 1
    kept = lines[:end]
    # What introduces the quotation may be broken into two lines.
    for count in (1, 2):
        if end < len(lines) and INTRO.fullmatch(" ".join(kept[-count:]).strip()[:400]):
            kept = kept[:-count]
            break
    # Whoever only quotes means what is quoted.
    return "\n".join(kept).strip() or text.strip()


def write_mail(own: str, message: OutgoingMessage, message_id: str, last: Mail | None) -> bytes:
    """Return a mail as it is sent. The library refuses headers that hold an end of line."""
    mail = EmailMessage(policy=SMTP.clone(max_line_length=998))
    mail["From"], mail["To"], mail["Message-ID"] = own, message.chat_id, message_id
    mail["Date"] = format_datetime(datetime.now(UTC))
    subject = last.subject if last else " ".join(message.text.split())[:TITLE_CHARS]
    mail["Subject"] = subject if last is None or ANSWERED.match(subject) else f"Re: {subject}"
    # Whoever answers by itself is told not to.
    mail["Auto-Submitted"], mail["X-Auto-Response-Suppress"] = "auto-replied", "All"
    if last is not None and last.message_id:
        mail["In-Reply-To"] = last.message_id
        chain = list(dict.fromkeys((*last.references, last.message_id)))
        while len(" ".join(chain)) > REFERENCE_CHARS:
            del chain[1]
        mail["References"] = " ".join(chain)
    mail.set_content(message.text or " ")
    if (file := message.file) is not None:
        try:
            content = file.path.read_bytes()
        except OSError as error:
            raise SendRefusedError(f"{file.filename} cannot be read: {error.strerror}") from None
        kind, _, sort = file.media_type.partition("/")
        name = "".join(char if char.isprintable() else "_" for char in file.filename)
        if kind in ("", "text", "message", "multipart") or not f"{kind}{sort}".isascii() or not sort:
            kind, sort = "application", "octet-stream"
        mail.add_attachment(content, kind, sort.partition(";")[0], filename=name)
    return mail.as_bytes()


def _ends_words(lines: list[str], place: int, line: str) -> bool:
    if SIGNATURE.fullmatch(line) or (len(line) < 200 and ORIGINAL.fullmatch(line.strip())):
        return True
    following = lines[place + 1 : place + 3]
    return OUTLOOK.match(line) is not None and any(SENT.match(each) for each in following)


def _read_author(mail: AnyMessage) -> tuple[str, str] | None:
    values = mail.get_all("From", [])
    raw = " ".join(str(values[0]).split()) if len(values) == 1 else ""
    names = QUOTED.findall(raw)
    found = FROM.fullmatch(QUOTED.sub("", raw)) if 0 < len(raw) < HEADER_CHARS else None
    if found is None:
        return None
    return _decode(f"{' '.join(names)} {found[1] or ''}"), (found[2] or found[3]).lower()


def _is_machine(mail: AnyMessage, address: str, own: str) -> bool:
    automatic = _header(mail, "Auto-Submitted").lower()
    suppressed = {each.strip() for each in _header(mail, "X-Auto-Response-Suppress").lower().split(",")}
    return (
        address == own.lower()
        or ROBOTS.fullmatch(address) is not None
        or (automatic != "" and automatic.split(";")[0].strip() != "no")
        or _header(mail, "Precedence").lower() in PRECEDENCES
        or not SUPPRESSIONS.isdisjoint(suppressed)
        or any(name in mail for name in MACHINE_HEADERS)
        or _header(mail, "Return-Path").replace(" ", "") == "<>"
        or mail.get_content_type() == "multipart/report"
    )


def _is_proven(mail: AnyMessage, domain: str, authserv: str) -> bool:
    """Return whether the server that took the mail says that its author's domain sent it.

    Only the topmost results count: that server wrote them last, whatever the mail brought along.
    """
    results = " ".join(str(mail.get("Authentication-Results", ""))[: 10 * HEADER_CHARS].lower().split())
    results = QUOTED.sub("", results)
    while (shorter := COMMENT.sub(" ", results)) != results:
        results = shorter
    head, *methods = [each.split() for each in results.split(";")]
    # What the server quotes may be anybody's words, also those that end a quotation.
    if not head or head[0] != authserv.lower() or head[1:] not in ([], ["1"]) or set(results) & set('()"'):
        return False
    verdicts = {each[0]: dict(_pair(word) for word in each[1:]) for each in methods if each}
    if any(verdict.startswith("dmarc=") for verdict in verdicts):
        return verdicts.get("dmarc=pass", {}).get("header.from") == domain
    signed = verdicts.get("dkim=pass", {})
    signer = signed.get("header.d") or signed.get("header.i", "").rpartition("@")[2]
    sender = verdicts.get("spf=pass", {}).get("smtp.mailfrom", "").rpartition("@")[2]
    return domain in (signer, sender)


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def _leaves(part: AnyMessage, depth: int) -> Iterator[AnyMessage]:
    """Go over what is no container; a mail inside a mail is one piece."""
    if part.get_content_maintype() != "multipart" or not part.is_multipart():
        yield part
    elif depth:
        for each in part.get_payload():
            if isinstance(each, Message):
                yield from _leaves(each, depth - 1)


def _is_file(part: AnyMessage) -> bool:
    is_attached = part.get_content_disposition() == "attachment" or part.get_filename() is not None
    return is_attached or part.get_content_maintype() not in ("text", "multipart")


def _filename(part: AnyMessage) -> str:
    name = _decode(str(part.get_filename() or ""))[:200].replace("\\", "/").rpartition("/")[2]
    return name or ("mail.eml" if part.get_content_maintype() == "message" else "file")


def _bytes(part: AnyMessage) -> bytes:
    payload = part.get_payload(decode=True)
    if isinstance(payload, bytes):
        return payload
    return b"\r\n".join(each.as_bytes() for each in part.get_payload() if isinstance(each, Message))


def _text(part: AnyMessage, limit: int) -> str:
    # No character takes more than four bytes.
    data = _bytes(part)[: 4 * limit]
    charset = part.get_content_charset() or "utf-8"
    try:
        is_slow = codecs.lookup(charset).name in SLOW_CODECS
        return data.decode("utf-8" if is_slow else charset, "replace")[:limit]
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")[:limit]


def _header(mail: AnyMessage, name: str) -> str:
    return " ".join(str(mail.get(name, ""))[:HEADER_CHARS].split())


def _line(mail: AnyMessage, name: str) -> str:
    return _decode(_header(mail, name))


def _decode(text: str) -> str:
    """Read what is encoded in a header; nothing that could end its line stays."""
    with suppress(LookupError, ValueError, MessageError):
        text = str(make_header(decode_header(text)))
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
