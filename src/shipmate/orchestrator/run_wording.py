"""The words for people about runs."""

from __future__ import annotations

from pathlib import Path

from shipmate.values.saying import Saying

FOLDER = Path(__file__).with_name("words")
# The endings that are none: what was said is not the whole answer.
CUT_ENDINGS = ("length", "content-filter")


def say(key: str, **values: str) -> Saying:
    """Return words for people, in English as they stand; `tell` gives them in a language."""
    return Saying(FOLDER, key, values)
