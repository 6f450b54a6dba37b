"""Read words for people and models from Markdown files: a heading names a saying, `{place}` is filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

HEADING = re.compile(r"^# ([a-z0-9_-]+)\n", re.MULTILINE)
PLACE = re.compile(r"\{([a-z_]+)\}")


@cache
def load_sayings(folder: Path, language: str) -> dict[str, str]:
    """Return the sayings of one language; English stands in for a language that has none."""
    path = folder / f"{language}.md"
    return read_sayings(path if path.is_file() else folder / "en.md")


def read_sayings(path: Path) -> dict[str, str]:
    """Return the sayings of a file under their headings."""
    pieces = HEADING.split(path.read_text(encoding="utf-8"))
    return {key: body.strip() for key, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def fill(saying: str, values: Mapping[str, object]) -> str:
    """Return a saying with its places filled."""
    return PLACE.sub(lambda place: str(values[place[1]]), saying)
