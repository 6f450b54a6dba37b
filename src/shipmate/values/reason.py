"""Name why something is allowed, asked about or refused; each room has the words for its own keys."""

from __future__ import annotations

from typing import NamedTuple


class Why(NamedTuple):
    """A reason, and what it is about."""

    key: str
    what: str = ""
