"""Write the metadata of records so that every YAML reader takes it for the same values."""

from __future__ import annotations

import json
import re
from typing import Any

from shipmate.values.message import JsonObject
from shipmate.workspace.yaml.scalar import ODD

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Compiled when first needed: classes of so many characters take milliseconds.
_PLAIN_TEXT = r"[A-Za-z一-鿿][A-Za-z0-9_./一-鿿-]*"
# YAML 1.1 readers take these for truth or nothing; quoting them costs nothing.
_DOUBTFUL = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def write_mapping(values: JsonObject) -> str:
    """Write one `key: value` line each; nested values as JSON on one line, which is YAML too."""
    return "".join(f"{write_key(key)}: {write_value(value)}\n" for key, value in values.items())


def write_json(value: Any) -> str:
    """Write JSON on one line that every YAML 1.2 reader takes for the same value."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)


def write_key(key: str) -> str:
    """Write a key, quoted where it must be."""
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _DOUBTFUL else write_json(key)


def write_value(value: Any) -> str:
    """Write a value on one line."""
    if isinstance(value, str) and re.fullmatch(_PLAIN_TEXT, value) and value.lower() not in _DOUBTFUL:
        return value
    return write_json(value)
