"""Find what in a value does not fit a JSON schema; keywords that are not known here are passed over."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from shipmate.values.pattern import find_pattern

DEEP = 40
# How many parts are looked at: some that name one another would have no end.
MOST = 100_000
TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
}
# What is compared with a bound: the keyword, of which type the value is, what is compared, and how.
BOUNDS: tuple[tuple[str, str, Callable[[Any], Any], Callable[[Any, Any], bool]], ...] = (
    ("minimum", "number", lambda value: value, operator.ge),
    ("maximum", "number", lambda value: value, operator.le),
    ("exclusiveMinimum", "number", lambda value: value, operator.gt),
    ("exclusiveMaximum", "number", lambda value: value, operator.lt),
    ("minLength", "string", len, operator.ge),
    ("maxLength", "string", len, operator.le),
    ("minItems", "array", len, operator.ge),
    ("maxItems", "array", len, operator.le),
    ("minProperties", "object", len, operator.ge),
    ("maxProperties", "object", len, operator.le),
)


def find_misfit(value: Any, schema: Any) -> str | None:
    """Return where and how a value does not fit a schema; None when it does."""
    return _find_misfit(value, schema, schema, "$", 0, itertools.count())


def _find_misfit(
    value: Any, schema: Any, root: Any, place: str, depth: int, looks: Iterator[int]
) -> str | None:
    if depth > DEEP or next(looks) > MOST:
        return f"{place}: nested too deeply"
    if isinstance(schema, bool) or not isinstance(schema, dict):
        return f"{place}: nothing may stand here" if schema is False else None

    def look(inner: Any, part: Any, where: str = place) -> str | None:
        return _find_misfit(inner, part, root, where, depth + 1, looks)

    return next(_find_misfits(value, schema, root, place, look), None)


def _find_misfits(
    value: Any, schema: dict[str, Any], root: Any, place: str, look: Callable[..., str | None]
) -> Iterator[str]:
    if isinstance(schema.get("$ref"), str) and (misfit := look(value, _follow(schema["$ref"], root))):
        yield misfit
    wanted = schema.get("type", list(TYPES))
    names = [wanted] if isinstance(wanted, str) else wanted
    if not any(TYPES[name](value) for name in names if name in TYPES):
        yield f"{place}: must be {' or '.join(names)}"
    if "const" in schema and not _is_same(value, schema["const"]):
        yield f"{place}: must be {schema['const']!r}"
    if "enum" in schema and not any(_is_same(value, each) for each in schema["enum"]):
        yield f"{place}: must be one of {schema['enum']!r}"
    for keyword, kind, measure, compare in BOUNDS:
        if keyword in schema and TYPES[kind](value) and not compare(measure(value), schema[keyword]):
            yield f"{place}: {keyword} is {schema[keyword]}"
    if isinstance(value, str) and "pattern" in schema and not find_pattern(schema["pattern"], value):
        yield f"{place}: must match {schema['pattern']}"
    if isinstance(value, dict):
        yield from _look_into(value, schema, place, look)
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        parts = [*first, *([schema.get("items", True)] * max(0, len(value) - len(first)))]
        for index, (inner, part) in enumerate(zip(value, parts, strict=False)):
            yield from _some(look(inner, part, f"{place}[{index}]"))
    for part in schema.get("allOf", ()):
        yield from _some(look(value, part))
    fits = [look(value, part) is None for part in schema.get("anyOf", ())]
    if fits and not any(fits):
        yield f"{place}: fits none of anyOf"
    if "oneOf" in schema and sum(look(value, part) is None for part in schema["oneOf"]) != 1:
        yield f"{place}: must fit one of oneOf"
    if "not" in schema and look(value, schema["not"]) is None:
        yield f"{place}: is what may not stand here"


def _look_into(
    value: dict[str, Any], schema: dict[str, Any], place: str, look: Callable[..., str | None]
) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place}: {name!r} is missing"
    for name, inner in value.items():
        part = known.get(name, schema.get("additionalProperties", True))
        if name not in known and part is False:
            yield f"{place}: {name!r} is not known"
        else:
            yield from _some(look(inner, part, f"{place}.{name}"))


def _some(misfit: str | None) -> Iterator[str]:
    if misfit is not None:
        yield misfit


def _follow(reference: str, root: Any) -> Any:
    """Return the part of a schema that a reference names; False, which nothing fits, when there is none."""
    found = root
    for name in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        found = (
            found.get(name.replace("~1", "/").replace("~0", "~"), False) if isinstance(found, dict) else False
        )
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same(value: Any, other: Any) -> bool:
    # To Python, True is 1.
    return value == other and isinstance(value, bool) == isinstance(other, bool)
