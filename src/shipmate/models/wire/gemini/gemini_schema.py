"""Fit the schema of a tool to what Gemini reads of JSON Schema.

It reads a few keywords, and refuses a whole request over a reference it cannot follow, a name in `required`
that is no property, or a keyword beside a reference. What a reference names is put in its place, and what is
said in keywords that it does not read is said in the description.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import msgspec

from shipmate.models.wire.answer_block import object_of
from shipmate.values.message import JsonObject

KEPT = frozenset(
    {
        *(
            "type",
            "description",
            "enum",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
        ),
        *("anyOf", "properties", "additionalProperties", "required", "propertyOrdering"),
    }
)
# Where definitions stand, and words about a schema that ask nothing of a value.
DROPPED = frozenset(
    {
        *("$schema", "$id", "$anchor", "$defs", "definitions", "$comment", "title", "examples", "example"),
        *("discriminator", "readOnly", "writeOnly", "deprecated", "nullable"),
    }
)
TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
# Deeper than people nest what a tool takes; a schema that refers to itself ends there.
DEPTH = 12
# How many schemas one tool may hold after references are put in place.
SIZE = 5_000
LONGEST_NOTE = 500


def fit_schema(schema: JsonObject) -> JsonObject:
    """Return a schema that Gemini takes; its top is an object. Nobody may change what is returned."""
    try:
        return _fit(msgspec.json.encode(schema))
    except OverflowError:
        # A number of more than 64 bits.
        return _fit(json.dumps(schema).encode())


@lru_cache(maxsize=512)
def _fit(text: bytes) -> JsonObject:
    # The same tools are offered with every request.
    schema = json.loads(text)
    return {**_Fitting(schema).fit(schema, 0, ()), "type": "object"}


class _Fitting:
    """The fitting of one tool's schema."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._made = 0

    def fit(self, schema: Any, depth: int, path: tuple[str, ...]) -> JsonObject:
        """Return one schema; `path` holds the references that were followed to it."""
        self._made += 1
        if not isinstance(schema, dict) or depth > DEPTH or self._made > SIZE:
            return {}
        schema, path = self._follow(schema, path)
        schema = self._join(schema, path)
        fitted: JsonObject = {}
        notes: list[str] = []
        for key, value in _rename(schema).items():
            if key in KEPT:
                if (made := self._fit_keyword(key, value, depth, path)) is not None:
                    fitted[key] = made
            elif key not in DROPPED:
                notes.append(f"{key}: {_say(value)}")
        return _describe(_check(fitted), notes)

    def _follow(self, schema: JsonObject, path: tuple[str, ...]) -> tuple[JsonObject, tuple[str, ...]]:
        """Put what a reference names in its place; one that leads back to itself is left open."""
        while isinstance(target := schema.get("$ref"), str):
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            found = None if target in path else self._find(target)
            if found is None:
                return {"type": "object", **beside} if target in path else beside, path
            path = (*path, target)
            schema = {**found, **beside}
        return schema, path

    def _find(self, target: str) -> JsonObject | None:
        if not target.startswith("#"):
            return None
        place: Any = self._root
        for step in target[1:].split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            place = place.get(step) if isinstance(place, dict) else None
        return place if isinstance(place, dict) else None

    def _join(self, schema: JsonObject, path: tuple[str, ...]) -> JsonObject:
        """Join schemas that all have to hold; of what two of them say differently the last one holds."""
        members = schema.get("allOf")
        self._made += 1
        if not isinstance(members, list) or self._made > SIZE:
            return schema
        joined: JsonObject = {}
        for member in [*members, {key: value for key, value in schema.items() if key != "allOf"}]:
            if isinstance(member, dict):
                found = self._join(*self._follow(member, path))
                properties = {**object_of(joined, "properties"), **object_of(found, "properties")}
                required = [*_list(joined, "required"), *_list(found, "required")]
                joined = {**joined, **found, "properties": properties, "required": required}
        return joined

    def _fit_keyword(self, key: str, value: Any, depth: int, path: tuple[str, ...]) -> Any:
        match key:
            case "properties" if isinstance(value, dict):
                return {
                    name: self.fit(each, depth + 1, path) for name, each in value.items() if each is not False
                }
            case "items" if isinstance(value, dict | bool):
                return self.fit(value, depth + 1, path)
            case "additionalProperties" if isinstance(value, bool):
                return value
            case "additionalProperties" if isinstance(value, dict):
                return self.fit(value, depth + 1, path)
            case "anyOf" | "prefixItems" if isinstance(value, list):
                return [self.fit(each, depth + 1, path) for each in value if each is not False] or None
            case "type" | "enum" | "required" | "propertyOrdering" | "description":
                return value
            case "minimum" | "maximum" if _is_number(value):
                return value
            case "minItems" | "maxItems" if isinstance(value, int) and not isinstance(value, bool):
                return value if value >= 0 else None
            case _:
                return None


def _rename(schema: JsonObject) -> JsonObject:
    """Say in keywords that are read what others say: constants, a choice of one, the older form of tuples."""
    renamed = dict(schema)
    if "const" in renamed and "enum" not in renamed:
        renamed["enum"] = [renamed.pop("const")]
    if isinstance(renamed.get("oneOf"), list) and "anyOf" not in renamed:
        renamed["anyOf"] = renamed.pop("oneOf")
    if isinstance(renamed.get("items"), list):
        renamed["prefixItems"] = renamed.pop("items")
    if renamed.get("nullable") is True and isinstance(renamed.get("type"), str):
        renamed["type"] = [renamed["type"], "null"]
    return renamed


def _check(fitted: JsonObject) -> JsonObject:
    """Take out what would make Gemini refuse the schema."""
    kinds = fitted.get("type")
    given: list[Any] = kinds if isinstance(kinds, list) else [kinds]
    named = [kind for kind in given if isinstance(kind, str) and kind in TYPES]
    fitted.pop("type", None)
    if named:
        fitted["type"] = named[0] if len(named) == 1 else list(dict.fromkeys(named))
    _check_choice(fitted)
    properties = object_of(fitted, "properties")
    if not properties:
        fitted.pop("properties", None)
    for key in ("required", "propertyOrdering"):
        names = [name for name in dict.fromkeys(map(str, _list(fitted, key))) if name in properties]
        fitted.pop(key, None)
        if names:
            fitted[key] = names
    if not isinstance(fitted.get("description"), str):
        fitted.pop("description", None)
    return fitted


def _check_choice(fitted: JsonObject) -> None:
    """Keep a choice of texts or numbers; any other is said in words."""
    choice = fitted.pop("enum", None)
    if not isinstance(choice, list) or not choice:
        return
    kept = [each for each in choice if isinstance(each, str) or _is_number(each)]
    if len(kept) < len([each for each in choice if each is not None]) or not kept:
        _describe(fitted, [f"one of: {_say(choice)}"])
        return
    fitted["enum"] = kept
    fitted.setdefault("type", "string" if all(isinstance(each, str) for each in kept) else "number")
    if None in choice and isinstance(fitted["type"], str):
        fitted["type"] = [fitted["type"], "null"]


def _describe(fitted: JsonObject, notes: list[str]) -> JsonObject:
    if notes:
        said = fitted.get("description")
        words = f"({'; '.join(notes)})"
        fitted["description"] = f"{said} {words}" if isinstance(said, str) and said else words
    return fitted


def _say(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_NOTE else f"{text[:LONGEST_NOTE]}…"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list(holder: JsonObject, key: str) -> list[Any]:
    value = holder.get(key)
    return value if isinstance(value, list) else []
