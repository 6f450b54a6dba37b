"""Put what leaves beside a member's own words into a person's language, from the files in `words/`."""

from __future__ import annotations

from pathlib import Path

from shipmate.values.saying import fill, load_sayings
from shipmate.values.translation import translate

FOLDER = Path(__file__).parent / "words"


def say(language: str, key: str, **values: object) -> str:
    """Return a saying of this room with its places filled."""
    return fill(load_sayings(FOLDER, language)[key], values)


def tell(language: str, words: str) -> str:
    """Return words of Shipmate's own, which it says in English, in a person's language."""
    return translate(words) if language == "zh" else words
