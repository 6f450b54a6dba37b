"""How a script is rehearsed, and what counts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias

import msgspec

from shipmate.workspace.layout import CAPTAIN

# What stands for a model, where the script plays the member's side.
SCRIPT = "script"
ToolMode: TypeAlias = Literal["script", "sandbox", "live"]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """How a script is rehearsed, and what counts."""

    member: str = CAPTAIN
    # None is the member's own; "script" plays the member's side.
    model: str | None = None
    tools: ToolMode = "script"
    # Each turn follows the script's own history, else what was answered before.
    forced: bool = False
    ignore: Collection[str] = ()
    # The model that judges rubrics; None is the one that answers.
    judge: str | None = None
    max_ms: float | None = None
    max_cost_usd: float | None = None

    @property
    def is_played(self) -> bool:
        """Return whether the script plays the member's side, and no model does."""
        return self.model == SCRIPT
