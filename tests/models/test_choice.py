"""A question may name its model; nothing of one provider reaches another, and each model is made once."""

from __future__ import annotations

import pytest

from shipmate.errors import ModelAuthError, UserError
from shipmate.models.choice import ModelChoice
from shipmate.models.scripted import ScriptedModel
from shipmate.workspace.config import Llm
from tests.support.provider_case import ask, collect

OWN = Llm(provider="openai", model="own", api_key="sk-own-secret", base_url="http://127.0.0.1:1/v1")


async def test_the_key_and_address_of_one_provider_are_not_given_to_another() -> None:
    models = ModelChoice(OWN, {"OLLAMA_HOST": "127.0.0.1:1"})
    with pytest.raises(ModelAuthError, match="DEEPSEEK_API_KEY"):
        await collect(models.named("deepseek:deepseek-chat"), ask())
    await models.close()


def test_each_model_is_made_once_and_a_given_one_answers_unnamed_questions() -> None:
    given = ScriptedModel([])
    models = ModelChoice(OWN, {}, given)
    assert models.default is models.named(None) is given
    assert models.named("openai:other") is models.named("openai:other")
    assert models.named("openai:other") is not given


def test_a_name_without_its_provider_is_refused_in_words() -> None:
    with pytest.raises(UserError, match="write provider:model"):
        ModelChoice(OWN, {}).named("claude")
