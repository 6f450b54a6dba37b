"""Turn Markdown into plain words, and entities that say which of them look how: as Telegram takes both.

Entities need no escaping, so nothing that a model writes can be refused or become markup of its own.
"""

from __future__ import annotations

import re
from typing import Any

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^`\n]*")
HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*)")
INLINE = re.compile(
    r"\\(?P<escaped>[\\`*_{}\[\]()#+.!~|>-])"
    r"|(?<!`)(?P<ticks>`++)(?P<code>[^\n]+?)(?<!`)(?P=ticks)(?!`)"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<url>(?:https?|tg|mailto|tel):[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)"
    r"|\*\*(?=[^\s*])(?P<bold>[^\n]+?)(?<=[^\s*])\*\*(?!\*)"
    r"|~~(?=\S)(?P<strikethrough>[^~\n]+)(?<=\S)~~"
    r"|(?<![\w*])\*(?=[^\s*])(?P<star>[^*\n]+)(?<=\S)\*(?![\w*])"
    r"|(?<![\w_])_(?=[^\s_])(?P<line>[^_\n]+)(?<=\S)_(?![\w_])"
)
STYLES = {"bold": "bold", "strikethrough": "strikethrough", "star": "italic", "line": "italic"}


def render(markdown: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the words and their entities."""
    page = _Page()
    block: list[str] | None = None
    mark = language = ""
    for number, line in enumerate(markdown.split("\n")):
        fence = FENCE.fullmatch(line)
        if block is not None:
            if fence and fence[1].startswith(mark) and not fence[2]:
                page.put_block(block, language)
                block = None
            else:
                block.append(line)
            continue
        if number:
            page.put("\n")
        if fence:
            block, mark, language = [], fence[1], fence[2]
        elif heading := HEADING.fullmatch(line):
            start = page.units
            page.put_inline(_trim_heading(heading[1]))
            page.mark("bold", start)
        else:
            page.put_inline(line)
    if block is not None:
        page.put_block(block, language)
    text = "".join(page.pieces)
    # What is nothing but markup is shown as it was written; Telegram takes no empty message.
    return (text, page.entities) if text.strip() else (markdown, [])


def _trim_heading(text: str) -> str:
    """Return a heading without the marks that close it, which stand apart from its words."""
    text = text.rstrip(" \t")
    words = text.rstrip("#")
    return words.rstrip(" \t") if not words or words[-1] in " \t" else text


class _Page:
    """Words as they are put down, counted as Telegram counts: in UTF-16."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.entities: list[dict[str, Any]] = []
        self.units = 0

    def put(self, text: str) -> None:
        self.pieces.append(text)
        self.units += len(text.encode("utf-16-le", "surrogatepass")) // 2

    def mark(self, kind: str, start: int, **more: str) -> None:
        if self.units > start:
            self.entities.append({"type": kind, "offset": start, "length": self.units - start, **more})

    def put_block(self, lines: list[str], language: str) -> None:
        start = self.units
        self.put("\n".join(lines))
        self.mark("pre", start, **({"language": language} if language else {}))

    def put_inline(self, text: str) -> None:
        end = 0
        for found in INLINE.finditer(text):
            self.put(text[end : found.start()])
            end = found.end()
            self._put_found(found)
        self.put(text[end:])

    def _put_found(self, found: re.Match[str]) -> None:
        start, name = self.units, str(found.lastgroup)
        if name == "escaped":
            self.put(found["escaped"])
        elif name == "code":
            code = found["code"]
            self.put(code[1:-1] if code[0] == code[-1] == " " and code.strip() else code)
            self.mark("code", start)
        elif name == "url":
            self.put_inline(found["label"])
            self.mark("text_link", start, url=found["url"])
        else:
            self.put_inline(found[name])
            self.mark(STYLES[name], start)
