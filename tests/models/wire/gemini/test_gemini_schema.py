from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.wire.gemini.gemini_schema import fit_schema
from tests.support.gemini_rule import check_schema
from tests.support.search import examples
from tests.support.thread_strategy import json_values

KEYWORDS = (
    *("type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"),
    *("$defs", "additionalProperties", "pattern", "minimum", "minItems", "description", "default", "format"),
    *("title", "prefixItems", "nullable", "if", "propertyOrdering", "definitions"),
)
values = (
    st.sampled_from(
        ("string", "object", "array", "#", "#/$defs/a", "#/properties/a", "#/nowhere", "https://x")
    )
    | json_values
)
schemas: st.SearchStrategy[Any] = st.recursive(
    values | st.booleans(),
    lambda inner: (
        st.dictionaries(st.sampled_from((*KEYWORDS, "a", "b")), inner, max_size=4)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(KEYWORDS), schemas, max_size=5))
@settings(max_examples=examples(300), deadline=None)
def test_any_schema_becomes_one_that_is_taken(schema: dict[str, Any]) -> None:
    before = json.dumps(schema)
    check_schema(fit_schema(schema), is_top=True)
    assert json.dumps(schema) == before


def test_a_plain_schema_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "A title."},
            "kinds": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
            "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
            "more": {"type": "object", "additionalProperties": {"type": "number"}},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    assert fit_schema(schema) == schema


def test_references_are_put_in_place_and_end_where_they_turn_back() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}
    schema = {
        "type": "object",
        "properties": {"start": {"$ref": "#/$defs/node", "description": "Where."}, "lost": {"$ref": "#/x"}},
        "$defs": {"node": node},
    }
    made = fit_schema(schema)
    start = made["properties"]["start"]
    assert start["description"] == "Where."
    assert start["properties"]["name"] == {"type": "string"}
    assert start["properties"]["next"] == {"type": "object"}
    assert made["properties"]["lost"] == {}


def test_what_gemini_does_not_read_is_said_in_words() -> None:
    schema = {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date", "pattern": "^2", "description": "A day."},
            "on": {"const": True},
            "mode": {"const": "fast"},
            "either": {"oneOf": [{"type": "string"}, {"type": "null"}]},
            "maybe": {"enum": ["a", None]},
        },
        "required": ["day", "gone"],
        "allOf": [{"properties": {"both": {"type": "string"}}, "required": ["both"]}],
    }
    made = fit_schema(schema)["properties"]
    assert made["day"] == {"type": "string", "description": "A day. (format: date; pattern: ^2)"}
    assert made["on"] == {"description": "(one of: [true])"}
    assert made["mode"] == {"type": "string", "enum": ["fast"]}
    assert made["either"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert made["maybe"] == {"type": ["string", "null"], "enum": ["a"]}
    assert made["both"] == {"type": "string"}
    assert fit_schema(schema)["required"] == ["both", "day"]


def test_a_schema_that_grows_by_its_references_stays_small() -> None:
    defs = {f"n{n}": {"anyOf": [{"$ref": f"#/$defs/n{n + 1}"}] * 4} for n in range(11)}
    defs["n11"] = {"allOf": [{"$ref": "#/$defs/n0"}, {"$ref": "#/$defs/n5"}]}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n0"}}, "$defs": defs}
    assert len(json.dumps(fit_schema(schema))) < 200_000
