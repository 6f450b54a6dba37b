"""Speak to a provider through pydantic-ai. Import this module only when a provider is used."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import pydantic_ai
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import InstructionPart, ModelMessage
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from shipmate.models.failure import broke_off, explain
from shipmate.models.port import Finish, FinishReason, ModelEvent, ModelRequest
from shipmate.models.price import count_usage
from shipmate.models.provider.ambient import is_settled
from shipmate.models.provider.assemble import assemble
from shipmate.models.provider.recipe import Recipe
from shipmate.models.provider.to_model import to_model_messages
from shipmate.models.provider.tool_shelf import ToolShelf
from shipmate.models.provider.translate import Translator
from shipmate.models.provider.volatile import add_volatile, split_system
from shipmate.workspace.secret.setting import address_secrets

pydantic_ai.BANNER_ENABLED = False

# Providers that cache up to a mark.
MARKED = frozenset({"anthropic", "bedrock"})
FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "tool_call": "tool-calls",
    "error": "error",
}


class Engine:
    """One pydantic-ai model, whose answers are streamed as our events."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._name = f"{recipe.provider}:{recipe.model}"
        self._secrets = [recipe.api_key, *address_secrets(recipe.base_url or "")]
        self._model = assemble(recipe)
        self._tools = ToolShelf(self._model)
        retries = {} if is_settled(self._model) else {"max_retries": 0}
        self._settings = cast(ModelSettings, {**cache_settings(recipe), **recipe.settings, **retries})

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Answer one request."""
        messages = to_model_messages(
            request.messages, signatures=request.signatures, provider=self._model.system
        )
        stable, volatile = split_system(request)
        if volatile.strip():
            messages = add_volatile(messages, volatile, marks=self._recipe.provider in MARKED)
        translator = Translator()
        opened: list[StreamedResponse] = []
        parameters = self._parameters(request, stable)
        async with aclosing(self._receive(messages, parameters, opened)) as events:
            async for event in events:
                for ours in translator.take(event):
                    yield ours
        answer = opened[0].get()
        for ours in translator.close(answer):
            yield ours
        if answer.finish_reason is None:
            raise broke_off(self._name)
        reason = FINISH.get(answer.finish_reason, "other")
        if translator.has_calls and reason == "stop":
            reason = "tool-calls"
        yield Finish(reason, count_usage(answer), self._name)

    async def _receive(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, opened: list[StreamedResponse]
    ) -> AsyncGenerator[Any]:
        begun = False
        try:
            async with model_request_stream(
                self._model,
                messages,
                model_settings=self._settings,
                model_request_parameters=parameters,
            ) as response:
                opened.append(response)
                async for event in cast(AsyncIterator[Any], response):
                    begun = True
                    yield event
        # The edge to a stranger's server: whatever bytes it sends, the SDK that reads them raises errors of
        # its own making (assertions and key errors among them). Each is reported in the thread as a
        # ModelError, and its cause is left out because it can hold the key.
        except Exception as error:  # noqa: BLE001
            raise explain(error, self._name, self._secrets, begun=begun) from None

    def _parameters(self, request: ModelRequest, stable: str) -> ModelRequestParameters:
        tools = self._tools.definitions(request.tools)
        instructions = [InstructionPart(stable)] if stable.strip() else []
        return ModelRequestParameters(function_tools=tools, instruction_parts=instructions)

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._model.__aenter__()
        await self._model.__aexit__(None, None, None)


def cache_settings(recipe: Recipe) -> dict[str, Any]:
    """Ask for prompt caching where the provider has it."""
    if recipe.provider == "anthropic" and recipe.base_url:
        # Servers that speak Anthropic's protocol know the marks on blocks, but not always the automatic one.
        return {
            f"anthropic_cache_{place}": True for place in ("instructions", "tool_definitions", "messages")
        }
    return {"cache": True}
