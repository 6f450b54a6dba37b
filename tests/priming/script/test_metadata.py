from __future__ import annotations

from hypothesis import given, settings

from shipmate.priming.script.metadata import write_mapping
from shipmate.values.message import JsonObject
from shipmate.workspace.yaml.slow import build_slowly
from shipmate.workspace.yaml.yaml import read_yaml
from tests.support.priming_strategy import objects
from tests.support.search import examples

EXAMPLES = examples(60)


@settings(max_examples=EXAMPLES)
@given(objects)
def test_what_is_written_is_read_back_by_both_ways(values: JsonObject) -> None:
    text = write_mapping(values)
    assert repr(read_yaml(text)[0] or {}) == repr(values)
    assert repr(build_slowly(text) or {}) == repr(values)
    assert "\n---" not in f"\n{text}"
