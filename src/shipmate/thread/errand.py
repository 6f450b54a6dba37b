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
    """Return the errand that a thread works on, whoever has the word by now; None for a person's."""
    return read_errand(next(filter(begins, reversed(thread.messages)), None))


def count_rounds(thread: Thread) -> int:
    """Count the answers of colleagues that came as messages since a person, or who wants something, spoke."""
    said = takewhile(lambda each: not begins(each), reversed(thread.messages))
    return sum(read_errand(each) is not None for each in said)


def begins(message: UIMessage) -> bool:
    """Return whether a person said this, or a member that wants something of another."""
    errand = read_errand(message)
    return is_persons(message) if errand is None else not errand.is_answer


def is_persons(message: UIMessage) -> bool:
    """Return whether a person said this: it is no errand, and passes the word to nobody."""
    is_handoff = any(part.get("type") == "data-handoff" for part in message["parts"])
    return message["role"] == "user" and not is_handoff and read_errand(message) is None
