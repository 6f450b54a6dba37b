"""Make the JSON Schema of ship.json, so that editors complete and check it.

`python -m shipmate.workspace.schema` writes the shipped file anew.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from shipmate.values.message import JsonObject
from shipmate.workspace.config import Config

SHIPPED = "ship.schema.json"


def config_schema() -> JsonObject:
    """Describe ship.json as JSON Schema."""
    schema = msgspec.json.schema(Config)
    described: JsonObject = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return _without_defaults_of_objects(described)


def shipped_schema() -> bytes:
    """Return the schema file of the package."""
    return (files("shipmate.workspace") / SHIPPED).read_bytes()


def _without_defaults_of_objects(value: Any) -> Any:
    # Whole default objects repeat the schema in every hover text; the defaults of their fields say the same.
    if isinstance(value, dict):
        kept = {
            key: inner
            for key, inner in value.items()
            if key != "default" or not isinstance(inner, dict | list)
        }
        return {key: _without_defaults_of_objects(inner) for key, inner in kept.items()}
    if isinstance(value, list):
        return [_without_defaults_of_objects(inner) for inner in value]
    return value


def encode_schema() -> bytes:
    """Write the schema as people read it."""
    return msgspec.json.format(msgspec.json.encode(config_schema()), indent=2) + b"\n"


if __name__ == "__main__":
    (Path(__file__).parent / SHIPPED).write_bytes(encode_schema())
