"""Keep keys out of what people read."""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"
# Keys of the large providers, bearer tokens, and keys in an address.
LOOKS_SECRET = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|AIza|hf|ghp|key)[-_]?[A-Za-z0-9*][A-Za-z0-9_*-]{10,}"
    r"|(?i:(?<=bearer )\S+)"
    r"|(?i:(?<=key=)[^\s&'\"]+)"
)
SHORTEST = 4


def mask_secrets(text: str, secrets: Iterable[str | None]) -> str:
    """Replace known secrets, and whatever looks like one, by stars."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, MASK)
    return LOOKS_SECRET.sub(MASK, text)
