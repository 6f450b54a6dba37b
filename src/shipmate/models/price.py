"""Count what a request used and what it cost."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse

from shipmate.models.port import Usage


def count_usage(response: ModelResponse) -> Usage:
    """Read the tokens of an answer, with its price where one is known."""
    used = response.usage
    return Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        cost=find_cost(response),
    )


def find_cost(response: ModelResponse) -> float | None:
    """Return the price in US dollars; None for models without a published one, such as local ones."""
    name = (response.provider_name, response.model_name)
    if not response.model_name or not response.usage.has_values() or name in _unpriced:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        # Looking through every price list again for each answer would cost half a millisecond.
        _unpriced.add(name)
        return None


_unpriced: set[tuple[str | None, str | None]] = set()
