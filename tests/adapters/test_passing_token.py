"""A token is asked for once, anew before it ends, and anew when the platform no longer takes it."""

from __future__ import annotations

import asyncio

import pytest

from shipmate.adapters.passing_token import PassingToken
from shipmate.errors import SendError, SendLaterError


async def test_a_token_is_kept_while_it_is_good() -> None:
    now, given = 0.0, 0

    async def ask() -> tuple[str, float]:
        nonlocal given
        given += 1
        await asyncio.sleep(0)
        return f"t{given}", 7200.0

    token = PassingToken(ask, lambda: now)
    assert await asyncio.gather(*[token.get() for _ in range(5)]) == ["t1"] * 5
    now = 6899.0
    assert await token.get() == "t1"
    now = 6900.0
    assert await token.get() == "t2"
    # One that is dropped late was replaced already.
    token.drop("t1")
    assert await token.get() == "t2"
    token.drop("t2")
    assert await token.get() == "t3"


async def test_without_a_token_nothing_was_sent() -> None:
    async def ask() -> tuple[str, float]:
        raise SendError("no answer")

    with pytest.raises(SendLaterError, match="no answer"):
        await PassingToken(ask).get()
