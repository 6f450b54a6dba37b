from __future__ import annotations

import pytest

from shipmate.workspace.json import read_json, read_unique_json


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e999", "[" * 100_000, "{", "'a'", "\ufeff1"])
def test_json_is_read_strictly(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_json(text)


def test_a_key_given_twice_is_a_choice_of_the_reader() -> None:
    assert read_json('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match="twice"):
        read_unique_json('[{"a": 1, "a": 2}]')
