"""Read HTML as Markdown with the standard library alone: headings, links, lists, code and tables."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

# Never shown, or furniture around the content.
SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "select", "button"})
FURNITURE = frozenset({"nav", "footer", "aside", "form"})
BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "table", "ul", "ol", "dl", "dt", "dd", "figure"}
)
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
VOID = frozenset(
    {"br", "hr", "img", "input", "meta", "link", "source", "wbr", "area", "base", "col", "embed", "track"}
)
SPACES = re.compile(r"[ \t\r\f\v]*\n[ \t\r\f\v]*|[ \t\r\f\v]+")


def read_markup(html: str, url: str) -> str:
    """Give a page as Markdown; only its `main` or `article` where it has one."""
    reader = _Reader(url, within=_frame_of(html))
    reader.feed(html)
    reader.close()
    return reader.text()


def _frame_of(html: str) -> str | None:
    lowered = html.lower()
    return next((tag for tag in ("main", "article") if f"<{tag}" in lowered and f"</{tag}>" in lowered), None)


class _Reader(HTMLParser):
    def __init__(self, url: str, within: str | None) -> None:
        super().__init__(convert_charrefs=True)
        self._url = url
        self._within = within
        self._inside = 0
        self._silent: list[str] = []
        self._lists: list[int | None] = []
        self._links: list[str | None] = []
        self._quotes = 0
        self._pre = 0
        self._pieces: list[str] = []

    def text(self) -> str:
        """Give what was read, without stacks of blank lines."""
        lines = (line.rstrip() for line in "".join(self._pieces).split("\n"))
        kept = "\n".join("" if set(line) <= {">", " "} else line for line in lines)
        return re.sub(r"\n{3,}", "\n\n", kept).strip()

    @property
    def _is_heard(self) -> bool:
        return not self._silent and (self._within is None or self._inside > 0)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == self._within:
            self._inside += 1
        if (tag in SILENT or tag in FURNITURE) and tag not in VOID:
            self._silent.append(tag)
        if self._is_heard:
            self._open(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag in self._silent:
                # An inner tag that was never closed ends with the outer one.
                del self._silent[len(self._silent) - 1 - self._silent[::-1].index(tag) :]
            return
        if self._is_heard:
            self._close(tag)
        if tag == self._within:
            self._inside = max(0, self._inside - 1)

    def handle_data(self, data: str) -> None:
        if not self._is_heard:
            return
        if self._pre:
            self._pieces.append(data)
            return
        words = SPACES.sub(" ", data.replace("\n", " "))
        if words.strip() or not self._at_line_start():
            self._pieces.append(words.lstrip() if self._at_line_start() else words)

    def _open(self, tag: str, attributes: dict[str, str | None]) -> None:
        match tag:
            case "a":
                self._links.append(attributes.get("href"))
                self._pieces.append("[")
            case "pre":
                self._pre += 1
                self._block("```\n")
            case "ul" | "ol":
                self._block("" if self._lists else None)
                self._lists.append(0 if tag == "ol" else None)
            case "li":
                self._line("  " * (len(self._lists) - 1) + self._bullet())
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
                self._pieces.append(MARKS[tag])
            case _ if tag in BLOCKS:
                self._block()
            case _:
                pass

    def _close(self, tag: str) -> None:
        match tag:
            case "a" if self._links:
                self._end_link(self._links.pop())
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
                self._pieces.append(" | ")
            case _ if tag in HEADINGS or tag in BLOCKS:
                self._block()
            case _ if tag in MARKS and not self._pre:
                self._pieces.append(MARKS[tag])
            case _:
                pass

    def _bullet(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number + 1}. "

    def _end_link(self, target: str | None) -> None:
        # The link's own words stand behind its opening bracket.
        start = next((at for at in range(len(self._pieces) - 1, -1, -1) if self._pieces[at] == "["), None)
        if start is None:
            return
        words = "".join(self._pieces[start + 1 :])
        shown = target and words.strip() and not target.lower().startswith(("javascript:", "data:", "#"))
        link = f"[{words.strip()}]({urljoin(self._url, target or '')})" if shown else words
        self._pieces[start:] = [link]

    def _at_line_start(self) -> bool:
        last = next((piece for piece in reversed(self._pieces) if piece), "\n")
        return last.endswith(("\n", "> "))

    def _line(self, lead: str) -> None:
        """Go to a new line."""
        quote = "> " * self._quotes
        self._pieces.append(lead if self._at_line_start() and not quote else f"\n{quote}{lead}")

    def _block(self, lead: str | None = "") -> None:
        """Go to a new block."""
        if lead is None or not self._lists or lead:
            self._pieces.append("\n\n" + "> " * self._quotes + (lead or ""))
