"""Say things in the language a built-in model is spoken to."""

from __future__ import annotations

import re
from pathlib import Path

from shipmate.values.saying import fill, load_sayings

FOLDER = Path(__file__).parent / "words"
HAN = r"[\u3400-\u9fff]"


def language_of(text: str) -> str:
    """Return "zh" for Chinese words, else "en"."""
    return "zh" if not text.isascii() and re.search(HAN, text) else "en"


def load_words(language: str) -> dict[str, str]:
    """Return what a built-in model says in a language."""
    return load_sayings(FOLDER, language)


def say(saying: str, **values: object) -> str:
    """Return a saying with its places filled."""
    return fill(saying, values)
