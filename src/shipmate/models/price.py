"""Find what a request cost, by a table of published prices."""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from shipmate.models.port import Usage

# US dollars for a million tokens. Where more input costs more, the first price is followed by pairs: how many
# tokens have to be exceeded, and what all of them cost then.
Price: TypeAlias = float | list[float] | None

TABLE = Path(__file__).with_name("prices.json")
MILLION = 1_000_000
# Providers that sell the same under another name.
SAME = {"openai-responses": "openai"}
# How the names begin that an expression fits; its last letter may be one that may be missing.
LITERAL = re.compile(r"\^([a-z0-9-]+)[a-z0-9-]")
COMPACT_DATE = re.compile(r"-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


class PriceTable(msgspec.Struct, frozen=True, kw_only=True):
    """The prices of all providers; those of one are read when they are first asked for."""

    # The day on which these were the prices.
    day: str
    providers: dict[str, msgspec.Raw]


class ModelPrice(NamedTuple):
    """What a model costs."""

    input: Price = None
    output: Price = None
    # Input that the provider had kept, and input that it was to keep.
    cache_read: Price = None
    cache_write: Price = None


def find_cost(provider: str, model: str, usage: Usage) -> float | None:
    """Return the price of a request in US dollars; None where none is known, as for local models."""
    if not (usage.input_tokens or usage.output_tokens):
        return None
    price = _find(SAME.get(provider, provider), model)
    if price is None or price.input is None or price.output is None:
        return None
    read = min(usage.cache_read_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - read)
    parts = (
        (usage.input_tokens - read - written, price.input),
        (read, price.input if price.cache_read is None else price.cache_read),
        (written, price.input if price.cache_write is None else price.cache_write),
        (usage.output_tokens, price.output),
    )
    return sum(count * _at(each, usage.input_tokens) for count, each in parts) / MILLION


def price_day() -> date:
    """Return the day on which the prices of the table held."""
    return date.fromisoformat(_read_table().day)


def _at(price: float | list[float], size: int) -> float:
    """Return the price for a request with this much input."""
    if not isinstance(price, list):
        return price
    found, *steps = price
    for start, higher in zip(steps[::2], steps[1::2], strict=True):
        if size > start:
            found = higher
    return found


@cache
def _read_table() -> PriceTable:
    return msgspec.json.decode(TABLE.read_bytes(), type=PriceTable)


@cache
def _read_prices(provider: str) -> list[list[Any]]:
    """Return a provider's models, each the names that fit it and then its prices."""
    raw = _read_table().providers.get(provider)
    return [] if raw is None else msgspec.json.decode(raw)


_known: dict[tuple[str, str], ModelPrice | None] = {}


def _find(provider: str, model: str) -> ModelPrice | None:
    key = provider, model
    if key not in _known:
        if len(_known) >= 1000:
            _known.clear()
        name = model.lower().removeprefix("models/")
        # Some write the day of a model without dashes.
        dashed = COMPACT_DATE.sub(r"-\1-\2-\3", name)
        _known[key] = _search(provider, name) or (_search(provider, dashed) if dashed != name else None)
    return _known[key]


def _search(provider: str, name: str) -> ModelPrice | None:
    for patterns, *prices in _read_prices(provider):
        if any(_fits(pattern, name) for pattern in patterns):
            return ModelPrice(*prices)
    return None


def _fits(pattern: str, name: str) -> bool:
    """Return whether a name fits: the whole of it, its beginning, its end, any place, or an expression."""
    kind, text = pattern[0], pattern[1:]
    match kind:
        case "=":
            return name == text
        case "^":
            return name.startswith(text)
        case "$":
            return name.endswith(text)
        case "*":
            return text in name
        case _:
            begin = LITERAL.match(text)
            # Most names are ruled out by how they begin; to make an expression takes a tenth of a millisecond
            may_fit = begin is None or "|" in text or name.startswith(begin[1])
            return may_fit and re.search(text, name) is not None
