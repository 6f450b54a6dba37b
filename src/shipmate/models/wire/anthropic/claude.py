"""Tell what families of models take over the Messages protocol: thinking, effort, sampling, length."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from shipmate.values.message import JsonObject

THINKING_TYPES = ("thinking", "redacted_thinking")
# How many tokens a family that wants a budget may think, by how hard it is asked to.
BUDGETS = {"minimal": 1024, "low": 2048, "medium": 10_000, "high": 16_384}
EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
SMALLEST_BUDGET = 1024
# Newer models send the words of their thinking only when asked.
ADAPTIVE: JsonObject = {"type": "adaptive", "display": "summarized"}
# A changed file gives a thread another beginning; thinking signed over the old one is dropped, not refused.
UNBOUND: JsonObject = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}


class ClaudeFamily(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What models whose names begin alike take."""

    names: tuple[str, ...]
    # How thinking is asked for.
    thinking: Literal["adaptive", "budget", "none"]
    # Whether it thinks unless told otherwise, and how it is told; None where it cannot be.
    is_on: bool = False
    off: Literal["disabled", "between_tools"] | None = None
    effort: bool = False
    sampling: bool = True
    # Whether what it thought is refused after another beginning than it was thought over.
    binds: bool = False
    # The length of an answer when nobody says one.
    max_tokens: int

    @property
    def is_claude(self) -> bool:
        """Return whether Anthropic made it."""
        return self.names != ("",)

    def thinking_for(self, reasoning: str | None, max_tokens: int) -> JsonObject | None:
        """Return how a request asks for thinking, None where it says nothing about it."""
        if reasoning == "none" and self.off:
            return {"type": self.off}
        if self.thinking == "adaptive" and (self.is_on or reasoning not in (None, "none")):
            return ADAPTIVE | UNBOUND if self.binds else ADAPTIVE
        if self.thinking != "budget" or reasoning in (None, "none") or max_tokens < 2 * SMALLEST_BUDGET:
            return None
        budget = BUDGETS.get(reasoning, BUDGETS["medium"])
        return {"type": "enabled", "budget_tokens": min(budget, max_tokens // 2)}

    def effort_for(self, reasoning: str | None) -> str | None:
        """Return how hard a request asks the model to try, None where it does not say."""
        if not self.effort or reasoning is None:
            return None
        if reasoning == "none":
            return "low" if self.is_on and self.off is None else None
        return EFFORTS.get(reasoning)

    def returns_thinking(self, reasoning: str | None) -> bool:
        """Return whether what it thought goes back to it; with thinking off that would be refused."""
        if reasoning == "none":
            return self.is_on and self.off != "disabled"
        return self.thinking != "none" and (reasoning is not None or self.is_on)


@lru_cache(256)
def family_of(model: str) -> ClaudeFamily:
    """Return the family of a model, whatever a gateway puts before its name."""
    at = model.find("claude-")
    name = model[at:].replace(".", "-") if at >= 0 else ""
    return next(family for family in _families() if name.startswith(family.names))


@cache
def _families() -> tuple[ClaudeFamily, ...]:
    data = Path(__file__).with_name("claude.json").read_bytes()
    return msgspec.json.decode(data, type=tuple[ClaudeFamily, ...])
