"""Cut HTML into tags and text in one pass.

Each character is looked at a bounded number of times, whatever the page holds: what is opened and never
closed (a comment, a tag, a quotation) ends the page, as it does in a browser, so no search for an end is
begun twice. The standard library begins such searches anew at every tag and takes hours for some pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final, NamedTuple

# A page of more is cut: reading on would cost more than its words are worth.
TAG_LIMIT = 100_000
# Attributes of one tag that are looked at, and the longest value that is given.
ATTRIBUTE_LIMIT = 200
VALUE_LIMIT = 4_000

_OPENING = re.compile(r"<(?:(/?)([A-Za-z][^\s/>]{0,63}+)>|[A-Za-z/!?])")
_NAME = re.compile(r"[A-Za-z][^\s/>]{0,63}+")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+(=?[^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+))?+)?+"""
)
# Longer than any character's number; the standard library would refuse the page for it.
_HUGE_NUMBER = re.compile(r"&#[0-9]{16,}+;?+")
# Elements that hold no tags; False when their words are no text of the page.
RAW: Final = {
    "script": False,
    "style": False,
    "xmp": True,
    "iframe": False,
    "noembed": False,
    "noframes": False,
    "textarea": True,
    "title": True,
}
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}


class Start(NamedTuple):
    """A tag that opens an element, with its first attribute of each name."""

    name: str
    attributes: dict[str, str]


class End(NamedTuple):
    """A tag that closes an element."""

    name: str


class PageCut(NamedTuple):
    """The place where a page with too many tags is left."""


Token = Start | End | PageCut | str


def scan(html: str) -> Iterator[Token]:
    """Yield the tags and texts of a page, in order; a `Cut` comes last when there was more."""
    at, tags = 0, 0
    while found := _OPENING.search(html, at):
        opened = found.start()
        if opened > at:
            yield decode_references(html[at:opened])
        token, at = _read_markup(html, opened, found)
        if token is not None:
            yield token
        if isinstance(token, Start) and token.name in RAW:
            text, at = _read_raw(html, at, token.name)
            if text:
                yield text
        tags += 1
        if at < 0:
            return
        if tags >= TAG_LIMIT:
            yield PageCut()
            return
    if at < len(html):
        yield decode_references(html[at:])


def _read_markup(html: str, opened: int, found: re.Match[str]) -> tuple[Start | End | None, int]:
    """Read what begins with `<`; also return where it ends, -1 when it does not."""
    if name := found[2]:
        # Most tags are as short as this.
        return (End(name.lower()) if found[1] else Start(name.lower(), {})), found.end()
    mark = html[opened + 1]
    if mark == "/":
        return _read_end(html, opened)
    return (None, _skip_declaration(html, opened)) if mark in "!?" else _read_start(html, opened)


def decode_references(text: str) -> str:
    """Return a text with `&amp;` and its like written out."""
    return unescape(_HUGE_NUMBER.sub("\ufffd", text)) if "&" in text else text


def _read_start(html: str, opened: int) -> tuple[Start | None, int]:
    name = _NAME.match(html, opened + 1)
    assert name is not None
    attributes: dict[str, str] = {}
    at = name.end()
    for _ in range(ATTRIBUTE_LIMIT):
        if html.startswith(">", at):
            return Start(name[0].lower(), attributes), at + 1
        found = _ATTRIBUTE.match(html, at)
        if found is None:
            break
        value = found[2] or found[3] or found[4] or ""
        if len(value) <= VALUE_LIMIT:
            attributes.setdefault(found[1].lower(), decode_references(value))
        at = found.end()
    closed = html.find(">", at)
    return (Start(name[0].lower(), attributes), closed + 1) if closed >= 0 else (None, -1)


def _read_end(html: str, opened: int) -> tuple[End | None, int]:
    name = _NAME.match(html, opened + 2)
    closed = html.find(">", opened + 2)
    return (End(name[0].lower()) if name and closed >= 0 else None), closed + 1 or -1


def _read_raw(html: str, at: int, name: str) -> tuple[str, int]:
    """Read an element without tags inside; gives -1 when it is never closed."""
    end = _RAW_END[name].search(html, at)
    stop = len(html) if end is None else end.start()
    text = decode_references(html[at:stop]) if RAW[name] else ""
    return text, -1 if end is None else stop


def _skip_declaration(html: str, opened: int) -> int:
    """Return where a comment, doctype or the like ends; -1 when it does not."""
    if html.startswith("<!--", opened):
        # `<!-->` and `<!--->` are comments too.
        closed = html.find("-->", opened + 2)
        return closed + 3 if closed >= 0 else -1
    return html.find(">", opened) + 1 or -1
