"""Turn a fetched page into Markdown."""

from __future__ import annotations

import codecs
import re

from shipmate.tools.text import clean
from shipmate.tools.web.lexer import decode_references
from shipmate.tools.web.markup import read_markup

TEXT_KINDS = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|toml|javascript|x-ndjson)|")
HTML_KINDS = frozenset({"text/html", "application/xhtml+xml"})
HTML_START = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,300})", re.IGNORECASE)
# Past this, taking a page apart takes longer than reading it is worth.
HTML_LIMIT = 2_000_000
# What the library that finds the content is given: its time grows faster than the number of tags.
EXTRACTED_LIMIT = 1_000_000
EXTRACTED_TAGS = 8_000
META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings by their Python names. `codecs` also knows some that unpack or evaluate what they are given.
ENCODINGS = frozenset(
    {
        "ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be",
        "gbk", "gb2312", "gb18030", "hz", "big5", "big5hkscs", "cp950",
        "shift_jis", "cp932", "euc_jp", "iso2022_jp", "euc_kr", "cp949", "johab",
        "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp866", "cp874", "tis-620",
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859-{number}" for number in range(1, 17)),
    }
)  # fmt: skip
# What the web means by these is wider than what the names say.
WIDER = {"gbk": "gb18030", "gb2312": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252", "euc_kr": "cp949"}


def is_html(body: bytes, kind: str) -> bool:
    """Return whether an answer is a page of HTML."""
    return kind in HTML_KINDS or (not kind and HTML_START.match(body[:1024]) is not None)


def is_text(body: bytes, kind: str) -> bool:
    """Return whether an answer is plain text of some kind."""
    return TEXT_KINDS.fullmatch(kind[:200]) is not None and b"\0" not in body[:8192]


def to_markdown(body: bytes, kind: str, charset: str | None, url: str) -> str | None:
    """Return a page's text, None when it has none."""
    if is_html(body, kind):
        return html_to_markdown(decode(body, charset), url)
    return decode(body, charset) if is_text(body, kind) else None


def html_to_markdown(html: str, url: str) -> str:
    """Return the main content of a page, under its title."""
    return extract_content(html, url) or read_content(html, url)


def extract_content(html: str, url: str) -> str:
    """Let trafilatura find the content, where it is installed: it knows more kinds of pages than we do.

    Returns nothing for a page that would keep it busy. It knows no limits: call it in a child process.
    """
    if len(html) > EXTRACTED_LIMIT or html.count("<") > EXTRACTED_TAGS:
        return ""
    try:
        import trafilatura
    except ImportError:
        return ""
    found = trafilatura.extract(
        html, url=url, output_format="markdown", include_links=True, include_tables=True
    )
    return clean(_heading(html) + found) if found else ""


def read_content(html: str, url: str) -> str:
    """Return a page as our own reader understands it, in linear time."""
    more = "\n\n[the page goes on; only its beginning was read]" if len(html) > HTML_LIMIT else ""
    html = html[:HTML_LIMIT]
    return clean(_heading(html) + read_markup(html, url)) + more


def _heading(html: str) -> str:
    title = TITLE.search(html)
    return f"# {' '.join(decode_references(title[1]).split())}\n\n" if title else ""


def extract_page(data: bytes, *, charset: str | None, url: str) -> bytes:
    """Do the work of `extract_content` on bytes, in a child process."""
    return extract_content(decode(data, charset), url).encode("utf-8", "replace")


def read_page(data: bytes, *, charset: str | None, url: str) -> bytes:
    """Do the work of `read_content` on bytes, in a child process."""
    return read_content(decode(data, charset), url).encode("utf-8", "replace")


def decode(body: bytes, charset: str | None) -> str:
    """Decode by what the page's first bytes say, else the server, else the page itself, else as UTF-8."""
    for mark, name in MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    said = META_CHARSET.search(body[:4096])
    for name in (charset, said[1].decode("ascii") if said else None):
        if name and (encoding := find_encoding(name)):
            return body.decode(encoding, "replace")
    return body.decode("utf-8", "replace")


def find_encoding(name: str) -> str | None:
    """Return the encoding a page means by a name; None when it is none of text."""
    # Looking a name up imports a module named after it, so nothing odd is looked up.
    if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,40}", name):
        return None
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError, UnicodeError):
        return None
    return WIDER.get(found, found) if found in ENCODINGS else None
