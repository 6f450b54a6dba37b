from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import ToolError
from shipmate.tools.web.fetcher import is_public, resolve_public


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200",
        "127.0.0.1", "127.8.8.8", "168.63.129.16", "169.254.169.254", "169.254.0.1", "172.16.0.1",
        "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::",
        "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
        "::ffff:0:7f00:1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "100::1",
        "2001::1", "2001:0:7f00:1::", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1",
        "2002:808:808::1", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1",
        "ff02::1", "2606:4700::5efe:7f00:1", "4000::1", "2606:4700:4700::1111%eth0",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"],
)
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@given(st.ip_addresses(v=4))
def test_wrapping_never_makes_an_address_public(address: object) -> None:
    assert isinstance(address, IPv4Address)
    number = int(address)
    for wrapped in (0xFFFF << 32 | number, 0x64FF9B << 96 | number):
        assert is_public(IPv6Address(wrapped)) == is_public(address)
    for wrapped in (number, 0x2002 << 112 | number << 80, 0x20010000 << 96 | (number ^ 0xFFFFFFFF)):
        assert not is_public(IPv6Address(wrapped))


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "printer.local",
        "metadata.google.internal",
        "x.corp",
        "nas.lan",
        "",
    ],
)
async def test_local_names_are_refused_without_asking(host: str) -> None:
    async def look_up(_host: str, _port: int) -> list[str]:
        raise AssertionError("no name server may be asked")

    with pytest.raises(ToolError, match="public internet"):
        await resolve_public(host, 80, look_up)


@pytest.mark.parametrize("answer", [["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["2606:4700::1", "::1"], []])
async def test_one_bad_answer_refuses_the_host(answer: list[str]) -> None:
    async def look_up(_host: str, _port: int) -> list[str]:
        return answer

    with pytest.raises(ToolError, match="public internet"):
        await resolve_public("rebind.example", 80, look_up)
