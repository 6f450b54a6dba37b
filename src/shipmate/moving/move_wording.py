"""The words for people about moving in, archives and backups."""

from __future__ import annotations

from pathlib import Path

from shipmate.errors import UserError
from shipmate.values.saying import Saying

FOLDER = Path(__file__).with_name("words")


class MoveError(UserError):
    """This cannot be moved. Nothing was changed."""


def say(key: str, /, **values: object) -> Saying:
    """Return words for people, in English as they stand; `tell` gives them in a language."""
    told = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
    return Saying(FOLDER, key, told)


def refuse(key: str, /, **values: object) -> MoveError:
    """Return the error that says why something cannot be moved, and what to do."""
    return MoveError(say(key, **values))
