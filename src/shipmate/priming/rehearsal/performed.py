"""Describe what a stage heard when a script's user turns were said again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shipmate.values.message import UIMessage


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What answered one user turn, in the order of the thread."""

    messages: Sequence[UIMessage] = ()
    # Why no more can be said; empty when the turn ended as it should.
    stopped: str = ""
    ms: int = 0
    # None when nobody knows what the turn cost.
    cost_usd: float | None = None
    # Calls that no recorded result answers, one sentence each.
    missed: list[str] = []


class Performed(msgspec.Struct, frozen=True, kw_only=True):
    """The whole performance: one `Heard` for each user turn that was said."""

    turns: list[Heard] = []
    # What it cost to have it judged by a model; None when nobody knows.
    judged_usd: float | None = 0.0
    # Why no model could be asked at all; empty when one could.
    unusable: str = ""
