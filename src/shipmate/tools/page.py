"""Turn a fetched page into Markdown."""

from __future__ import annotations

import codecs
import re
from html import unescape
from html.parser import HTMLParser

from shipmate.tools.text import clean

SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head"})
BLOCKS = frozenset(
    {
        "p",
        "div",
        "br",
        "li",
        "tr",
        "table",
        "section",
        "article",
        "pre",
        "blockquote",
        "ul",
        "ol",
        "hr",
        "dd",
        "dt",
    }
    | {f"h{level}" for level in range(1, 7)}
)
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
    """Keep the main content of a page; where none is found, all its words."""
    import trafilatura

    found = trafilatura.extract(
        html, url=url, output_format="markdown", include_links=True, include_tables=True
    )
    title = re.search(r"<title[^>]{0,200}>([^<]{1,300})", html, re.IGNORECASE)
    heading = f"# {' '.join(unescape(title[1]).split())}\n\n" if title else ""
    return clean(heading + (found or words_of(html)))


def words_of(html: str) -> str:
    """Give the words of a page, a line for each block."""
    reader = _Words()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in SILENT
        if tag in BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in SILENT))
        if tag in BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data)
