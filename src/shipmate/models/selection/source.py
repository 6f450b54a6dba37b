"""Take what a provider reads from variables out of one place: no key goes to an address of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from shipmate.errors import ConfigError
from shipmate.models.catalog import PROVIDERS
from shipmate.models.provider.ambient import SETTLED
from shipmate.models.wording import say
from shipmate.workspace.environ import VariableSource, list_places


class Source(NamedTuple):
    """What one place says of a provider."""

    place: str
    key: str | None
    address: str | None
    # Further parameters of its library.
    more: Mapping[str, str]


def find_source(provider: str, environ: Mapping[str, str], api_key: str | None = None) -> Source:
    """Return what stands where the provider's key stands; without a key, where anything of it does."""
    entry = PROVIDERS[provider]
    place = _find_place(provider, environ, api_key)
    more = {name: value for name, variable in entry.more.items() if (value := place.variables.get(variable))}
    key = api_key or _first(place, entry.keys)
    return Source(place.name, key, _first(place, entry.addresses), more)


def check_source(provider: str, environ: Mapping[str, str], source: Source) -> None:
    """Raise ConfigError when another place says where to send what this one holds."""
    entry = PROVIDERS[provider]
    wanted = [] if source.address else [*entry.addresses]
    wanted += [variable for name, variable in entry.more.items() if name not in (*source.more, *SETTLED)]
    for place, variable in _found(environ, wanted):
        if place.name != source.place:
            raise ConfigError(
                say(
                    "two-places",
                    provider=provider,
                    place=source.place,
                    variable=variable,
                    other=place.name,
                )
            )


def _find_place(provider: str, environ: Mapping[str, str], api_key: str | None) -> VariableSource:
    entry = PROVIDERS[provider]
    if api_key:
        holds = (place for place in list_places(environ) if api_key in place.variables.values())
        return next(holds, VariableSource("ship.json", {}))
    for names in (entry.keys, (*entry.addresses, *entry.more.values())):
        for place, _ in _found(environ, names):
            return place
    return list_places(environ)[0]


def _found(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[tuple[VariableSource, str]]:
    names = tuple(names)
    for place in list_places(environ):
        # Blanks alone are no value, and those around a pasted one are no part of it.
        yield from ((place, name) for name in names if place.variables.get(name, "").strip())


def _first(place: VariableSource, names: Iterable[str]) -> str | None:
    return next((value for name in names if (value := place.variables.get(name, "").strip())), None)
