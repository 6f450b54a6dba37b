"""What a server offers is chosen with care: one odd tool must not spoil every request (W6)."""

from __future__ import annotations

from typing import Any

import pytest

from shipmate.tools.mcp.offer import ForeignTool, choose_addresses, choose_tools

GOOD = {"name": "good", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}, "b": True}}}


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"name": ""},
        {"name": 7},
        {"name": "n" * 1000},
        {"name": "x", "inputSchema": 7},
        {"name": "x", "inputSchema": {"type": "array"}},
        {"name": "x", "inputSchema": {"type": "object", "properties": []}},
        {"name": "x", "inputSchema": {"type": "object", "properties": {"a": "string"}}},
        {"name": "x", "inputSchema": {"type": "object", "required": "a"}},
        {"name": "x", "inputSchema": {"type": "object", "required": [1]}},
        {"name": "x", "inputSchema": {"type": "object", "description": "d" * 20_000}},
        {"name": "x", "description": ["d"]},
        {"name": "x", "annotations": {"title": "t" * 20_000}},
        {"name": "good"},
    ],
)
def test_w6_an_odd_tool_is_left_out_and_counted(entry: dict[str, Any]) -> None:
    tools, left_out = choose_tools([GOOD, entry], None)
    assert ([tool.name for tool in tools], left_out) == (["good"], 1)


def test_w6_only_wanted_tools_are_chosen_and_the_others_are_not_missed() -> None:
    tools, left_out = choose_tools([GOOD, {"name": "other", "inputSchema": {}}], ("good",))
    assert ([tool.name for tool in tools], left_out) == (["good"], 0)


@pytest.mark.parametrize(
    "change",
    [
        {"description": "d"},
        {"title": "t"},
        {"input_schema": {"a": 1}},
        {"annotations": {"readOnlyHint": True}},
    ],
)
def test_w6_whatever_is_told_of_a_tool_is_its_meaning(change: dict[str, Any]) -> None:
    assert ForeignTool(name="x", **change).meaning != ForeignTool(name="x").meaning


def test_w6_addresses_are_counted_and_measured() -> None:
    entries: list[dict[str, Any]] = [{"uri": "a"}, {"uri": 7}, {}, {"uri": "x" * 5_000}, {"uri": "a"}]
    assert choose_addresses(entries) == ("a",)
    assert len(choose_addresses({"uri": str(number)} for number in range(5_000))) == 1_000
