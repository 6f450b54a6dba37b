"""Keep from a provider's client what the SDKs read from the environment for whomever they speak to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

# Parameters of ours that are set on the client, since the SDKs' own would be filled from the environment.
SETTLED = ("organization", "project", "headers")
HEADERS = ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS")


def settle_client(client: Any, more: Mapping[str, str]) -> None:
    """Set the accounts and headers meant for a client of the OpenAI or Anthropic SDK, and no others."""
    for name in ("organization", "project"):
        if hasattr(client, name):
            setattr(client, name, more.get(name))
    if not hasattr(client, "_custom_headers"):
        return
    foreign = {pair for name in HEADERS for pair in _read_headers(os.environ.get(name, "")).items()}
    kept = {name: value for name, value in client._custom_headers.items() if (name, value) not in foreign}
    # Said for the client rather than for each request: that would make a client anew, with all it reads.
    client.max_retries = 0
    client._custom_headers = {**kept, **_read_headers(more.get("headers", ""))}


def is_settled(model: Any) -> bool:
    """Return whether the model's client was settled."""
    return getattr(getattr(model, "client", None), "max_retries", None) == 0


def _read_headers(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.split("\n") if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}
