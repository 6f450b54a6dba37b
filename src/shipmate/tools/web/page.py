"""Turn a fetched page into Markdown."""

from __future__ import annotations

import codecs
import re
from html import unescape

from shipmate.tools.text import clean
from shipmate.tools.web.markup import read_markup

TEXT_KINDS = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|toml|javascript|x-ndjson)|")
HTML_KINDS = frozenset({"text/html", "application/xhtml+xml"})
HTML_START = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)
# Past this, taking a page apart takes longer than reading it is worth.
HTML_LIMIT = 2_000_000
META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]+)", re.IGNORECASE)


def to_markdown(body: bytes, kind: str, charset: str | None, url: str) -> str | None:
    """Give a page's text, None when it has none."""
    if kind in HTML_KINDS or (not kind and HTML_START.match(body)):
        return html_to_markdown(decode(body, charset), url)
    if TEXT_KINDS.fullmatch(kind) and b"\0" not in body[:8192]:
        return decode(body, charset)
    return None


def decode(body: bytes, charset: str | None) -> str:
    """Decode by what the server said, else by what the page says, else as UTF-8."""
    said = META_CHARSET.search(body[:4096])
    name = charset or (said[1].decode("ascii", "replace") if said else "utf-8")
    try:
        codecs.lookup(name)
        return body.decode(name, "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")


def html_to_markdown(html: str, url: str) -> str:
    """Keep the main content of a page, under its title."""
    title = re.search(r"<title[^>]{0,200}>([^<]{1,300})", html, re.IGNORECASE)
    heading = f"# {' '.join(unescape(title[1]).split())}\n\n" if title else ""
    return clean(heading + (_extract(html, url) or read_markup(html, url)))


def _extract(html: str, url: str) -> str | None:
    """Let trafilatura find the content, where it is installed: it knows more kinds of pages than we do."""
    try:
        import trafilatura
    except ImportError:
        return None
    return trafilatura.extract(
        html, url=url, output_format="markdown", include_links=True, include_tables=True
    )
