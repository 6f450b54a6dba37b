"""What each provider refuses, by its protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.anthropic_rule import check_anthropic
from tests.support.chat_rule import check_chat
from tests.support.gemini_rule import check_gemini
from tests.support.responses_rule import check_responses

RULES: dict[str, Callable[[dict[str, Any]], None]] = {
    "anthropic": check_anthropic,
    "chat": check_chat,
    "google": check_gemini,
    "responses": check_responses,
}


def find_breach(protocol: str, body: dict[str, Any]) -> str:
    """Return what a provider would say against a request, nothing when it would take it."""
    try:
        RULES.get(protocol, lambda _: None)(body)
    except (AssertionError, KeyError, TypeError) as error:
        return str(error) or type(error).__name__
    return ""
