"""Find what an agent is called in the files of other programs."""

from __future__ import annotations

import re

# `- **Name:** Ada`, `Name: Ada`, `- 名称：小流`
NAMED = re.compile(
    r"^[-*\s]*\**(?:name|名称|名字|姓名)\**\s*[:：]\**[ \t]*(\S.*?)\s*$", re.IGNORECASE | re.MULTILINE
)
# `I am nanobot 🐈, a personal assistant`, `You are Ada.`, `我是小流，…`
PRESENTED = re.compile(
    r"^(?:I am|I'm|You are|我是|我叫|你是)[ \t]*\**([^\s*,.，。、:：][^*,.，。、:：\n]{0,39})", re.MULTILINE
)
HEADING = re.compile(r"^#[ \t]+(\S.{0,59}?)[ \t]*#*$", re.MULTILINE)
# Headings over words for whoever works there; no project is called so.
GUIDANCE = re.compile(
    r"\.mdc?$|\b(?:guidelines?|instructions?|guidance|guide|rules|conventions?|overview|context|agents?|readme"
    r"|claude(?: code)?|gemini|cursor|codex|repository|project)$",
    re.IGNORECASE,
)
NAME_LIMIT = 60


def name_in_identity(text: str) -> str:
    """Return the name an IDENTITY.md states; empty while it is a form nobody filled in."""
    match = NAMED.search(text)
    return _clean(match[1]) if match and not match[1].startswith(("_", "(", "[", "<", "（")) else ""


def name_in_soul(text: str) -> str:
    """Return the name by which a text presents its member."""
    match = PRESENTED.search(text)
    if match is None:
        return ""
    words = match[1].split()
    # `You are a helpful assistant` presents nobody.
    return (
        ""
        if words[0].lower() in ("a", "an", "the", "not", "my", "your", "一个", "一名")
        else _clean(match[1])
    )


def name_in_heading(text: str) -> str:
    """Return what the first heading calls a project; empty where it only says what the file is."""
    match = HEADING.search(text)
    return "" if match is None or GUIDANCE.search(match[1].strip()) else _clean(match[1])


def _clean(name: str) -> str:
    """Return a name on one line, without marks and pictures at its ends."""
    shown = "".join(character for character in " ".join(name.split()) if character.isprintable())
    return re.sub(r"^[\W_]+|[^\w)\]）]+$", "", shown)[:NAME_LIMIT]
