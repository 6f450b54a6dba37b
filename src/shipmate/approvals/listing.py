"""Read the word lists in `data/`: sections in brackets, comments after `#`, words parted by a mark."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "data"


@cache
def load_lists(name: str, separator: str | None = None) -> dict[str, tuple[str, ...]]:
    """Return the words of each section of a file."""
    lists: dict[str, list[str]] = {}
    words: list[str] = []
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            words = lists.setdefault(line[1:-1], [])
        elif not line.startswith("#"):
            words.extend(word.strip() for word in line.split(separator) if word.strip())
    return {section: tuple(found) for section, found in lists.items()}
