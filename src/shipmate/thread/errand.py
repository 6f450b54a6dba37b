"""What a thread was asked by another member, as its rows keep it."""

from __future__ import annotations

from itertools import takewhile

import msgspec

from shipmate.thread.service import Thread
from shipmate.values.event import Errand
from shipmate.values.message import UIMessage, metadata_of


def read_errand(message: UIMessage | None) -> Errand | None:
    """Return the errand of a message, if a member said it."""
    kept = metadata_of(message).get("errand") if message is not None else None
    try:
        return None if kept is None else msgspec.convert(kept, Errand)
    except msgspec.ValidationError:
        return None


def errand_of(thread: Thread) -> Errand | None:
    """Return the errand that a thread works on, answers to its own questions aside; None for a person's."""
    for message in reversed(thread.messages):
        if message["role"] == "user":
            errand = read_errand(message)
            if errand is None or not errand.is_answer:
                return errand
    return None


def count_rounds(thread: Thread) -> int:
    """Count the answers of colleagues that came as messages since anybody else spoke."""
    said = (read_errand(each) for each in reversed(thread.messages) if each["role"] == "user")
    return sum(1 for _ in takewhile(lambda errand: errand is not None and errand.is_answer, said))
