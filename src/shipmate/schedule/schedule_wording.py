"""The words for people and members about tasks."""

from __future__ import annotations

from pathlib import Path

from shipmate.errors import UserError
from shipmate.values.saying import Saying

FOLDER = Path(__file__).with_name("words")


class TaskError(UserError):
    """This task cannot be used. Run `shipmate tasks list` to see what to mend."""


def say(key: str, /, **values: str) -> Saying:
    """Return words for people, in English as they stand; `tell` gives them in a language."""
    return Saying(FOLDER, key, values)


def refuse(key: str, /, **values: str) -> TaskError:
    """Return the error that says why a task cannot be used, and what to write instead."""
    return TaskError(say(key, **values))
