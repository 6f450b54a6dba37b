"""Find model servers that run on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from shipmate.errors import ModelError
from shipmate.models.ollama import locate_ollama
from shipmate.models.selection.offer import Offer, list_models
from shipmate.models.wire.model_endpoint import Endpoint

CONNECT_SECONDS = 0.15
ANSWER_SECONDS = 1.5
# Where such servers usually listen: LM Studio, llama.cpp, vLLM.
USUAL = (
    ("lmstudio", "http://127.0.0.1:1234/v1"),
    ("openai-compatible", "http://127.0.0.1:8080/v1"),
    ("vllm", "http://127.0.0.1:8000/v1"),
)


class LocalServer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A server that answered, and the models it has."""

    provider: str
    base_url: str
    models: tuple[Offer, ...]


async def find_local(
    environ: Mapping[str, str], usual: Sequence[tuple[str, str]] = USUAL
) -> list[LocalServer]:
    """Return the servers here that list models; each is given a moment to answer, and sent no key."""
    ollama = f"{locate_ollama(environ.get('OLLAMA_HOST'))}/v1"
    places = [("ollama", ollama), *usual]
    found = await asyncio.gather(*(_look(provider, base_url) for provider, base_url in places))
    return [each for each in found if each is not None]


async def _look(provider: str, base_url: str) -> LocalServer | None:
    from urllib.parse import urlsplit

    parts = urlsplit(base_url)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname or "", parts.port or 80)
        writer.close()
        async with asyncio.timeout(ANSWER_SECONDS):
            models = await list_models(provider, Endpoint(base_url=base_url))
    except (OSError, ModelError, TimeoutError):
        return None
    return LocalServer(provider=provider, base_url=base_url, models=tuple(models)) if models else None
