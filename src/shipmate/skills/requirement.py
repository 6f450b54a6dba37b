"""Check what a skill needs from the machine: binaries, environment variables, a platform."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

PLATFORMS = {"darwin": "darwin", "macos": "darwin", "linux": "linux", "win32": "win32", "windows": "win32"}


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """Name what must be there before a skill can work."""

    bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.bins or self.env or self.platforms)


NOTHING = Requirement()


def read_requirement(*sources: Any) -> Requirement:
    """Read requirements from front matter objects; what is not a list of words asks for nothing."""
    bins: list[str] = []
    env: list[str] = []
    platforms: list[str] = []
    for source in sources:
        if not isinstance(source, dict):
            continue
        requires = source.get("requires")
        inner: dict[Any, Any] = requires if isinstance(requires, dict) else {}
        bins += _words(inner.get("bins"))
        env += _words(inner.get("env"))
        platforms += _words(inner.get("os")) + _words(source.get("os"))
    if not (bins or env or platforms):
        return NOTHING
    return Requirement(bins=tuple(bins), env=tuple(env), platforms=tuple(platforms))


def _words(value: Any) -> list[str]:
    items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [item.strip() for item in items if isinstance(item, str) and item.strip()]


class Checker:
    """Tell what is missing. Binaries are looked for again only when a folder of PATH changes."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._stamps: tuple[object, ...] = ()
        self._found: dict[str, bool] = {}

    def describe(self, variables: Iterable[str]) -> tuple[object, ...]:
        """Give a value that changes when something that may be required comes or goes."""
        path = self._environ.get("PATH", os.defpath)
        stamps = (path, *(_stamp(folder) for folder in path.split(os.pathsep)))
        if stamps != self._stamps:
            self._stamps = stamps
            self._found.clear()
        return (*stamps, *(bool(self._environ.get(name)) for name in variables))

    def missing(self, requirement: Requirement) -> tuple[str, ...]:
        """Name each missing thing, as in `CLI: gh` or `ENV: TOKEN`."""
        if not requirement:
            return ()
        lacks = [f"CLI: {name}" for name in requirement.bins if not self._has(name)]
        lacks += [f"ENV: {name}" for name in requirement.env if not self._environ.get(name)]
        wanted = {PLATFORMS.get(name.lower(), name.lower()) for name in requirement.platforms}
        if wanted and sys.platform not in wanted:
            lacks.append(f"OS: {' or '.join(requirement.platforms)}")
        return tuple(lacks)

    def _has(self, name: str) -> bool:
        if name not in self._found:
            self._found[name] = shutil.which(name, path=self._environ.get("PATH")) is not None
        return self._found[name]


def _stamp(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116  # asked every turn; a Path costs as much again
    except OSError:
        return 0
