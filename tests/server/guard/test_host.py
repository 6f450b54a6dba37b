"""Hosts and origins: what is ours is let in, everything else is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.server.guard.host import AllowedHosts, is_loopback, parse_host

OURS = [
    "localhost",
    "localhost:7447",
    "LocalHost:1",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.9.9.9",
    "[::1]",
    "[::1]:7447",
]
MAPPED = ["[::ffff:127.0.0.1]:80", "[0:0:0:0:0:0:0:1]"]
FOREIGN = [
    "",
    "evil.example",
    "localhost.evil.example",
    "localhost.",
    "127.0.0.1.evil.example",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "::1",
    "::1:7447",
    "[::1",
    "[::1]evil",
    "[::1]:",
    "[fe80::1%25eth0]",
    "[127.0.0.1]",
    "localhost:",
    "localhost:http",
    "localhost:999999",
    "user@localhost",
    "localhost/evil",
    "localhost,evil.example",
    "localhost evil",
    "10.0.0.5",
    "[2001:db8::1]",
]


@pytest.mark.parametrize("host", OURS + MAPPED)
def test_loopback_hosts_are_admitted(host: str) -> None:
    assert AllowedHosts("127.0.0.1").admits_host(host)


@pytest.mark.parametrize("host", FOREIGN)
def test_foreign_hosts_are_not(host: str) -> None:
    assert not AllowedHosts("127.0.0.1").admits_host(host)


def test_any_address_is_admitted_when_listening_beyond_loopback_but_names_only_when_listed() -> None:
    hosts = AllowedHosts("0.0.0.0", ["ship.example"])
    assert hosts.admits_host("10.0.0.5:7447")
    assert hosts.admits_host("[2001:db8::1]")
    assert hosts.admits_host("SHIP.example:443")
    assert not hosts.admits_host("evil.example")


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:7447", "localhost:7447"),
        ("http://127.0.0.1:7447", "127.0.0.1:7447"),
        ("http://[::1]:7447", "[::1]:7447"),
        ("http://[0:0::1]:7447", "[::1]:7447"),
        ("https://ship.example", "ship.example"),
        ("http://localhost", "localhost:80"),
    ],
)
def test_our_own_origin_is_admitted(origin: str, host: str) -> None:
    assert AllowedHosts("127.0.0.1").admits_origin(origin, host)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "http://localhost:3000",
        "http://127.0.0.1:7447",
        "http://evil.example",
        "http://localhost:7447.evil.example",
        "http://localhost:7447@evil.example",
        "http://localhost:7447/path",
        "file://",
        "chrome-extension://abc",
        "ftp://localhost:7447",
    ],
)
def test_any_other_origin_is_not(origin: str) -> None:
    assert not AllowedHosts("127.0.0.1").admits_origin(origin, "localhost:7447")


@given(st.text(max_size=40))
def test_parsing_never_fails_and_never_admits_what_it_cannot_read(text: str) -> None:
    parsed = parse_host(text)
    if parsed is None:
        assert not AllowedHosts("0.0.0.0").admits_host(text)
    else:
        assert parsed.name in text.lower()


def test_loopback_addresses_are_told_from_others() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "ship.example")))
