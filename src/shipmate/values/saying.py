"""Read words for people from Markdown files: a heading names a saying, `{place}` is filled in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

HEADING = re.compile(r"^# ([a-z0-9-]+)\n", re.MULTILINE)
PLACE = re.compile(r"\{([a-z]+)\}")


@cache
def load_sayings(folder: Path, language: str) -> dict[str, str]:
    """Return the sayings of one language; English stands in for a language that has none."""
    path = folder / f"{language}.md"
    text = (path if path.is_file() else folder / "en.md").read_text(encoding="utf-8")
    pieces = HEADING.split(text)
    return {key: body.strip() for key, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def fill(saying: str, values: dict[str, object]) -> str:
    """Return a saying with its places filled."""
    return PLACE.sub(lambda place: str(values[place[1]]), saying)
