"""Estimate tokens without a network: one for each CJK character, one for every 3.6 others."""

from __future__ import annotations

import re

CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
CHARACTERS_PER_TOKEN = 3.6


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text takes; a text of any length takes at least one."""
    if not text:
        return 0
    wide = 0 if text.isascii() else len(CJK.findall(text))
    return max(1, round(wide + (len(text) - wide) / CHARACTERS_PER_TOKEN))
