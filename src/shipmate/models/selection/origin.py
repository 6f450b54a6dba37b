"""Tell which address a stored key is meant for; it is sent nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from shipmate.errors import ConfigError
from shipmate.models.catalog import ALIASES, NO_KEY, PROVIDERS
from shipmate.models.selection.source import find_source
from shipmate.models.wording import say
from shipmate.workspace.config import Llm

PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """Whom a request reaches."""

    scheme: str
    host: str
    port: int | None

    def __str__(self) -> str:
        port = "" if self.port == PORTS.get(self.scheme) else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"


def fill_key(asked: Llm, configured: Llm, environ: Mapping[str, str]) -> Llm:
    """Return the model to try with its stored key; raise ConfigError at an address the key is not for."""
    if asked.api_key:
        return asked
    provider = _provider(asked)
    if asked.base_url is None:
        known = next((each for each in _flatten(configured) if _provider(each) == provider), None)
        if known is not None:
            return replace(asked, api_key=known.api_key, base_url=known.base_url)
        return replace(asked, base_url=_named_address(provider, environ))
    wanted = find_origin(asked.base_url)
    for each in _flatten(configured):
        if wanted is not None and _provider(each) == provider and _own_origin(each, environ) == wanted:
            return replace(asked, api_key=each.api_key)
    own = _own_origin(Llm(provider=provider), environ)
    if wanted is not None and wanted == own:
        return asked
    if provider in PROVIDERS and PROVIDERS[provider].is_keyless:
        return replace(asked, api_key=NO_KEY)
    places = {"own": own or say("another-address"), "wanted": wanted or say("this-one")}
    raise ConfigError(say("key-elsewhere", provider=provider, **places))


def find_origin(address: str) -> Origin | None:
    """Return whom an address reaches, or None when it is none."""
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        return None
    if not parts.scheme or not parts.hostname:
        return None
    return Origin(parts.scheme, parts.hostname.rstrip("."), port or PORTS.get(parts.scheme))


def _own_origin(llm: Llm, environ: Mapping[str, str]) -> Origin | None:
    if llm.base_url:
        return find_origin(llm.base_url)
    provider = _provider(llm)
    address = _named_address(provider, environ) or _home(provider)
    return find_origin(address) if address else None


def _named_address(provider: str, environ: Mapping[str, str]) -> str | None:
    return find_source(provider, environ).address if _home(provider) else None


def _home(provider: str) -> str | None:
    return PROVIDERS[provider].home if provider in PROVIDERS else None


def _provider(llm: Llm) -> str:
    name = llm.provider or ""
    if not name and llm.model and ":" in llm.model:
        name = llm.model.partition(":")[0]
    if not name and llm.base_url:
        name = "openai-compatible"
    return ALIASES.get(name, name)


def _flatten(llm: Llm) -> Iterator[Llm]:
    yield llm
    for each in llm.fallback:
        yield from _flatten(each)
