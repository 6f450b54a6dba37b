"""The variables of a workspace: those of the process, and below them those of its .env file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class VariableSource(NamedTuple):
    """Where variables stand, by the name people know it, and what stands there."""

    name: str
    variables: Mapping[str, str]


class Environ(dict[str, str]):
    """All variables under their names; `places` keeps apart what belongs together, the first one winning."""

    def __init__(self, process: Mapping[str, str], file: Mapping[str, str]) -> None:
        super().__init__({**file, **process})
        self.places = (VariableSource("the environment", dict(process)), VariableSource(".env", dict(file)))


def list_places(environ: Mapping[str, str]) -> tuple[VariableSource, ...]:
    """Return the places of variables; a plain mapping is one place."""
    return environ.places if isinstance(environ, Environ) else (VariableSource("the environment", environ),)
