"""Put what goes wrong with speech into a person's language, from the files in `words/`."""

from __future__ import annotations

from pathlib import Path

from shipmate.values.saying import fill, load_sayings

FOLDER = Path(__file__).parent / "words"


def say(language: str, key: str, **values: object) -> str:
    """Return a saying of this room with its places filled."""
    return fill(load_sayings(FOLDER, language)[key], values)
