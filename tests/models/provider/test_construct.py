"""The SDKs build the same objects with our mend as without it, and a moved name is noticed."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest

from shipmate.models.provider.construct import NAME, OldConfig, mend_construct

ANSWER: dict[str, dict[str, Any]] = {
    "openai": {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "delta": {"content": "你好", "tool_calls": [{"index": 0, "id": "t"}]}, "extra": 1}
        ],
    },
    "anthropic": {
        "type": "message_start",
        "message": {"id": "m", "content": [{"type": "text", "text": "你好"}]},
    },
}


def kind_of(sdk: str) -> Any:
    if sdk == "openai":
        return importlib.import_module("openai.types.chat").ChatCompletionChunk
    return importlib.import_module("anthropic.types").RawMessageStartEvent


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_the_mend_is_in_effect_and_changes_no_object(sdk: str) -> None:
    module = importlib.import_module(f"{sdk}._models")
    assert hasattr(module, NAME), f"{sdk} has moved {NAME}: look again whether the mend is still needed"
    before = getattr(module, NAME)
    plain = module.construct_type(value=ANSWER[sdk], type_=kind_of(sdk))
    mend_construct(module)
    try:
        assert getattr(module, NAME) is OldConfig
        mended = module.construct_type(value=ANSWER[sdk], type_=kind_of(sdk))
    finally:
        setattr(module, NAME, before)
    assert mended == plain
    assert mended.to_dict() == plain.to_dict()


def test_a_module_without_the_name_is_left_alone() -> None:
    module = ModuleType("other")
    mend_construct(module)
    assert not hasattr(module, NAME)
