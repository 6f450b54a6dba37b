from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import PatternError
from shipmate.values.json_schema import find_misfit

NODE = {"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}}
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {}}, "additionalProperties": False, "maxProperties": 1},
    {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1, "maxItems": 2},
    {"prefixItems": [{"type": "boolean"}], "items": {"type": "number", "minimum": 0}},
    {"enum": ["a", 1, None]},
    {"const": True},
    {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "integer", "exclusiveMaximum": 2}]},
    {"oneOf": [{"type": "number"}, {"type": "integer"}]},
    {"allOf": [{"type": "string"}, {"maxLength": 1}], "not": {"const": "a"}},
    {**NODE, "$ref": "#/$defs/node"},
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.5, 1.5])
    | st.sampled_from(["", "a", "ab"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "next"]), inner),
    max_leaves=5,
)


@given(VALUES, st.sampled_from(SCHEMAS))
def test_u14_it_finds_what_the_reference_finds(value: Any, schema: dict[str, Any]) -> None:
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (find_misfit(value, schema) is None) == fits


@pytest.mark.parametrize(
    ("value", "misfit"),
    [({}, "$: 'a' is missing"), ({"a": "x"}, "$.a: must be integer"), ([], "$: must be object")],
)
def test_u14_it_says_where_and_how(value: Any, misfit: str) -> None:
    assert find_misfit(value, SCHEMAS[0]) == misfit


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_u14_a_schema_that_names_itself_has_an_end(keyword: str) -> None:
    assert find_misfit(1, {keyword: [{"$ref": "#"}, {"$ref": "#"}]}) is not None
    assert find_misfit(10**400, {"type": "integer"}) is None


def test_u14_a_pattern_that_would_take_years_is_given_up() -> None:
    assert find_misfit("a" * 60 + "!", {"pattern": "(a+)+$"}) is not None
    with pytest.raises(PatternError, match="takes too long"):
        find_misfit("a" * 60 + "!", {"pattern": "(a|aa)+$"})
    with pytest.raises(PatternError, match="repeats too much"):
        find_misfit("a", {"pattern": "(((a{999}){999}){999})+"})
    with pytest.raises(PatternError, match="not a regular expression"):
        find_misfit("a", {"pattern": "("})
    # A schema's `.` and `$` know of no lines.
    assert find_misfit("a\nb", {"pattern": "a.b|a$"}) is not None
