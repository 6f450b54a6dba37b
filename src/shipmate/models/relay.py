"""Pass a model's stream on, closing it when the reader leaves and noticing when it ends too early."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from shipmate.errors import ModelStreamError
from shipmate.models.port import Finish, Model, ModelEvent, ModelRequest
from shipmate.models.wording import say


async def relay(model: Model, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
    """Stream one answer to its `Finish`; an answer without one broke off."""
    stream = model.stream(request)
    try:
        async for event in stream:
            yield event
            if isinstance(event, Finish):
                return
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
    raise ModelStreamError(say("stream-broke"))


async def close_model(model: Model) -> None:
    """Close a model that holds connections; the others need no closing."""
    close = getattr(model, "close", None)
    if close is not None:
        await close()
