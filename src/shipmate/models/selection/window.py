"""Know how many tokens a model reads at once: as ship.json says, as its server tells, else by its family."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from shipmate.errors import ConfigError, ShipmateError
from shipmate.models.catalog import PROVIDERS
from shipmate.workspace.config import Llm
from shipmate.workspace.disk.private import write_private

if TYPE_CHECKING:
    from shipmate.models.wire.model_endpoint import Endpoint
from shipmate.models.selection.listing import (
    PATIENCE,
    fetch_json,
    list_entries,
    list_models,
    read_window,
)
from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.model_path import quote_model, write_resource
from shipmate.models.wire.model_endpoint import Endpoint
from shipmate.models.wire.wire import WireError
from shipmate.values.message import JsonObject

log = logging.getLogger(__name__)
DEFAULT = 128_000
# No server that answers is believed to read less, or more.
LEAST, MOST = 1_000, 20_000_000
DATA = Path(__file__).with_name("window.txt")
# Providers whose own service tells it; servers of one's own are asked wherever they are.
TELLING = frozenset(("anthropic", "google", "groq", "mistral", "moonshotai", "openrouter"))
# How long the first turn may wait for a server on this machine, which answers in a few milliseconds.
LOCAL_SECONDS = 0.1
KEPT_MODELS = 200


async def ask_window(provider: str, model: str, endpoint: Endpoint) -> int | None:
    """Ask a server how many tokens a model of it reads; None when it does not say."""
    client = HttpClient(endpoint.environ, PATIENCE)
    try:
        match provider:
            case "ollama":
                return await _ask_ollama(client, model, endpoint)
            case "anthropic":
                found = await fetch_json(client, endpoint, provider, f"/v1/models/{quote_model(model)}")
                return read_window(found)
            case "google":
                found = await fetch_json(client, endpoint, provider, f"/v1beta/{write_resource(model)}")
                return read_window(found)
            case _ if PROVIDERS[provider].is_keyless:
                return await _ask_own(client, provider, model, endpoint)
            case _:
                offers = await list_models(provider, endpoint)
                return next((each.window for each in offers if each.name == model), None)
    finally:
        await client.close()


async def _ask_ollama(client: HttpClient, model: str, endpoint: Endpoint) -> int | None:
    """Ask what a loaded model runs with, then what its file sets, then what it could read at most."""
    loaded = await _try(client, endpoint, "ollama", "/api/ps")
    for entry in list_entries(loaded):
        if model in (entry.get("name"), entry.get("model")) and (window := read_window(entry)):
            return window
    shown = await _try(client, endpoint, "ollama", "/api/show", {"model": model})
    for line in str(shown.get("parameters") or "").splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdecimal():
            return int(value)
    info = shown.get("model_info")
    values = info.items() if isinstance(info, dict) else ()
    return next(
        (value for key, value in values if key.endswith(".context_length") and _is_count(value)), None
    )


async def _ask_own(client: HttpClient, provider: str, model: str, endpoint: Endpoint) -> int | None:
    """Ask a server of one's own: llama.cpp, LM Studio and vLLM each tell it somewhere else."""
    told = await _try(client, endpoint, provider, "/props")
    settings = told.get("default_generation_settings")
    if isinstance(settings, dict) and _is_count(settings.get("n_ctx")):
        return int(settings["n_ctx"])
    for path, is_root in (("/api/v0/models", True), ("/models", False)):
        page = await _try(client, endpoint, provider, path, is_root=is_root)
        for entry in list_entries(page):
            if entry.get("id") == model and (window := read_window(entry)):
                return window
    return None


async def _try(
    client: HttpClient,
    endpoint: Endpoint,
    provider: str,
    path: str,
    body: JsonObject | None = None,
    *,
    is_root: bool = True,
) -> JsonObject:
    """Return what a route answers, nothing when the server has no such route."""
    try:
        return await fetch_json(client, endpoint, provider, path, is_root=is_root, body=body)
    except WireError:
        return {}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """How many tokens a model reads at once, and who says so."""

    tokens: int
    source: Literal["ship.json", "server", "family", "default"]
    # Whether nothing better is still to come.
    is_final: bool = True


class Windows:
    """The windows of the models of one workspace; a server is asked once, and nobody waits for it."""

    def __init__(self, path: Path | None = None) -> None:
        # What servers told before, for the next process.
        self._path = path
        self._kept: dict[str, int] | None = None
        self._asking: dict[str, asyncio.Task[int | None]] = {}

    async def find(
        self, llm: Llm, model: str, environ: Mapping[str, str], *, patient: bool = False
    ) -> Window:
        """Return the window of `provider:model`; `patient` waits for the server's answer."""
        if llm.context_window is not None:
            return Window(tokens=llm.context_window, source="ship.json")
        provider, endpoint = _locate(llm, model, environ)
        if endpoint is None or not _tells(provider, endpoint):
            return guess_window(model)
        told, is_final = await self._ask(provider, model, endpoint, patient=patient)
        window = Window(tokens=told, source="server") if told else guess_window(model)
        return msgspec.structs.replace(window, is_final=is_final)

    def recall(self, llm: Llm, model: str, environ: Mapping[str, str]) -> Window:
        """Return the window as far as it is known here; nobody is asked."""
        if llm.context_window is not None:
            return Window(tokens=llm.context_window, source="ship.json")
        _, endpoint = _locate(llm, model, environ)
        if endpoint is None:
            return guess_window(model)
        told = self._read().get(_name_place(endpoint, model))
        return Window(tokens=told, source="server") if told else guess_window(model)

    async def _ask(
        self, provider: str, model: str, endpoint: Endpoint, *, patient: bool
    ) -> tuple[int | None, bool]:
        place = _name_place(endpoint, model)
        task = self._asking.get(place)
        if task is None:
            task = self._asking[place] = asyncio.create_task(self._learn(place, provider, model, endpoint))
        known = self._read().get(place)
        # A server on this machine is waited for a moment, when nothing at all is known of it.
        wait = None if patient else LOCAL_SECONDS if known is None and _is_here(endpoint.base_url) else 0
        if wait != 0 and not task.done():
            await asyncio.wait({task}, timeout=wait)
        is_told = task.done() and not task.cancelled() and task.exception() is None
        told = task.result() if is_told else None
        return told or known, task.done()

    async def _learn(self, place: str, provider: str, model: str, endpoint: Endpoint) -> int | None:
        from shipmate.models.selection.window import ask_window
        from shipmate.models.wire.http.trouble import HttpFault
        from shipmate.models.wire.wire import WireError

        name = model.partition(":")[2]
        try:
            found = await ask_window(provider, name, endpoint)
        except (HttpFault, WireError, ShipmateError) as error:
            log.debug("%s does not tell its context window (%s)", provider, error)
            return None
        if found is None or not LEAST <= found <= MOST:
            return None
        if self._read().get(place) != found:
            self._keep(place, found)
        return found

    def _read(self) -> dict[str, int]:
        if self._kept is None:
            try:
                data = self._path.read_bytes() if self._path else b"{}"
                self._kept = msgspec.json.decode(data, type=dict[str, int])
            except (OSError, msgspec.DecodeError, UnicodeDecodeError):
                # It is only a memory of what servers told; they are asked again.
                self._kept = {}
        return self._kept

    def _keep(self, place: str, tokens: int) -> None:
        kept = self._read()
        kept[place] = tokens
        while len(kept) > KEPT_MODELS:
            del kept[next(iter(kept))]
        if self._path is not None:
            try:
                write_private(self._path, msgspec.json.encode(kept))
            except OSError as error:
                log.debug("the context window of a model was not kept: %s", error)

    async def close(self) -> None:
        """Stop asking."""
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)


def _locate(llm: Llm, model: str, environ: Mapping[str, str]) -> tuple[str, Endpoint | None]:
    """Return whose model it is, and where it is asked; nowhere when no wire speaks to it."""
    entry = PROVIDERS.get(model.partition(":")[0])
    if entry is None or entry.wire is None:
        return "", None
    # Loaded only for models that are asked somewhere.
    from shipmate.models.selection.construct import locate

    try:
        return locate(llm, environ)
    except ConfigError:
        return "", None


def guess_window(model: str) -> Window:
    """Return the window of a model's family, by the beginning of its name."""
    name = model.partition(":")[2].lower() or model.lower()
    name = name.rpartition("/")[2]
    fits = [each for each in _families() if name.startswith(each)]
    if not fits:
        return Window(tokens=DEFAULT, source="default")
    return Window(tokens=_families()[max(fits, key=len)], source="family")


@cache
def _families() -> dict[str, int]:
    lines = (line.split() for line in DATA.read_text(encoding="utf-8").splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and not line[0].startswith("#")}


def _name_place(endpoint: Endpoint, model: str) -> str:
    # An address may hold a password.
    return f"{hashlib.sha256(endpoint.base_url.encode()).hexdigest()[:16]} {model}"


def _tells(provider: str, endpoint: Endpoint) -> bool:
    entry = PROVIDERS[provider]
    return not endpoint.lacks and (
        entry.is_keyless or (provider in TELLING and endpoint.base_url == entry.home)
    )


def _is_here(base_url: str) -> bool:
    """Return whether an address is of this machine."""
    # Loaded only for servers of one's own.
    import ipaddress

    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
