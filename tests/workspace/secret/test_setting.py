"""Whatever of ship.json is not known to be harmless is hidden and masked (C19)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.workspace.config import Config, Llm
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.secret.secret import Mask, secret_values
from shipmate.workspace.secret.setting import hide_address, hide_secrets, is_address, is_public

SECRET = "Zq7-hidden_Value42"
PLACES = [
    {"llm": {"apiKey": SECRET}},
    {"llm": {"baseUrl": f"https://ann:{SECRET}@gate.example/v1"}},
    {"llm": {"baseUrl": f"https://{SECRET}@gate.example/v1"}},
    {"llm": {"baseUrl": f"https://gate.example/v1?k={SECRET}"}},
    {"llm": {"baseUrl": f"https://gate.example/{SECRET}/v1"}},
    {"llm": {"fallback": [{"fallback": [{"apiKey": SECRET}]}]}},
    {"llm": {"unknownName": SECRET}},
    {"env": {"HARMLESS": SECRET}},
    {"mcp": {"servers": {"x": {"command": "srv", "args": ["--token", SECRET]}}}},
    {"mcp": {"servers": {"x": {"command": "srv", "args": [f"--token={SECRET}"]}}}},
    {"mcp": {"servers": {"x": {"command": "srv", "args": [SECRET]}}}},
    {"mcp": {"servers": {"x": {"command": "srv", "args": [f"https://mcp.example/sse?x={SECRET}"]}}}},
    {"mcp": {"servers": {"x": {"command": f"srv --token {SECRET}"}}}},
    {"mcp": {"servers": {"x": {"command": "srv", "env": {"NAME": SECRET}}}}},
    {"mcp": {"servers": {"x": {"url": f"https://mcp.example/sse?x={SECRET}#{SECRET}"}}}},
    {"mcp": {"servers": {"x": {"url": "https://a.b", "headers": {"X-Any": f"Bearer {SECRET}"}}}}},
    {"adapters": {"telegram": {"anything": SECRET, "deep": [{"er": SECRET}]}}},
    {"integrations": {"feishu": {"appSecret": SECRET}}},
    {"llm": {"apiKey": SECRET}, "description": f"the key is {SECRET}"},
]


@pytest.mark.parametrize("config", PLACES, ids=str)
def test_c19_a_secret_in_any_field_is_neither_shown_nor_left_in_a_text(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    shown = hide_secrets(config, Mask(secret_values({}, config)))
    assert SECRET not in json.dumps(shown)
    (tmp_path / "ship.json").write_text(json.dumps(config))
    mask = load_config(Layout(tmp_path), {}).mask
    assert SECRET not in mask(f"trouble with {SECRET}: {json.dumps(config)}")


def test_c19_a_secret_named_by_a_variable_is_masked_and_shown_by_its_name(tmp_path: Path) -> None:
    config = {
        "mcp": {"servers": {"x": {"command": "srv", "args": ["${HIDDEN}"]}}},
        "adapters": {"a": "${HIDDEN}"},
    }
    (tmp_path / "ship.json").write_text(json.dumps(config))
    assert SECRET not in load_config(Layout(tmp_path), {"HIDDEN": SECRET}).mask(SECRET)
    shown: Any = hide_secrets(config, Mask(()))
    assert shown["adapters"]["a"] == shown["mcp"]["servers"]["x"]["args"][0] == "env:HIDDEN"


def test_c19_what_is_harmless_is_shown_as_it_is() -> None:
    config = {
        "name": "Mate",
        "language": "zh",
        "llm": {
            "provider": "openai",
            "model": "gpt-4.1",
            "baseUrl": "https://gate.example:8443/v1",
            "topP": 0.5,
        },
        "permissions": {
            "mode": "ask",
            "allow": ["exec(git status)"],
            "admins": ["telegram:42"],
            "network": True,
        },
        "context": {"profiles": {"mine": ["core", "memory"]}, "sectionTokens": {"memory": 900}},
        "mcp": {
            "servers": {
                "x": {
                    "command": "npx",
                    "args": ["-y", "@scope/server-files", "--port", "./docs"],
                    "tools": ["look"],
                }
            }
        },
        "server": {"host": "127.0.0.1", "port": 7447},
    }
    assert hide_secrets(config, Mask(secret_values({}, config))) == config


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://api.example/v1", "https://api.example/v1"),
        ("https://ann:pw@api.example/v1", "https://•••@api.example/v1"),
        ("https://api.example/v1?key=abc&b#c", "https://api.example/v1?key=•••&•••#•••"),
        ("https://api.example/T0KEN0/sse", "https://api.example/•••/sse"),
        ("no address", "•••"),
    ],
)
def test_c19_of_an_address_only_whom_it_reaches_is_shown(address: str, shown: str) -> None:
    assert hide_address(address) == shown
    config = {"llm": {"baseUrl": address}}
    assert hide_secrets(config, lambda text: text) == {"llm": {"baseUrl": shown}}


def test_c19_arguments_in_the_wrong_place_and_behind_a_telling_option_are_hidden() -> None:
    server = {"command": "npx --with my.word", "args": ["--token", "my.word", "--port", "./docs"]}
    shown = {"command": "set", "args": ["--token", "set", "--port", "./docs"]}
    config = {"mcp": {"servers": {"x": server}}}
    assert hide_secrets(config, lambda text: text) == {"mcp": {"servers": {"x": shown}}}


@given(
    st.recursive(
        st.just(SECRET) | st.booleans() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_c19_an_unknown_shape_never_shows_a_string(value: Any) -> None:
    assert SECRET not in json.dumps(hide_secrets({"adapters": value, "env": value, "zzz": value}, Mask(())))


def leaves(struct: type[msgspec.Struct], place: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(struct):
        here = (*place, field.encode_name)
        inner = field.type
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            found += leaves(inner, here)
        else:
            found.append(here)
    return found


def test_c19_every_field_of_the_configuration_was_decided_on() -> None:
    """A new field is hidden until someone writes it down as harmless here and in the data file."""
    hidden = {
        place
        for place in leaves(Config)
        if not any(
            is_public((*place, *more)) or is_address((*place, *more)) for more in ((), ("*",), ("*", "*"))
        )
    }
    sides = ("transcriber", "speaker")
    keys: set[tuple[str, ...]] = {("webSearch", "apiKey"), *(("speech", side, "apiKey") for side in sides)}
    # What lies deeper is decided on key by key.
    deeper = {("mcp", "servers"), ("adapters",), ("budget", "members"), ("routing",), ("team", "limits")}
    # An address with a password in it, and how people of a team sign in.
    keys |= {("store",), ("team", "oidc")}
    assert hidden == {("llm", "apiKey"), ("llm", "fallback"), ("env",)} | deeper | keys
    assert {field.encode_name for field in msgspec.structs.fields(Llm)} >= {"apiKey", "baseUrl"}
