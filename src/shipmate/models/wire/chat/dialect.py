"""How servers that speak OpenAI's Chat protocol differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from shipmate.values.message import JsonObject

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """What one server takes and wants; the defaults are what nearly all of them take."""

    # Whether words always go as a list of parts, so that a message can grow, or as a string where they can.
    parts: bool = False
    # Types of files that go along; others are named in words.
    files: tuple[str, ...] = PICTURES
    # The models that take recordings, by a pattern of their names, and whether this one does.
    hearing: str = ""
    hears: bool = False
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    # Whether the tokens used have to be asked for.
    asks_usage: bool = True
    # The field in which what the model thought before goes back to it, None when it wants none of it.
    thought: str | None = None
    # Whether it refuses calls without that field, be it empty.
    needs_thought: bool = False
    # Whether a key finds again what was cached.
    cache_key: bool = False
    # What says how hard to think: by the settings' word for it, "" standing for any other.
    effort: Mapping[str, JsonObject] = {}
    # Whether it may send thinking as words in tags.
    has_tags: bool = True
    # Whether its models are OpenAI's own, whose names say what they take.
    has_families: bool = False
    # The name of the seed.
    seed: str = "seed"


def _name_effort(field: str = "reasoning_effort", *levels: str) -> dict[str, JsonObject]:
    names = levels or ("none", "minimal", "low", "medium", "high")
    return {level: {field: level} for level in names}


SWITCH: dict[str, JsonObject] = {
    "none": {"thinking": {"type": "disabled"}},
    "": {"thinking": {"type": "enabled"}},
}
COMMON = Dialect(hearing=r"audio|omni|ultravox|voxtral")
DIALECTS: dict[str, Dialect] = {
    "openai": Dialect(
        has_tags=False,
        parts=True,
        files=(*PICTURES, "application/pdf"),
        max_tokens="max_completion_tokens",
        cache_key=True,
        effort=_name_effort(),
        has_families=True,
        hearing="audio",
    ),
    "openrouter": Dialect(
        has_tags=False,
        parts=True,
        files=(*PICTURES, "application/pdf"),
        thought="reasoning_details",
        hearing="audio|gemini|omni|voxtral",
        effort={
            level: {"reasoning": {"effort": level}} for level in ("none", "minimal", "low", "medium", "high")
        },
    ),
    "deepseek": Dialect(
        has_tags=False, files=(), thought="reasoning_content", needs_thought=True, effort=SWITCH
    ),
    "moonshotai": Dialect(
        has_tags=False, thought="reasoning_content", needs_thought=True, cache_key=True, effort=SWITCH
    ),
    "zai": Dialect(has_tags=False, thought="reasoning_content", effort=SWITCH),
    "alibaba": Dialect(
        has_tags=False,
        thought="reasoning_content",
        effort={"none": {"enable_thinking": False}, "": {"enable_thinking": True}},
    ),
    # It tells the tokens unasked, and refuses fields it does not know.
    "mistral": Dialect(has_tags=False, asks_usage=False, seed="random_seed"),
    "groq": Dialect(effort=_name_effort("reasoning_effort", "low", "medium", "high")),
    "xai": Dialect(has_tags=False, parts=True, effort=_name_effort("reasoning_effort", "low", "high")),
    "ollama": Dialect(effort=_name_effort("reasoning_effort", "none", "low", "medium", "high")),
    "vllm": Dialect(
        hearing=COMMON.hearing,
        thought="reasoning_content",
        effort=_name_effort("reasoning_effort", "low", "medium", "high"),
    ),
}


def find_dialect(provider: str) -> Dialect:
    """Return how a provider speaks."""
    return DIALECTS.get(provider, COMMON)


@lru_cache(256)
def fit_dialect(provider: str, model: str) -> Dialect:
    """Return how a provider speaks with one of its models."""
    dialect = find_dialect(provider)
    if not dialect.hearing or not re.search(dialect.hearing, model, re.IGNORECASE):
        return dialect
    return msgspec.structs.replace(dialect, hears=True)


def name_effort(dialect: Dialect, reasoning: str | None) -> JsonObject:
    """Return the fields that say how hard to think, none where the server has no word for it."""
    if reasoning is None:
        return {}
    return dict(dialect.effort.get(reasoning) or dialect.effort.get("") or {})
