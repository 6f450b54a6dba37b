"""Estimate tokens without a network: one for each CJK character, one for every 3.6 others."""

from __future__ import annotations

import re

import msgspec

from shipmate.values.message import JsonObject, UIMessage

# Compiled when first needed: a class of so many characters takes milliseconds.
CJK = r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
FIRST_CJK = "\u2e80"
CHARACTERS_PER_TOKEN = 3.6


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text takes; a text of any length takes at least one."""
    if not text:
        return 0
    is_narrow = text.isascii() or max(text) < FIRST_CJK
    wide = 0 if is_narrow else len(re.findall(CJK, text))
    return max(1, round(wide + (len(text) - wide) / CHARACTERS_PER_TOKEN))


def message_tokens(message: UIMessage) -> int:
    """Estimate the tokens of one message: its words, and what its calls took and gave."""
    return sum(estimate_tokens(_part_text(part)) for part in message["parts"])


def _part_text(part: JsonObject) -> str:
    text = part.get("text")
    if isinstance(text, str):
        return text
    if "toolCallId" in part:
        return msgspec.json.encode([part.get("input"), part.get("output"), part.get("errorText")]).decode()
    return ""
