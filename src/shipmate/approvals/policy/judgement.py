"""Hold what policy says of a call."""

from __future__ import annotations

import msgspec

from shipmate.approvals.value import Action
from shipmate.values.reason import Why


class Judgement(msgspec.Struct, frozen=True):
    """A verdict before it is put into words."""

    action: Action
    why: Why
    grant_id: str | None = None
    # The text of the rule of ship.json that decided.
    rule: str | None = None
    # A rule may speak of what the command reads: a person is asked before it is even tried.
    by_words: bool = False
