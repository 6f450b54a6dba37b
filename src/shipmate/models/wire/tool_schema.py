"""Shape a tool's schema so that every provider takes it: an object with properties, no choice at its top."""

from __future__ import annotations

from typing import Any

from shipmate.values.message import JsonObject

# Keywords that providers refuse at the top of a schema, though they take them further down.
CHOICES = ("anyOf", "oneOf", "allOf")
REFUSED = (*CHOICES, "not", "enum")


def shape_schema(schema: JsonObject) -> JsonObject:
    """Return the schema of an object; what a choice at its top offers becomes optional properties."""
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
