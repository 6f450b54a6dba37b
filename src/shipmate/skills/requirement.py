"""Check what a skill needs from the machine: binaries, variables, settings, a platform."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from shipmate.values.message import JsonObject

PLATFORMS = {"darwin": "darwin", "macos": "darwin", "linux": "linux", "win32": "win32", "windows": "win32"}
# What others call the same settings.
SETTINGS = {"channels": "adapters", "integrations": "adapters"}


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """What must be there before a skill can work."""

    bins: tuple[str, ...] = ()
    # Of each group one must be there.
    any_bins: tuple[tuple[str, ...], ...] = ()
    env: tuple[str, ...] = ()
    # Keys of ship.json, such as `adapters.telegram`, that must be set.
    config: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.bins or self.any_bins or self.env or self.config or self.platforms)


NOTHING = Requirement()


def read_requirement(*sources: Any) -> Requirement:
    """Read requirements from front matter objects; what is not a list of words asks for nothing."""
    found: dict[str, list[str]] = {"bins": [], "env": [], "config": [], "os": []}
    groups: list[tuple[str, ...]] = []
    for source in sources:
        if not isinstance(source, dict):
            continue
        requires = source.get("requires")
        inner: dict[Any, Any] = requires if isinstance(requires, dict) else {}
        for key, words in found.items():
            words += read_words(inner.get(key))
        found["os"] += read_words(source.get("os"))
        if group := read_words(inner.get("anyBins")):
            groups.append(tuple(group))
    return Requirement(
        bins=tuple(found["bins"]),
        any_bins=tuple(groups),
        env=tuple(found["env"]),
        config=tuple(found["config"]),
        platforms=tuple(found["os"]),
    )


def read_words(value: Any) -> list[str]:
    """Return the words of a list, or of one written as a text; anything else has none."""
    items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [item.strip() for item in items if isinstance(item, str) and item.strip()]


class Checker:
    """Tells what is missing. Binaries are looked for again only when a folder of PATH changes."""

    def __init__(self, environ: Mapping[str, str], settings: JsonObject | None = None) -> None:
        self._environ = environ
        self._settings = settings or {}
        self._stamps: tuple[object, ...] = ()
        self._found: dict[str, bool] = {}

    def describe(self, variables: Iterable[str], *, has_binaries: bool = True) -> tuple[object, ...]:
        """Return a value that changes when something that may be required comes or goes."""
        path = self._environ.get("PATH", os.defpath)
        # Where no binary is required, nobody looks into the folders.
        folders = path.split(os.pathsep) if has_binaries else ()
        stamps = (path, *map(_stamp, folders))
        if stamps != self._stamps:
            self._stamps = stamps
            self._found.clear()
        return (*stamps, *(bool(self._environ.get(name)) for name in variables))

    def missing(self, requirement: Requirement) -> tuple[str, ...]:
        """Return each missing thing, as in `CLI: rg or grep`, `ENV: TOKEN` or `CONFIG: adapters.telegram`."""
        if not requirement:
            return ()
        lacks = [f"CLI: {name}" for name in requirement.bins if not self._has(name)]
        lacks += [f"CLI: {' or '.join(group)}" for group in requirement.any_bins if not self._has_any(group)]
        lacks += [f"ENV: {name}" for name in requirement.env if not self._environ.get(name)]
        lacks += [f"CONFIG: {place}" for place in requirement.config if not self._is_set(place)]
        wanted = {PLATFORMS.get(name.lower(), name.lower()) for name in requirement.platforms}
        if wanted and sys.platform not in wanted:
            lacks.append(f"OS: {' or '.join(requirement.platforms)}")
        return tuple(lacks)

    def _has(self, name: str) -> bool:
        if name not in self._found:
            self._found[name] = shutil.which(name, path=self._environ.get("PATH")) is not None
        return self._found[name]

    def _has_any(self, names: Iterable[str]) -> bool:
        return any(map(self._has, names))

    def _is_set(self, place: str) -> bool:
        """Return whether ship.json sets a key to something other than nothing, no or zero."""
        value: Any = self._settings
        for at, key in enumerate(place.split(".")):
            if not isinstance(value, dict):
                return False
            value = value.get(SETTINGS.get(key, key) if at == 0 else key)
        return bool(value.strip() if isinstance(value, str) else value)


def _stamp(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116  # asked every turn; a Path costs as much again
    except OSError:
        return 0
