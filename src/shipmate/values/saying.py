"""Read words for people and models from Markdown files: a heading names a saying, `{place}` is filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Self

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


class Saying(str):
    """Words for people that can be told in each language; as text they are English."""

    __slots__ = ("_folder", "_values", "key")
    _folder: Path
    key: str
    _values: Mapping[str, str]

    def __new__(cls, folder: Path, key: str, values: Mapping[str, str]) -> Self:
        """Make a saying of a room's folder; its values may be sayings themselves."""
        saying = super().__new__(cls, fill(load_sayings(folder, "en")[key], values))
        saying._folder, saying.key, saying._values = folder, key, values
        return saying

    def tell(self, language: str) -> str:
        """Return the words in a language."""
        values = {name: tell(value, language) for name, value in self._values.items()}
        return fill(load_sayings(self._folder, language)[self.key], values)

    def rename(self, key: str) -> Saying:
        """Return another saying of the same room with the same values."""
        return Saying(self._folder, key, self._values)

    def change(self, change: Callable[[str], str]) -> Saying:
        """Return the saying with each of its values changed."""
        values = {
            name: value.change(change) if isinstance(value, Saying) else change(value)
            for name, value in self._values.items()
        }
        return Saying(self._folder, self.key, values)

    def __reduce__(self) -> tuple[type[Saying], tuple[Path, str, Mapping[str, str]]]:
        return Saying, (self._folder, self.key, self._values)


def tell(text: str, language: str) -> str:
    """Return words in a language; what is no saying stays as it is."""
    return text.tell(language) if isinstance(text, Saying) else text


def tell_error(error: Exception, language: str) -> str:
    """Return what an error says in a language, if it was told so that it can be said in one."""
    said = error.args[0] if error.args else ""
    return said.tell(language) if isinstance(said, Saying) else str(error)
