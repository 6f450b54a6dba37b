from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.values.nesting import DEPTH_LIMIT, check_nesting
from tests.support.cost import assert_linear


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":[', '{"[{":', "[ \n"])
def test_what_is_nested_too_deep_is_refused(opening: str) -> None:
    for text in (opening * 100_000, opening * (DEPTH_LIMIT + 1) + "1"):
        with pytest.raises(msgspec.DecodeError, match="nested more than 128 deep"):
            check_nesting(text)


@pytest.mark.parametrize(
    "value",
    [["["] * 5_000, {"a" * 300: "{[" * 5_000}, [[]] * 5_000, ['\\"[{' * 500], "\\" * 1_001 + '"[' * 300],
)
def test_what_is_long_but_flat_passes(value: Any) -> None:
    text = json.dumps(value)
    assert json.loads(check_nesting(text)) == value


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_the_depth_is_that_of_the_value(value: Any) -> None:
    deep = json.loads("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT)
    wrapped = json.dumps([deep, value])
    with pytest.raises(msgspec.DecodeError):
        check_nesting(wrapped)
    assert check_nesting(json.dumps(value)) == json.dumps(value).encode()
    assert _depth(value) <= DEPTH_LIMIT


@pytest.mark.parametrize("shape", ["[", '"', '\\"', "[]", '"[",', "{"])
def test_any_text_is_looked_at_once(shape: str) -> None:
    cost = assert_linear(
        "shipmate.values.nesting:check_nesting", f"{shape!r} * (SIZE // {len(shape)})", 4_000_000
    )
    assert cost.seconds < 3
    assert cost.megabytes < 60


def test_a_row_nested_without_end_is_reported_not_raised() -> None:
    from shipmate.thread.row import split_lines

    deep = b'{"id":"a","role":"user","parts":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    rows, problems, _ = split_lines(deep + b'{"id":"b","role":"user","parts":[]}\n', 1)
    assert [row["id"] for row in rows] == ["b"]
    assert problems[0].line == 1


def test_a_skill_with_metadata_nested_without_end_is_still_a_skill() -> None:
    from shipmate.skills.skill import read_skill
    from shipmate.workspace.file import FileText

    text = FileText("SKILL.md", "---\nname: x\ndescription: y\nmetadata: '" + "[" * 50_000 + "'\n---\nbody")
    skill = read_skill("x", "workspace", "skills/x", text, FileText("skill.json", "[" * 100_000))
    assert skill.description == "y"
    assert "skill.json" in skill.problems[0]
