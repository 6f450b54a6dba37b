"""Ask a person at a terminal which model should answer: provider, key, model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import click
import msgspec

from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.tongue import echo, say
from shipmate.errors import ModelAuthError, ShipmateError
from shipmate.models.catalog import ALIASES, PROVIDERS
from shipmate.models.selection.listing import OfferedModel, OfferedModels
from shipmate.models.selection.local import LocalServer, find_local
from shipmate.models.selection.origin import fill_key
from shipmate.models.selection.selection import SelectedModel, variable_of
from shipmate.models.selection.source import find_source
from shipmate.workspace.config import Llm
from shipmate.workspace.load import Loaded

SHOWN_MODELS = 20
# Servers of one's own that can be chosen without having been found.
OWN = ("ollama", "lmstudio", "vllm", "openai-compatible")


class Choosable(msgspec.Struct, frozen=True):
    """One line of the list of providers."""

    name: str
    note: str = ""
    server: LocalServer | None = None


async def describe_providers(environ: Mapping[str, str]) -> list[Choosable]:
    """Return the providers a person may want, with what this machine has of each."""
    servers = {each.provider: each for each in await find_local(environ)}
    found: list[Choosable] = []
    for name, entry in PROVIDERS.items():
        server = servers.get(name)
        keys = [key for key in entry.keys if environ.get(key)]
        if server is not None:
            count = len(server.models)
            note = f"found at {server.base_url} with {count} model{'s' if count > 1 else ''}"
            found.append(Choosable(name, note, server))
        elif keys:
            found.append(Choosable(name, f"key in {keys[0]}"))
        elif (entry.model and name != "openai-responses") or name in OWN:
            found.append(Choosable(name, "a server of your own" if name in OWN else ""))
    # What is here already comes first.
    return sorted(found, key=lambda each: each.note in ("", "a server of your own"))


def choose(loaded: Loaded) -> SelectedModel:
    """Ask for provider, key and model."""
    provider, server = _ask_provider(asyncio.run(describe_providers(loaded.environ)))
    base_url = server.base_url if server and provider != "ollama" else _ask_address(provider, loaded.environ)
    key, offers = (None, server.models) if server else _ask_key_and_list(loaded, provider, base_url)
    return SelectedModel(provider=provider, model=_ask_model(provider, offers), base_url=base_url, key=key)


def _ask_provider(found: Sequence[Choosable]) -> tuple[str, LocalServer | None]:
    echo("Which provider?\n")
    for number, each in enumerate(found, 1):
        click.echo(f"{number:>3}  {each.name:<20} {click.style(each.note, fg='green')}".rstrip())
    echo("\n     any other by its name; docs/models.md lists them all")
    while True:
        said = click.prompt(say("Number or name"), type=str).strip()
        if said.isdecimal() and 1 <= int(said) <= len(found):
            each = found[int(said) - 1]
            return each.name, each.server
        name = ALIASES.get(said, said)
        if name in PROVIDERS and name != "rehearsal":
            return name, next((each.server for each in found if each.name == name), None)
        echo(f"there is no provider {clean(said)!r}.")


def _ask_address(provider: str, environ: Mapping[str, str]) -> str | None:
    entry = PROVIDERS[provider]
    named = provider == "ollama" or find_source(provider, environ).address
    if entry.home or named or entry.wire is None:
        return None
    while True:
        said = click.prompt(say("Address of the server, such as http://127.0.0.1:8000/v1"), type=str).strip()
        if said.startswith(("http://", "https://")):
            return said
        echo("an address begins with http:// or https://")


def _ask_key(provider: str, environ: Mapping[str, str]) -> str | None:
    """Ask for a key, unseen; nothing typed keeps the one that is there."""
    entry = PROVIDERS[provider]
    known = next((name for name in entry.keys if environ.get(name)), None)
    may_lack = known is not None or entry.is_keyless or not entry.keys
    hint = (
        f"Enter keeps {known}" if known else "Enter if it needs none" if may_lack else variable_of(provider)
    )
    while True:
        said = _prompt_key(hint)
        if said or may_lack:
            return said or None
        echo("paste the key; Ctrl-C leaves")


def _ask_key_and_list(
    loaded: Loaded, provider: str, base_url: str | None
) -> tuple[str | None, Sequence[OfferedModel]]:
    """Ask for a key and, with it, the provider for its models; without a list the name is typed."""
    key = _ask_key(provider, loaded.environ)
    while True:
        try:
            return key, _list(loaded, provider, base_url, key)
        except ShipmateError as error:
            click.echo(clean(loaded.mask(str(error).replace(key, "•••") if key else str(error))))
            # A key may be good for answers and not for lists, so the one that was refused can be kept.
            if not isinstance(error, ModelAuthError) or not (
                said := _prompt_key("Enter goes on with this one")
            ):
                return key, ()
            key = said


def _list(loaded: Loaded, provider: str, base_url: str | None, key: str | None) -> Sequence[OfferedModel]:
    asked = Llm(provider=provider, base_url=base_url, api_key=key)
    llm = fill_key(asked, loaded.config.llm, loaded.environ)
    return asyncio.run(OfferedModels().list(llm, loaded.environ))


def _prompt_key(hint: str) -> str:
    said = click.prompt(say(f"Key, not shown ({hint})"), default="", hide_input=True, show_default=False)
    return str(said).strip()


def _ask_model(provider: str, offers: Sequence[OfferedModel]) -> str:
    names = [each.name for each in offers]
    usual = PROVIDERS[provider].model
    default = usual if usual and (usual in names or not names) else (names[0] if len(names) == 1 else usual)
    shown = names[:SHOWN_MODELS]
    while True:
        for number, name in enumerate(shown, 1):
            click.echo(f"{number:>3}  {clean(name)}")
        if len(shown) < len(names):
            echo(f"     {len(names)} models in all; part of a name shows those that have it")
        said = click.prompt(say("Model"), default=default, type=str).strip()
        if said.isdecimal() and 1 <= int(said) <= len(shown):
            return shown[int(said) - 1]
        fits = [name for name in names if said.lower() in name.lower()]
        if said in names or not fits:
            return said
        if len(fits) == 1:
            return fits[0]
        shown = fits[:SHOWN_MODELS]
