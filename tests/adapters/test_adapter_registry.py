"""Adapters are found by kind, and what is wrong with their settings is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shipmate.adapters.adapter_registry import AdapterRegistry
from shipmate.adapters.memory_platform import MemoryAdapter
from shipmate.delivery.reception.people import People
from shipmate.errors import ConfigError
from shipmate.workspace.layout import Layout


async def test_an_adapter_is_made_once_by_its_kind_under_its_name() -> None:
    registry = AdapterRegistry({"helper": {"kind": "memory"}, "off": {"kind": "memory", "enabled": False}})
    found = registry.find("helper")
    assert isinstance(found, MemoryAdapter)
    assert found is registry.find("helper")
    assert (found.name, registry.names) == ("helper", frozenset({"helper"}))
    await registry.close()


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("web", {"kind": "memory"}, "choose another name"),
        ("Telegram", {"kind": "memory"}, "choose another name"),
        ("person", {"kind": "memory"}, "choose another name"),
        ("crew", {"kind": "memory"}, "choose another name"),
        ("bird", {}, "no adapter of the kind 'bird'"),
        ("memory", {"open": "yes"}, "Expected `bool`, got `str`"),
        ("gone", {"enabled": False}, "no adapters.gone that is switched on"),
    ],
)
def test_what_cannot_be_made_says_why(name: str, settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        AdapterRegistry({name: settings}).find(name)


async def test_the_doctor_learns_of_unknown_keys_and_bots_nobody_may_talk_to(tmp_path: Path) -> None:
    registry = AdapterRegistry(
        {
            "a": {"kind": "memory", "alowFrom": []},
            "b": {"kind": "memory", "open": True},
            "c": {"kind": "bird"},
            "d": {"kind": "memory", "open": True, "member": "zoe"},
        }
    )
    found = registry.check(People(Layout(tmp_path), {}), ["captain", "nina"])
    assert [(each.level, each.subject, re.split("[,;]", each.message)[0]) for each in found] == [
        ("warn", "adapters.a", "unknown key 'alowFrom'"),
        ("warn", "adapters.a", "nobody may talk to it"),
        ("ok", "adapters.b", "memory"),
        ("error", "adapters.c", "there is no adapter of the kind 'bird'"),
        ("error", "adapters.d", "there is no member 'zoe'"),
    ]
    assert found[0].fix == "did you mean 'allowFrom'?"
