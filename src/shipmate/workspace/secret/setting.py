"""Tell which values of ship.json may be shown. Whatever is not known to be harmless counts as secret."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import SplitResult, urlsplit

KeyPath: TypeAlias = tuple[str, ...]
MASK = "•••"
SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie|private", re.IGNORECASE)
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
DATA = Path(__file__).with_name("public.txt")
ARGUMENTS = ("mcp", "servers", "*", "args", "*")
# Arguments that are surely no secret: names of options, plain paths and names of packages.
OPTION = re.compile(r"--?[A-Za-z][A-Za-z-]*")
PLAIN_PATH = re.compile(r"@?[a-z_-]+(?:[./][a-z_-]+)+|\.{1,2}(?:/[a-z_-]+)*")
WORDS = frozenset(("true", "false", "null", "none"))
# A step of an address's path that is surely no secret.
PLAIN_STEP = re.compile(r"v[0-9]{1,2}(?:alpha|beta)?[0-9]?|[a-z]{1,16}(?:-[a-z]{1,16}){0,2}")


@cache
def load_section(name: str) -> frozenset[str]:
    """Read one section of the data file."""
    found: dict[str, set[str]] = {}
    section = ""
    for line in DATA.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            found.setdefault(section, set()).add(line)
    return frozenset(found[name])


def looks_secret(name: str) -> bool:
    """Return whether a variable or key of this name holds a secret."""
    return SECRET_NAME.search(name) is not None


def hide_secrets(config: object, mask: Callable[[str], str]) -> object:
    """Copy a configuration; a secret is shown as `set`, or by the variable that holds it."""
    return _hide(config, (), mask)


def find_secrets(config: object) -> Iterator[tuple[KeyPath, str]]:
    """Go over the secret values of a configuration, each with its place; short pieces are included."""
    yield from _find(config, ())


def is_public(path: KeyPath) -> bool:
    """Return whether the value at a place may be shown."""
    return _stands_in("public", path)


def is_address(path: KeyPath) -> bool:
    """Return whether an address stands at a place; its host may be shown, the rest of it not."""
    return _stands_in("address", path)


def hide_address(address: str) -> str:
    """Return an address without what may be a secret in it: user, odd steps of its path, query, fragment."""
    parts = _split(address)
    if parts is None:
        return MASK
    host = parts.netloc.rpartition("@")[2]
    user = f"{MASK}@" if "@" in parts.netloc else ""
    path = "/".join(step if _is_plain_step(step) else MASK for step in parts.path.split("/"))
    query = "&".join(f"{each.partition('=')[0]}={MASK}" if "=" in each else MASK for each in _queries(parts))
    fragment = f"#{MASK}" if parts.fragment else ""
    return f"{parts.scheme}://{user}{host}{path}{f'?{query}' if query else ''}{fragment}"


def address_secrets(address: str) -> Iterator[str]:
    """Go over what may be a secret in an address."""
    parts = _split(address)
    if parts is None:
        yield address
        return
    user = parts.netloc.rpartition("@")[0]
    yield from (piece for piece in (user, *user.split(":")) if piece)
    yield from (step for step in parts.path.split("/") if not _is_plain_step(step))
    yield from (value for each in _queries(parts) if (value := each.partition("=")[2] or each))
    if parts.fragment:
        yield parts.fragment


def _hide(value: object, path: KeyPath, mask: Callable[[str], str]) -> object:
    if isinstance(value, Mapping):
        return {key: _hide(inner, (*path, str(key)), mask) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [
            _hide_argument(value, at) if _is_argument(path, at) else _hide(inner, (*path, str(at)), mask)
            for at, inner in enumerate(value)
        ]
    if value is None or isinstance(value, bool):
        return value
    if is_public(path) and _is_shown(value, path):
        return mask(value) if isinstance(value, str) else value
    if not isinstance(value, str):
        return "set"
    if variable := VARIABLE.fullmatch(value):
        return f"env:{variable[1]}"
    if is_address(path) and not VARIABLE.search(value):
        return mask(hide_address(value))
    return "set" if value else ""


def _hide_argument(given: Any, at: int) -> object:
    value = given[at]
    if not isinstance(value, str):
        return "set"
    if variable := VARIABLE.fullmatch(value):
        return f"env:{variable[1]}"
    if _is_plain_argument(given, at):
        return value
    name, _, rest = value.partition("=")
    return f"{name}=set" if rest and OPTION.fullmatch(name) else "set"


def _find(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _find(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            if not (_is_argument(path, at) and _is_plain_argument(value, at)):
                yield from _find(inner, (*path, str(at)))
    elif (
        isinstance(value, str)
        and value.lower() not in WORDS
        and not (is_public(path) and _is_shown(value, path))
    ):
        yield from ((path, piece) for piece in _pieces(value, path))


def _pieces(value: str, path: KeyPath) -> Iterator[str]:
    """Go over what of a value may turn up alone: the key behind `Bearer`, what follows `--token=`."""
    if "://" in value:
        start = re.search(r"[a-z][a-z0-9+.-]*://", value)
        yield from address_secrets(value[start.start() :] if start else value)
        if is_address(path):
            return
    else:
        name, equals, rest = value.partition("=")
        if equals and OPTION.fullmatch(name):
            yield from (rest, rest.rpartition(" ")[2])
            return
        yield value.rpartition(" ")[2]
    yield value


def _is_shown(value: object, path: KeyPath) -> bool:
    # A program is one word; what follows it are arguments in the wrong place.
    return path[-1] != "command" or not isinstance(value, str) or not re.search(r"[\s=]", value)


def _is_argument(path: KeyPath, at: int) -> bool:
    return _fits((*path, str(at)), ARGUMENTS)


def _is_plain_argument(given: Any, at: int) -> bool:
    """Return whether an argument is surely no secret; what follows an option such as --token may be one."""
    value, before = given[at], given[at - 1] if at else ""
    if not isinstance(value, str):
        return False
    if OPTION.fullmatch(value):
        return True
    if isinstance(before, str) and OPTION.fullmatch(before) and looks_secret(before):
        return False
    return value in load_section("argument") or PLAIN_PATH.fullmatch(value) is not None or _is_file(value)


def _is_file(value: str) -> bool:
    # Path.exists() raises for a name too long to be one.
    return value.startswith(("/", "./", "../")) and os.path.exists(value)  # noqa: PTH110


def _is_plain_step(step: str) -> bool:
    return not step or PLAIN_STEP.fullmatch(step) is not None


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return parts if parts.scheme and parts.netloc else None


def _queries(parts: SplitResult) -> list[str]:
    return [each for each in parts.query.split("&") if each]


def _stands_in(section: str, path: KeyPath) -> bool:
    place = _shorten(path)
    return any(_fits(place, tuple(known.split("."))) for known in load_section(section))


def _shorten(path: KeyPath) -> KeyPath:
    """Return the place without the fallbacks it lies in: each of them is an `llm` of its own."""
    while path[:2] == ("llm", "fallback") and len(path) > 3:
        path = ("llm", *path[3:])
    return path


def _fits(path: KeyPath, known: KeyPath) -> bool:
    return len(path) == len(known) and all(one in ("*", two) for one, two in zip(known, path, strict=True))
