"""The words of this room for people, in each language."""

from __future__ import annotations

from pathlib import Path

from shipmate.values.saying import Saying

FOLDER = Path(__file__).with_name("words")


def say(key: str, /, **values: object) -> Saying:
    """Return words for people."""
    texts = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
    return Saying(FOLDER, key, texts)
