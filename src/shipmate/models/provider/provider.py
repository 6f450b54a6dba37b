"""Answer through pydantic-ai, for providers that no wire speaks to; it is loaded on the first request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from shipmate.errors import ModelAuthError, ModelRequestError
from shipmate.models.port import ModelEvent, ModelRequest
from shipmate.models.provider.recipe import Recipe
from shipmate.models.wording import say

if TYPE_CHECKING:
    from shipmate.models.provider.engine import Engine


class ProviderModel:
    """One model of one provider."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._engine: Engine | None = None
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        """Return the provider's and the model's name."""
        return f"{self._recipe.provider}:{self._recipe.model}"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request; trouble is raised as a `ModelError`."""
        engine = await self._load()
        async with aclosing(engine.stream(request)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Close the connections to the provider."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    async def _load(self) -> Engine:
        if self._recipe.lacks:
            raise ModelAuthError(self._recipe.lacks)
        async with self._lock:
            if self._engine is None:
                # Loading takes a second or two of CPU; other threads' streams go on meanwhile.
                self._engine = await asyncio.to_thread(_make_engine, self._recipe)
            return self._engine


def _make_engine(recipe: Recipe) -> Engine:
    try:
        from shipmate.models.provider.engine import Engine
    except ModuleNotFoundError as error:
        raise ModelRequestError(say("no-module", provider=recipe.provider, module=error.name)) from None
    return Engine(recipe)
