"""Patterns that wait until they are used."""

from __future__ import annotations

import re

import pytest

from shipmate.values.pattern import lazy_pattern


def test_it_does_what_the_pattern_does() -> None:
    pattern = lazy_pattern(r"(a+)(?P<rest>b*)", re.IGNORECASE)
    assert [pattern.fullmatch(text) is not None for text in ("aab", "AB", "b", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert pattern.sub("-", "xaab") == "x-"
    assert (pattern.pattern, pattern.groupindex["rest"]) == (r"(a+)(?P<rest>b*)", 2)


def test_it_is_compiled_when_it_is_used() -> None:
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.search("")
