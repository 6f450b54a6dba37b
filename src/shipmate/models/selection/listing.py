"""List the models a provider offers, each with how much it can read where the provider tells."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlencode

import msgspec

from shipmate.errors import ModelRequestError
from shipmate.models.catalog import PROVIDERS
from shipmate.models.failure import explain
from shipmate.models.selection.construct import locate
from shipmate.models.selection.model_name import is_model_name
from shipmate.models.wire.client import HttpClient, Patience
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.model_endpoint import Endpoint, join_path
from shipmate.models.wire.provider_fault import read_refusal
from shipmate.models.wire.registry import find_wire
from shipmate.models.wire.wire import WireError
from shipmate.models.wire.wire_json import decode_json
from shipmate.models.wording import say
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Llm
from shipmate.workspace.secret.setting import address_secrets

PAGE_BYTES = 8_000_000
PAGES = 20
MODELS = 2_000
KEPT_SECONDS = 60.0
PATIENCE = Patience(connect=5, first=10, stall=10)
# Where servers say how many tokens a model reads at once, the nearest to the truth first.
WINDOWS = (
    "loaded_context_length",
    "max_model_len",
    "inputTokenLimit",
    "max_input_tokens",
    "context_length",
    "context_window",
    "max_context_length",
)


class OfferedModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One model of a provider."""

    name: str
    window: int | None = None


class OfferedModels:
    """What providers offer, asked for when wanted and remembered for a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[tuple[str, str, str], tuple[float, list[OfferedModel]]] = {}

    async def list(self, llm: Llm, environ: Mapping[str, str]) -> list[OfferedModel]:
        """Return the models of the provider that `llm` names; its key goes to its own address alone.

        Raises ConfigError when nobody can be asked, ModelError when the provider refuses or tells nothing.
        """
        provider, endpoint = locate(llm, environ)
        digest = hashlib.sha256((endpoint.key or "").encode()).hexdigest()
        place = provider, endpoint.base_url, digest
        known = self._known.get(place)
        if known is not None and self._clock() - known[0] < KEPT_SECONDS:
            return known[1]
        found = await list_models(provider, endpoint)
        self._known = {key: value for key, value in self._known.items() if self._is_fresh(value[0])}
        self._known[place] = self._clock(), found
        return found

    def _is_fresh(self, at: float) -> bool:
        return self._clock() - at < KEPT_SECONDS


async def list_models(provider: str, endpoint: Endpoint) -> list[OfferedModel]:
    """Ask a provider for its models, page by page."""
    client = HttpClient(endpoint.environ, PATIENCE)
    try:
        return await _read_pages(client, provider, endpoint)
    except (WireError, HttpFault) as fault:
        if isinstance(fault, WireError) and fault.status in (404, 405, 501):
            raise ModelRequestError(say("unlisted", provider=provider)) from None
        secrets = [endpoint.key, *endpoint.headers.values(), *address_secrets(endpoint.base_url)]
        raise explain(fault, provider, secrets, begun=False) from None
    finally:
        await client.close()


async def _read_pages(client: HttpClient, provider: str, endpoint: Endpoint) -> list[OfferedModel]:
    found: dict[str, OfferedModel] = {}
    more: dict[str, str] = {}
    for _ in range(PAGES):
        page = await fetch_json(client, endpoint, provider, *_find_path(provider, more))
        for entry in list_entries(page):
            if (offer := _read_offer(entry)) is not None:
                found.setdefault(offer.name, offer)
        following = _find_next(page)
        if not following or following == more or len(found) >= MODELS:
            break
        more = following
    return list(found.values())[:MODELS]


async def fetch_json(
    client: HttpClient,
    endpoint: Endpoint,
    provider: str,
    path: str,
    *,
    is_root: bool = False,
    body: JsonObject | None = None,
) -> JsonObject:
    """Return the JSON object at a path of a provider; raise `HttpFault` or `WireError` when there is none."""
    base = strip_version(endpoint.base_url) if is_root else endpoint.base_url
    wire = find_wire(PROVIDERS[provider].wire or "chat")
    headers = {
        "accept": "application/json",
        "user-agent": "shipmate",
        **wire.headers(endpoint.key),
        **endpoint.headers,
    }
    content = None if body is None else msgspec.json.encode(body)
    if content is not None:
        headers["content-type"] = "application/json"
    method = "GET" if body is None else "POST"
    async with client.send(
        method, join_path(base, path), headers=headers, content=content, may_repeat=True
    ) as answer:
        data = await answer.read(PAGE_BYTES)
        if answer.status >= 300:
            raise read_refusal(answer.status, answer.headers, data)
    try:
        found = decode_json(data)
    except msgspec.DecodeError:
        raise WireError(say("no-list")) from None
    if isinstance(found, list):
        return {"data": found}
    if not isinstance(found, dict):
        raise WireError(say("no-list"))
    return found


def strip_version(base_url: str) -> str:
    """Return an address without the version at its end, where servers have routes of their own."""
    base = base_url.partition("?")[0].rstrip("/")
    return base.removesuffix("/v1")


def _find_path(provider: str, more: Mapping[str, str]) -> tuple[str]:
    match PROVIDERS[provider].wire:
        case "anthropic":
            return (f"/v1/models?{urlencode({'limit': '1000', **more})}",)
        case "gemini":
            return (f"/v1beta/models?{urlencode({'pageSize': '1000', **more})}",)
        case _:
            return (f"/models?{urlencode(more)}" if more else "/models",)


def _find_next(page: JsonObject) -> dict[str, str]:
    """Return how the next page is asked for, nothing when this was the last."""
    if isinstance(token := page.get("nextPageToken"), str) and token:
        return {"pageToken": token}
    if page.get("has_more") is True and isinstance(last := page.get("last_id"), str) and last:
        return {"after_id": last}
    return {}


def list_entries(page: JsonObject) -> Iterator[JsonObject]:
    """Go over the models that an answer lists."""
    for key in ("data", "models"):
        entries = page.get(key)
        if isinstance(entries, list):
            yield from (each for each in entries if isinstance(each, dict))


def _read_offer(entry: JsonObject) -> OfferedModel | None:
    """Read one entry; one that says of itself that it holds no conversation is left out."""
    name = next((each for key in ("id", "name", "model") if isinstance(each := entry.get(key), str)), "")
    name = name.removeprefix("models/")
    methods = entry.get("supportedGenerationMethods")
    if not is_model_name(name) or (isinstance(methods, list) and "generateContent" not in methods):
        return None
    if entry.get("type") == "embeddings" or "embed" in name.lower():
        return None
    return OfferedModel(name=name, window=read_window(entry))


def read_window(entry: JsonObject) -> int | None:
    """Return how many tokens a model reads at once, where its entry says so."""
    for key in WINDOWS:
        value = entry.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
