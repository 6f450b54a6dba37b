"""Tell what families of OpenAI's models take: how hard they may reason, and what goes with that."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

import msgspec

LEVELS = ("none", "minimal", "low", "medium", "high")


class OpenAIFamily(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What models whose names begin alike take; the one without a name stands for those of other makers."""

    names: tuple[str, ...]
    # Whether it can reason, and does unless told otherwise.
    reasons: bool = True
    is_on: bool = False
    efforts: tuple[str, ...] = ()
    # Whether it tells words before its calls from its answer, and wants to be told so again.
    phase: bool = False

    def effort_for(self, reasoning: str | None) -> str | None:
        """Return the effort nearest to the one wanted: the same, else the next harder, else the hardest."""
        if not self.reasons or reasoning is None:
            return None
        if reasoning not in LEVELS:
            return reasoning
        harder = LEVELS[LEVELS.index(reasoning) :]
        return next((effort for effort in harder if effort in self.efforts), self.efforts[-1])

    def takes_sampling(self, effort: str | None) -> bool:
        """Return whether temperature and the like are taken; a model that reasons refuses them."""
        if self.names == ("",):
            return True
        return effort == "none" or not (self.is_on if effort is None else True)


@lru_cache(256)
def family_of(model: str) -> OpenAIFamily:
    """Return the family of a model."""
    return next(family for family in _families() if model.startswith(family.names))


@cache
def _families() -> tuple[OpenAIFamily, ...]:
    data = Path(__file__).with_name("openai.json").read_bytes()
    return msgspec.json.decode(data, type=tuple[OpenAIFamily, ...])
