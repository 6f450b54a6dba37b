"""Read what a built-in model says: Markdown files with one level-one heading for each saying."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "words"
HAN = r"[\u3400-\u9fff]"
HEADING = re.compile(r"^# ([a-z_-]+)\n", re.MULTILINE)
PLACE = re.compile(r"\{([a-z]+)\}")


def language_of(text: str) -> str:
    """Return "zh" for Chinese words, else "en"."""
    return "zh" if not text.isascii() and re.search(HAN, text) else "en"


@cache
def load_words(name: str, language: str) -> dict[str, str]:
    """Read a file of sayings."""
    text = (FOLDER / f"{name}.{language}.md").read_text(encoding="utf-8")
    pieces = HEADING.split(text)
    return {key: body.strip() for key, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def fill(saying: str, **values: object) -> str:
    """Put values into a saying; braces that name no value stay as they are."""
    return PLACE.sub(lambda place: str(values.get(place[1], place[0])), saying)
