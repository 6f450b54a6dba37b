"""Turn a fetched page into Markdown."""

from __future__ import annotations

import re

from shipmate.tools.text import clean
from shipmate.tools.web.charset import decode
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
