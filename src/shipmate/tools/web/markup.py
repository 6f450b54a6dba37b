"""Read HTML as Markdown with the standard library alone: headings, links, lists, code and tables."""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import urljoin

from shipmate.tools.web.lexer import End, PageCut, Start, scan

# Never shown, or furniture around the content.
SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "select", "button"})
FURNITURE = frozenset({"nav", "footer", "aside", "form"})
BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "table", "ul", "ol", "dl", "dt", "dd", "figure"}
)
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
# How deep lists and quotations are drawn; what lies deeper stands at this depth.
DEPTH_LIMIT = 12
# Of further links only the words are kept: resolving an address costs more than reading a tag.
LINK_LIMIT = 10_000
# No more Markdown is made of one page: a model is shown far less of it.
OUTPUT_LIMIT = 2_000_000
CUT = "\n\n[the page goes on; it is too large to be read whole]"
SPACES = re.compile(r"[ \t\n\r\f\v]+")


def read_markup(html: str, url: str) -> str:
    """Return a page as Markdown; only its `main` or `article` where it has one with words in it."""
    frame = _frame_of(html)
    return (_read(html, url, frame) if frame else "") or _read(html, url, None)


def _read(html: str, url: str, within: str | None) -> str:
    writer = _Writer(url, within)
    for token in scan(html):
        if isinstance(token, str):
            writer.say(token)
        elif isinstance(token, Start):
            writer.open(token.name, token.attributes.get("href"))
        elif isinstance(token, End):
            writer.close(token.name)
        if isinstance(token, PageCut) or writer.size > OUTPUT_LIMIT:
            return writer.text()[:OUTPUT_LIMIT] + CUT
    return writer.text()


def _frame_of(html: str) -> str | None:
    lowered = html.lower()
    return next((tag for tag in ("main", "article") if f"<{tag}" in lowered and f"</{tag}>" in lowered), None)


class _Writer:
    """Writes Markdown as tags and texts come; every step costs the same however deep the page is nested."""

    def __init__(self, url: str, within: str | None) -> None:
        self._url = url
        self._within = within
        self._inside = 0
        self._silent: list[str] = []
        self._hidden_tags: Counter[str] = Counter()
        self._lists: list[int | None] = []
        # Where the open link's words begin among the pieces, and where it leads.
        self._link: tuple[int, str | None] | None = None
        self._links = 0
        self._quotes = 0
        self._pre = 0
        self._pieces: list[str] = []
        self._at_line_start = True
        self.size = 0

    def text(self) -> str:
        """Return what was written, without stacks of blank lines."""
        self._end_link()
        lines = (line.rstrip() for line in "".join(self._pieces).split("\n"))
        kept = "\n".join("" if set(line) <= {">", " "} else line for line in lines)
        return re.sub(r"\n{3,}", "\n\n", kept).strip()

    @property
    def _is_heard(self) -> bool:
        return not self._silent and (self._within is None or self._inside > 0)

    def open(self, tag: str, target: str | None) -> None:
        """Take a tag that opens an element."""
        if tag == self._within:
            self._inside += 1
        if tag in SILENT or tag in FURNITURE:
            self._silent.append(tag)
            self._hidden_tags[tag] += 1
        if self._is_heard:
            self._open(tag, target)

    def close(self, tag: str) -> None:
        """Take a tag that closes an element."""
        if self._silent:
            # An inner tag that was never closed ends with the outer one.
            while self._hidden_tags[tag]:
                self._hidden_tags[ended := self._silent.pop()] -= 1
                if ended == tag:
                    break
            return
        if self._is_heard:
            self._close(tag)
        if tag == self._within:
            self._inside = max(0, self._inside - 1)

    def say(self, data: str) -> None:
        """Take text."""
        if not self._is_heard:
            return
        if self._pre:
            self._write(data)
            return
        words = SPACES.sub(" ", data)
        self._write(words.lstrip() if self._at_line_start else words)

    def _open(self, tag: str, target: str | None) -> None:
        match tag:
            case "p" | "div" | "section":
                self._block()
            case "a":
                self._end_link()
                self._link = (len(self._pieces), target)
            case "pre":
                self._pre += 1
                self._block("```\n")
            case "ul" | "ol":
                self._block("" if self._lists else None)
                self._lists.append(0 if tag == "ol" else None)
            case "li":
                self._line("  " * min(len(self._lists) - 1, DEPTH_LIMIT) + self._bullet())
            case "blockquote":
                self._quotes += 1
                self._block()
            case "br":
                self._line("")
            case "hr":
                self._block("---\n\n")
            case "tr":
                self._line("| ")
            case _ if tag in HEADINGS:
                self._block(HEADINGS[tag])
            case _ if tag in MARKS and not self._pre:
                self._write(MARKS[tag])
            case _ if tag in BLOCKS:
                self._block()
            case _:
                pass

    def _close(self, tag: str) -> None:
        match tag:
            case "a":
                self._end_link()
            case "pre" if self._pre:
                self._pre -= 1
                self._line("```")
                self._block()
            case "ul" | "ol" if self._lists:
                self._lists.pop()
                if not self._lists:
                    self._block()
            case "blockquote" if self._quotes:
                self._quotes -= 1
                self._block()
            case "td" | "th":
                self._write(" | ")
            case _ if tag in HEADINGS or tag in BLOCKS:
                self._block()
            case _ if tag in MARKS and not self._pre:
                self._write(MARKS[tag])
            case _:
                pass

    def _bullet(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number + 1}. "

    def _end_link(self) -> None:
        """Write the open link, if there is one, around the words said since."""
        if self._link is None:
            return
        (start, target), self._link = self._link, None
        words = "".join(self._pieces[start:])
        if self._links >= LINK_LIMIT:
            return
        if target and words.strip() and not target.lower().startswith(("javascript:", "data:", "#")):
            self._links += 1
            link = f"[{words.strip()}]({_join(self._url, target)})"
            self.size += len(link) - len(words)
            self._pieces[start:] = [link]
            self._at_line_start = False

    def _write(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self.size += len(piece)
            self._at_line_start = piece.endswith(("\n", "> "))

    def _line(self, lead: str) -> None:
        """Go to a new line."""
        quote = "> " * min(self._quotes, DEPTH_LIMIT)
        self._write(lead if self._at_line_start and not quote else f"\n{quote}{lead}")

    def _block(self, lead: str | None = "") -> None:
        """Go to a new block."""
        if lead is None or not self._lists or lead:
            self._write("\n\n" + "> " * min(self._quotes, DEPTH_LIMIT) + (lead or ""))


def _join(base: str, target: str) -> str:
    if target.startswith(("https://", "http://")):
        return target
    try:
        return urljoin(base, target)
    except ValueError:
        # No address at all, such as `http://[`; it is shown as it stands.
        return target
