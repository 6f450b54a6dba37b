"""Speak to a provider through pydantic-ai. Import this module only when a provider is used."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import pydantic_ai
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import CachePoint, InstructionPart, ModelMessage, UserPromptPart
from pydantic_ai.messages import ModelRequest as Sent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from shipmate.models.failure import broke_off, explain
from shipmate.models.port import Finish, FinishReason, ModelEvent, ModelRequest, ToolSpec
from shipmate.models.price import count_usage
from shipmate.models.provider.ambient import is_settled
from shipmate.models.provider.assemble import assemble
from shipmate.models.provider.history import EPOCH, add_parts
from shipmate.models.provider.recipe import Recipe
from shipmate.models.provider.to_model import to_model_messages
from shipmate.models.provider.translate import Translator
from shipmate.models.wording import WORDING
from shipmate.workspace.secret.setting import address_secrets


# A clock in the system prompt stands before the whole conversation: every new minute would make a provider
# read all of it anew. The stable part stays the system prompt; the rest travels with the last words.
def split_system(request: ModelRequest) -> tuple[str, str]:
    """Cut the system prompt where it stops being the same from turn to turn."""
    raw = request.system.encode()
    stable = raw[: request.stable_bytes].decode(errors="ignore")
    # A boundary inside a character is no boundary.
    if not stable or len(stable.encode()) < min(request.stable_bytes, len(raw)):
        return request.system, ""
    return stable, request.system[len(stable) :]


def add_volatile(messages: list[ModelMessage], volatile: str, *, marks: bool) -> list[ModelMessage]:
    """Add a text to the person's last words. All steps of a run find it in the same place."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, Sent) and any(isinstance(part, UserPromptPart) for part in message.parts):
            # The mark stands before the text: what is cached up to there is found again in the next turn.
            note = f"{WORDING['volatile']}\n{volatile.strip()}"
            content = [CachePoint(), note] if marks else note
            parts = list(message.parts)
            add_parts(parts, [UserPromptPart(content, timestamp=EPOCH)])
            return [*messages[:place], replace(message, parts=parts), *messages[place + 1 :]]
    return messages


class ToolShelf:
    """The definitions of the tools last offered, as the provider wants them.

    pydantic-ai walks every schema anew for each request, a tenth of its cost. While the same specs
    are offered, what it made of them the first time is used again.
    """

    def __init__(self, model: Model) -> None:
        self._specs: tuple[ToolSpec, ...] = ()
        self._plain: list[ToolDefinition] = []
        self._fitted: list[ToolDefinition] | None = None
        self._fit = model.customize_request_parameters
        model.customize_request_parameters = self._customize

    def definitions(self, specs: Sequence[ToolSpec]) -> list[ToolDefinition]:
        """Return the definitions of tools; the same list while the same specs are offered."""
        if len(specs) != len(self._specs) or any(
            one is not other for one, other in zip(specs, self._specs, strict=True)
        ):
            self._specs = tuple(specs)
            self._fitted = None
            self._plain = [
                ToolDefinition(
                    name=spec.name, description=spec.description, parameters_json_schema=spec.schema
                )
                for spec in specs
            ]
        return self._plain

    def _customize(self, model_request_parameters: ModelRequestParameters) -> ModelRequestParameters:
        parameters = model_request_parameters
        if parameters.function_tools is not self._plain:
            return self._fit(parameters)
        if self._fitted is None:
            self._fitted = self._fit(parameters).function_tools
        return replace(parameters, function_tools=self._fitted)


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
