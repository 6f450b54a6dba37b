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
from pydantic_ai.tools import ToolDefinition

from shipmate.models.port import Finish, FinishReason, ModelEvent, ModelRequest
from shipmate.models.provider.ambient import is_settled
from shipmate.models.provider.assemble import assemble
from shipmate.models.provider.conversion import convert_messages
from shipmate.models.provider.exception import broke_off, explain
from shipmate.models.provider.recipe import Recipe
from shipmate.models.provider.translate import Translator, count_usage
from shipmate.models.to_model import to_model_messages
from shipmate.values.message import JsonObject
from shipmate.workspace.secret.setting import address_secrets

pydantic_ai.BANNER_ENABLED = False

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
        retries = {} if is_settled(self._model) else {"max_retries": 0}
        self._settings: JsonObject = {"cache": True, **recipe.settings, **retries}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Answer one request."""
        neutral = to_model_messages(
            request.messages, sidecars=request.sidecars, model=self._name, zone=request.zone
        )
        translator = Translator(self._name)
        opened: list[StreamedResponse] = []
        async with aclosing(
            self._receive(request, convert_messages(neutral, self._recipe.provider), opened)
        ) as events:
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
        self, request: ModelRequest, messages: list[ModelMessage], opened: list[StreamedResponse]
    ) -> AsyncGenerator[Any]:
        begun = False
        try:
            async with model_request_stream(
                self._model,
                messages,
                model_settings=cast(ModelSettings, {**self._settings, **read_sampling(request)}),
                model_request_parameters=make_parameters(request),
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

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._model.__aenter__()
        await self._model.__aexit__(None, None, None)


def make_parameters(request: ModelRequest) -> ModelRequestParameters:
    """Return the tools and the system prompt of a request."""
    tools = [
        ToolDefinition(name=spec.name, description=spec.description, parameters_json_schema=spec.schema)
        for spec in request.tools
    ]
    instructions = [InstructionPart(request.system)] if request.system.strip() else []
    return ModelRequestParameters(function_tools=tools, instruction_parts=instructions)


def read_sampling(request: ModelRequest) -> JsonObject:
    """Return what a request wants otherwise than the settings, by pydantic-ai's names."""
    return {"stop_sequences" if key == "stop" else key: value for key, value in request.sampling.items()}
