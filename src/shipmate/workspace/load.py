"""Read ship.json and .env: resolve `${VARIABLES}`, report unknown keys with the nearest known name."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from shipmate.errors import ConfigError
from shipmate.values.adapter_event import PERSON
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting
from shipmate.workspace.config import Config
from shipmate.workspace.environ import Environ
from shipmate.workspace.file import FileCache
from shipmate.workspace.finding import Finding
from shipmate.workspace.foreign.program.ship_my_agent import take_over
from shipmate.workspace.layout import MEMBER_ID, Layout
from shipmate.workspace.secret.secret import Mask, secret_values

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Where ship.json and member.json describe models.
MODEL_KEYS = ("llm", "model")
ENV_LINE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration with what was found while reading it."""

    config: Config
    environ: dict[str, str]
    findings: list[Finding]
    mask: Mask


def load_config(layout: Layout, environ: Mapping[str, str] | None = None) -> Loaded:
    """Read the configuration of a workspace; without a ship.json everything has its default."""
    variables = Environ(os.environ if environ is None else environ, read_env(layout))
    recognised = layout.recognised
    raw, _ = take_over(_read(layout))
    raw = _put_below(raw, recognised.defaults() if recognised else {})
    _refuse_written_key(raw, layout)
    missing: list[str] = []
    resolved = resolve_variables(raw, variables, missing)
    findings = [
        Finding(
            "error",
            f"ship.json {place}",
            "names a variable that is not set",
            "set it in the environment or .env",
        )
        for place in missing
    ]
    findings += [
        Finding(
            "warn",
            "ship.json",
            f"unknown key {key!r}, kept as it is",
            f"did you mean {near!r}?" if near else "",
        )
        for key, near in unknown_keys(raw, Config)
    ]
    try:
        config = msgspec.convert(resolved, Config, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{layout.config}: {error}. Mend this value and try again.") from error
    config = _know_admins(config)
    # Unknown keys are no part of the configuration, but what they hold may be secret all the same.
    secrets = [*secret_values(variables, resolved), *(recognised.secrets if recognised else ())]
    secrets += _find_member_secrets(layout)
    mask = Mask(value for value in secrets if not VARIABLE.fullmatch(value))
    return Loaded(config=config, environ=variables, findings=findings, mask=mask)


def _refuse_written_key(raw: JsonObject, layout: Layout) -> None:
    """Raise where the key of the search stands in ship.json itself."""
    search = raw.get("webSearch")
    key = search.get("apiKey") if isinstance(search, dict) else None
    if isinstance(key, str) and not VARIABLE.fullmatch(key):
        raise ConfigError(
            f"{layout.config}: webSearch.apiKey must name a variable, such as "
            '"${BRAVE_API_KEY}". Put the key into .env.'
        )


def _find_member_secrets(layout: Layout) -> list[str]:
    """Return the secrets in the .env of members: no process gets them, and no text may show them."""
    files = FileCache(layout.root)
    places = (layout.member(name).env for name in files.names(layout.members) if MEMBER_ID.fullmatch(name))
    return [value for place in places for value in secret_values(parse_env(files.read(place).text))]


def _know_admins(config: Config) -> Config:
    """Return settings in which whoever is an admin by one of their ids is so by all of them."""
    listed = config.permissions.admins
    known = [
        f"{PERSON}{person}"
        for person, ids in config.people.items()
        if person in listed or not set(listed).isdisjoint(ids)
    ]
    if not known:
        return config
    permissions = msgspec.structs.replace(config.permissions, admins=(*listed, *known))
    return msgspec.structs.replace(config, permissions=permissions)


def _put_below(raw: JsonObject, defaults: JsonObject) -> JsonObject:
    """Return settings with defaults where they say nothing, key by key."""
    found = {**defaults, **raw}
    for key, value in defaults.items():
        if isinstance(value, dict) and isinstance(raw.get(key), dict):
            found[key] = {**value, **raw[key]}
    return found


def read_env(layout: Layout) -> dict[str, str]:
    """Read .env: NAME=value lines, quotes optional, comments ignored."""
    try:
        text = layout.env.read_text("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{layout.env} cannot be read: {error.strerror}. Mend its permissions.") from error
    return parse_env(text)


def parse_env(text: str) -> dict[str, str]:
    """Return the variables that the lines of a .env set."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = ENV_LINE.match(line)
        if match is not None:
            name, value = match.groups()
            quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
            found[name] = value[1:-1] if quoted else value.split(" #")[0].rstrip()
    return found


def _read(layout: Layout) -> JsonObject:
    try:
        data = layout.config.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(
            f"{layout.config} cannot be read: {error.strerror}. Mend its permissions."
        ) from error
    return decode_object(data, layout.config)


def decode_object(data: bytes, path: Path) -> JsonObject:
    """Return the JSON object a file holds; raise ConfigError with the line where it holds none."""
    try:
        raw = msgspec.json.decode(check_nesting(data))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        place = _place_of(str(error), data)
        raise ConfigError(f"{path}{place}: not JSON: {error}. Mend it and try again.") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: must hold one JSON object, such as {{}}.")
    return raw


def _place_of(message: str, data: bytes) -> str:
    found = re.search(r"byte (\d+)", message)
    return f":{data[: int(found[1])].count(10) + 1}" if found else ""


def resolve_variables(value: Any, variables: Mapping[str, str], missing: list[str]) -> Any:
    """Return settings with `${NAME}` replaced; places that name a variable nobody set are added to a list."""
    return _resolve(value, variables, "", missing)


def _resolve(value: Any, variables: Mapping[str, str], place: str, missing: list[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _resolve(inner, variables, f"{place}.{key}".lstrip("."), missing)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_resolve(inner, variables, f"{place}[{at}]", missing) for at, inner in enumerate(value)]
    if isinstance(value, str):
        if any(name not in variables for name in VARIABLE.findall(value)):
            missing.append(place)
            if place.split(".")[0].split("[")[0] in MODEL_KEYS:
                # Left as it is: only a model that is really asked needs it, and says so.
                return value
        return VARIABLE.sub(lambda match: variables.get(match[1], ""), value)
    return value


def unknown_keys(raw: Any, struct: Any) -> Iterator[tuple[str, str | None]]:
    """Go over the keys no struct knows, each with the nearest known name."""
    # Most members state nothing, and looking a struct through takes its time.
    if not isinstance(raw, dict) or not raw:
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    hints = get_type_hints(struct)
    for key, value in raw.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            yield key, near[0] if near else None
            continue
        kind = hints[fields[key].name]
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            for inner, near in unknown_keys(value, kind):
                yield f"{key}.{inner}", f"{key}.{near}" if near else None
