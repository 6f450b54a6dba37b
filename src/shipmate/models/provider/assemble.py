"""Assemble a pydantic-ai model from a recipe."""

from __future__ import annotations

import inspect
import sys
from typing import Any, cast

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from shipmate.errors import ModelAuthError, ModelRequestError
from shipmate.models.catalog import NO_KEY, PROVIDERS
from shipmate.models.provider.ambient import settle_client
from shipmate.models.provider.recipe import Recipe

# Our `openai` is the Chat protocol, which is what servers called OpenAI-compatible speak.
THEIR_NAMES = {"openai": "openai-chat"}


def assemble(recipe: Recipe) -> Model:
    """Make the model; a missing key or library is said in one line."""
    keys = PROVIDERS[recipe.provider].keys
    if keys and not recipe.api_key and not recipe.base_url:
        raise ModelAuthError(
            f'{recipe.provider} has no key. Set llm.apiKey to "${{{keys[0]}}}" in ship.json, '
            f"or {keys[0]} in the environment."
        )
    try:
        model = _assemble(recipe)
    except UserError as error:
        words = error.message.partition(" To try Pydantic AI")[0]
        raise ModelAuthError(f"{recipe.provider} cannot be used: {words}") from None
    except ImportError as error:
        raise ModelRequestError(f"{recipe.provider} needs a library that is not installed: {error}") from None
    if "pydantic_ai.models.openai" in sys.modules:
        _tune_openai(model)
    return model


def _tune_openai(model: Model) -> None:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    if isinstance(model, OpenAIChatModel):
        # Without this an answer that breaks off passes for a finished one.
        strict = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
        model.profile = cast(OpenAIModelProfile, merge_profile(model.profile, strict))


def _assemble(recipe: Recipe) -> Model:
    name = THEIR_NAMES.get(recipe.provider, recipe.provider)
    return infer_model(f"{name}:{recipe.model}", provider_factory=lambda name: _provider(name, recipe))


def _provider(name: str, recipe: Recipe) -> Provider[Any]:
    made = infer_provider_class(name)
    accepted = inspect.signature(made.__init__).parameters
    address = next((key for key in ("base_url", "api_base", "azure_endpoint") if key in accepted), None)
    entry = PROVIDERS[recipe.provider]
    if recipe.base_url and address is None:
        raise ModelRequestError(
            f"{recipe.provider} takes no llm.baseUrl. Use provider openai-compatible for it."
        )
    # Whatever is left open the library takes from the environment, where another's may stand.
    key = recipe.api_key or (NO_KEY if entry.is_keyless or recipe.base_url else None)
    wanted = {"api_key": key, "token": key, address or "": recipe.base_url or entry.home, **recipe.more}
    provider = made(**{key: value for key, value in wanted.items() if value and key in accepted})
    settle_client(provider.client, recipe.more)
    return provider
