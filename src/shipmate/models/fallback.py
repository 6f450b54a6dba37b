"""Turn to the next model when one stays unavailable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from shipmate.errors import ModelError
from shipmate.models.failure import in_short
from shipmate.models.port import Model, ModelEvent, ModelNotice, ModelRequest
from shipmate.models.relay import close_model, relay


class FallbackModel:
    """Several models as one: the first that answers.

    Only trouble that passes (busy, down, broken off before its first word) moves on to the next one. A
    refused key or request is a person's to mend: it is shown, not hidden behind a model they did not ask for.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models

    @property
    def name(self) -> str:
        """Return the first model's name; `Finish.model` says which one answered."""
        return self._models[0].name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request through the first model that can."""
        for place, model in enumerate(self._models, 1):
            begun = False
            try:
                async with aclosing(relay(model, request)) as events:
                    async for event in events:
                        begun = begun or not isinstance(event, ModelNotice)
                        yield event
            except ModelError as error:
                if begun or not error.retryable or place == len(self._models):
                    raise
                notice = ModelNotice(kind="fallback", model=self._models[place].name, reason=in_short(error))
            else:
                return
            yield notice

    async def close(self) -> None:
        """Close every model."""
        for model in self._models:
            await close_model(model)
