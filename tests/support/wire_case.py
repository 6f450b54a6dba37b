"""Point a model behind a wire at a server, one per protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from shipmate.models.catalog import WireName
from shipmate.models.wire.client import Patience
from shipmate.models.wire.model import WireModel
from shipmate.models.wire.model_endpoint import Endpoint
from shipmate.models.wire.registry import find_wire
from shipmate.models.wire.wire import WireSettings
from tests.support.provider_case import KEY, PROTOCOLS

WIRES: dict[str, WireName] = {
    "anthropic": "anthropic",
    "chat": "chat",
    "responses": "responses",
    "google": "gemini",
}


@asynccontextmanager
async def connect(
    protocol: str, url: str, *, patience: Patience | None = None, provider: str = "", **more: Any
) -> AsyncGenerator[WireModel]:
    """Give a model that speaks to the server, and close it afterwards."""
    named, model, path = PROTOCOLS[protocol]
    settings = WireSettings(provider=provider or named, model=model, **more)
    endpoint = Endpoint(base_url=url + path, key=KEY, patience=patience or Patience())
    made = WireModel(find_wire(WIRES[protocol]), settings, endpoint)
    try:
        yield made
    finally:
        await made.close()
