"""Refuse what must not be remembered, whoever wrote it: secrets, paths of a machine, private data."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from shipmate.memory.memory_entry import MemoryEntry
from shipmate.values.saying import Saying
from shipmate.workspace.secret.secret import Mask

WORDS = Path(__file__).with_name("words")
# Absolute paths as systems have them; an address, or a route such as /api/users, is none.
MACHINE_PATH = re.compile(
    r"(?<![\w:/.])/(?:home|Users|root|tmp|var|etc|opt|mnt|media|usr|srv|private|Volumes)/[^\s/]"
    r"|(?<!\w)~/[^\s]|file://|(?<!\w)[A-Za-z]:\\[^\s]|\\\\[\w.-]+\\"
)
MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# Telephone numbers, those of cards and identity papers: nine digits and more, however they are grouped.
NUMBER = re.compile(r"(?<![\w.#/-])\+?\d(?:[ ().-]?\d){8,}[Xx]?(?!\w)")
# Days and moments have as many digits.
MOMENT = re.compile(r"\d{4}[-./ ]\d{1,2}[-./ ]\d{1,2}(?:[ T]\d{1,2}(?::?\d{2})*)?")


def say(key: str, **values: str) -> Saying:
    """Return words about memory for people."""
    return Saying(WORDS, key, values)


def refuse_entry(
    entry: MemoryEntry,
    *,
    mask: Callable[[str], str] | None = None,
    is_own: bool = False,
    avoid: Sequence[str] = (),
) -> Saying | None:
    """Return why something must not be remembered, or None.

    `is_own`: it is about the person who agrees to it, whose own address and number they may let be kept.
    """
    text = f"{entry.heading}\n{entry.text}"
    if (mask or Mask(()))(text) != text:
        return say("refused-secret")
    if MACHINE_PATH.search(text):
        return say("refused-path")
    if not is_own and (MAIL.search(text) or NUMBER.search(MOMENT.sub("", text))):
        return say("refused-private")
    folded = text.casefold()
    if topic := next((each for each in avoid if each and each.casefold() in folded), None):
        return say("refused-topic", topic=topic)
    return None
