"""The words of this room by name: those models read, and those people read in each language."""

from __future__ import annotations

from pathlib import Path

from shipmate.values.saying import Saying, read_sayings

WORDING = read_sayings(Path(__file__).with_name("wording.md"))
FOLDER = Path(__file__).with_name("words")


def say(key: str, **values: object) -> Saying:
    """Return words for people."""
    return Saying(FOLDER, key, {name: _text(value) for name, value in values.items()})


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value)
