"""Find the wording around a section: Markdown files with `{fields}`, by style."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from shipmate.values.saying import fill

FOLDER = Path(__file__).parent / "wording"
DEFAULT = "shipmate"
# Sections without a wording of their own are files under a heading.
FILE = "file"


@cache
def find_wording(style: str, name: str) -> str:
    """Return a section's wording in a style, else in the default one, else the style's wording for files."""
    places = (FOLDER / style / name, FOLDER / DEFAULT / name, FOLDER / style / FILE, FOLDER / DEFAULT / FILE)
    for place in places:
        path = place.with_suffix(".md")
        if path.is_file():
            return path.read_text(encoding="utf-8").removesuffix("\n")
    raise AssertionError("the package is incomplete: its default wording for files is missing")


def word(style: str, wording: str, /, **fields: str) -> str:
    """Fill in a wording."""
    return fill(find_wording(style, wording), fields)
