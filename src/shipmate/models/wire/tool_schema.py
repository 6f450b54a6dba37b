"""Shape a tool's schema so that every provider takes it: an object with properties, no choice at its top."""

from __future__ import annotations

from typing import Any

from shipmate.values.message import JsonObject

# Keywords that providers refuse at the top of a schema, though they take them further down.
CHOICES = ("anyOf", "oneOf", "allOf")
REFUSED = (*CHOICES, "not", "enum")
KNOWN_LIMIT = 1024
# Each request has the same tools again: what was made of a schema, by which object it is.
_known: dict[int, tuple[JsonObject, JsonObject]] = {}


def shape_schema(schema: JsonObject) -> JsonObject:
    """Return the schema of an object; what a choice at its top offers becomes optional properties."""
    known = _known.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    if len(_known) >= KNOWN_LIMIT:
        _known.clear()
    shaped = _shape(schema)
    _known[id(schema)] = schema, shaped
    return shaped


def _shape(schema: JsonObject) -> JsonObject:
    shaped = {key: value for key, value in schema.items() if key not in REFUSED}
    shaped["type"] = "object"
    properties: JsonObject = {}
    for choice in _choices(schema):
        properties |= _properties(choice)
    shaped["properties"] = properties | _properties(schema)
    return shaped


def _choices(schema: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = []
    for key in CHOICES:
        offered: Any = schema.get(key)
        if isinstance(offered, list):
            found += [choice for choice in offered if isinstance(choice, dict)]
    return found


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}
