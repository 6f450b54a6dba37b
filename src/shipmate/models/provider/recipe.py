"""Say which model to speak to, before any library of a provider is loaded."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shipmate.values.message import JsonObject


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Which model of which provider to speak to, and how."""

    provider: str
    model: str
    base_url: str | None = None
    api_key: str | None = None
    # Sampling and limits, by pydantic-ai's names for them.
    settings: JsonObject = {}
    # Further parameters of the provider's library.
    more: Mapping[str, str] = {}
    # Why it cannot be asked, when something is missing that only the asking needs.
    lacks: str = ""
