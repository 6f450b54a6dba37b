"""The shipped schema is the one the code makes, and it judges as the code does."""

from __future__ import annotations

import json

import jsonschema
import pytest

from shipmate.workspace.schema import encode_schema, shipped_schema


def test_the_shipped_schema_is_current() -> None:
    assert shipped_schema() == encode_schema(), "run: python -m shipmate.workspace.schema"


def test_a_good_configuration_passes_and_a_bad_one_does_not() -> None:
    schema = json.loads(shipped_schema())
    jsonschema.validate({"llm": {"provider": "anthropic", "fallback": [{"provider": "ollama"}]}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"permissions": {"mode": "wild"}}, schema)
