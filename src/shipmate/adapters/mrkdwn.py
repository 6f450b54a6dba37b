"""Write and read mrkdwn, the markup of Slack, in which `<`, `>` and `&` of plain words are escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shipmate.adapters.entity_markup import render

# What stands before and after words of each kind.
MARKS = {
    "bold": ("*", "*"),
    "italic": ("_", "_"),
    "strikethrough": ("~", "~"),
    "code": ("`", "`"),
    "pre": ("```\n", "\n```"),
    "text_link": ("<{url}|", ">"),
}
ENTITY = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def escape(text: str) -> str:
    """Return words in which nothing is markup, and nothing calls anybody up."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def write_mrkdwn(markdown: str) -> str:
    """Return Markdown as mrkdwn."""
    text, entities = render(markdown)
    data = text.encode("utf-16-le", "surrogatepass")
    marks: list[tuple[int, int, int, int, str]] = []
    for number, each in enumerate(entities):
        start, end = each["offset"], each["offset"] + each["length"]
        url = escape(each.get("url", "")).replace("|", "%7C")
        first, last = (mark.replace("{url}", url) for mark in MARKS[each["type"]])
        # What is inside comes first in the list: it is opened last and closed first.
        marks += [(start, 1, -end, -number, first), (end, 0, -start, number, last)]
    pieces: list[str] = []
    done = 0
    for place, *_, mark in [*sorted(marks), (len(data) // 2, 2, 0, 0, "")]:
        pieces += [escape(data[2 * done : 2 * place].decode("utf-16-le", "replace")), mark]
        done = place
    return "".join(pieces)


def list_mentions(text: str) -> list[str]:
    """List the ids of the people who are named."""
    return [found[2] for found in ENTITY.finditer(text) if found[1] == "@"]


def read_mrkdwn(text: str, names: Mapping[str, str]) -> str:
    """Return words as people see them; whoever has an empty name is left out."""

    def show(found: re.Match[str]) -> str:
        sign, target, label = found.groups()
        match sign:
            case "@":
                name = names.get(target, label or target)
                return f"@{name}" if name else ""
            case "#":
                return f"#{label or target}"
            case "!":
                return label or f"@{target}"
            case _:
                return target if not label or target.endswith(label) else f"{label} ({target})"

    shown = ENTITY.sub(show, text).strip()
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
