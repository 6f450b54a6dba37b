"""Metadata that lies leads nowhere: no login goes to an address that cannot be trusted (W6)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from shipmate.tools.mcp.auth.discovery import clean_scope, discover, read_challenge
from shipmate.tools.mcp.auth.endpoint import LoginError, check_endpoint, covers
from tests.support.mcp_host import Asked, Reply, script


class Liar:
    """A server whose metadata can be changed."""

    def __init__(self) -> None:
        self.base = ""
        self.resource: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.raw: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    def begin(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.resource = {"resource": self.url, "authorization_servers": [f"{self.base}/as"]}
        self.metadata = {
            "issuer": f"{self.base}/as",
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "code_challenge_methods_supported": ["S256"],
        }

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        self.paths.append(asked.path)
        if asked.path in self.redirects:
            reply.send(302, location=self.redirects[asked.path])
        elif asked.path in self.raw:
            reply.send(200, self.raw[asked.path])
        elif asked.path == "/.well-known/oauth-protected-resource/mcp":
            reply.send(200, self.resource)
        elif asked.path == "/.well-known/oauth-authorization-server/as":
            reply.send(200, self.metadata)
        else:
            reply.send(404, b"nothing")


@pytest.fixture
async def liar() -> AsyncIterator[Liar]:
    made = Liar()
    async with script(made) as port:
        made.begin(port)
        yield made


async def test_w6_honest_metadata_is_followed(liar: Liar) -> None:
    found = await discover(liar.url, {"scope": "read write"})
    assert (found.resource, found.issuer, found.scope) == (liar.url, f"{liar.base}/as", "read write")


async def test_w6_openid_connect_and_servers_that_are_their_own_issuer_are_found(liar: Liar) -> None:
    liar.resource = {}
    liar.raw["/.well-known/oauth-protected-resource/mcp"] = b"<html>"
    liar.metadata |= {"issuer": liar.base}
    liar.raw["/.well-known/openid-configuration"] = json.dumps(liar.metadata).encode()
    found = await discover(liar.url, {})
    assert (found.resource, found.issuer) == (liar.url, liar.base)


async def test_w6_metadata_of_another_host_is_not_asked_for(liar: Liar) -> None:
    async with script(liar) as other:
        challenge = {
            "resource_metadata": f"http://127.0.0.1:{other}/.well-known/oauth-protected-resource/mcp"
        }
        with pytest.raises(LoginError, match="another host"):
            await discover(liar.url, challenge)
    assert liar.paths == []


@pytest.mark.parametrize(
    "resource",
    [None, "", 7, "http://127.0.0.1:1/mcp", "https://bank.example/mcp", "{base}/mcp2", "{base}/mcp/x"],
)
async def test_w6_metadata_of_another_resource_is_not_used(liar: Liar, resource: Any) -> None:
    liar.resource["resource"] = resource.format(base=liar.base) if isinstance(resource, str) else resource
    with pytest.raises(LoginError, match="another resource"):
        await discover(liar.url, {})


@pytest.mark.parametrize(
    "issuer", ["http://evil.example/as", "javascript:alert(1)", "file:///etc/passwd", 7, ""]
)
async def test_w6_an_issuer_that_cannot_be_trusted_is_not_asked(liar: Liar, issuer: Any) -> None:
    liar.resource["authorization_servers"] = [issuer]
    with pytest.raises(LoginError, match="authorization server"):
        await discover(liar.url, {})


@pytest.mark.parametrize("issuer", [None, "https://other.example", "{base}", "{base}/as/more"])
async def test_w6_metadata_of_another_issuer_is_not_used(liar: Liar, issuer: Any) -> None:
    liar.metadata["issuer"] = issuer.format(base=liar.base) if issuer else issuer
    with pytest.raises(LoginError, match="another issuer"):
        await discover(liar.url, {})


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
@pytest.mark.parametrize(
    "address",
    [
        "http://evil.example/token",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://user:word@evil.example/",
        "https://evil.example/#x",
        "https://evil.example/\r\nx: y",
        "https://",
        "//evil.example/",
        "x" * 3000,
        ["https://evil.example"],
    ],
)
async def test_w6_addresses_that_cannot_be_trusted_are_refused(liar: Liar, name: str, address: Any) -> None:
    liar.metadata[name] = address
    with pytest.raises(LoginError, match=name.replace("_", " ")):
        await discover(liar.url, {})


@pytest.mark.parametrize("methods", [None, [], ["plain"], "S256"])
async def test_w6_without_pkce_there_is_no_login(liar: Liar, methods: Any) -> None:
    liar.metadata["code_challenge_methods_supported"] = methods
    with pytest.raises(LoginError, match="PKCE"):
        await discover(liar.url, {})


async def test_w6_redirects_of_metadata_are_not_followed(liar: Liar) -> None:
    elsewhere: list[Asked] = []

    async def other(asked: Asked, reply: Reply) -> None:
        elsewhere.append(asked)
        reply.send(200, liar.metadata)

    async with script(other) as port:
        for path in ("oauth-authorization-server", "openid-configuration"):
            liar.redirects[f"/.well-known/{path}/as"] = f"http://127.0.0.1:{port}/x"
        with pytest.raises(LoginError, match="does not say how"):
            await discover(liar.url, {})
    assert elsewhere == []


@pytest.mark.parametrize("body", [b"x" * 2_000_000, b"[" * 200_000, b"\xff", b"[]", b"null", b"7"])
async def test_w6_metadata_that_is_none_costs_little(liar: Liar, body: bytes) -> None:
    for path in ("oauth-authorization-server", "openid-configuration"):
        liar.raw[f"/.well-known/{path}/as"] = body
    with pytest.raises(LoginError):
        await discover(liar.url, {})


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:80/", "https://127.0.0.1/", "https://localhost/x", "http://[::1]/"]
)
def test_w6_a_remote_server_leads_to_no_door_of_this_machine(address: str) -> None:
    with pytest.raises(LoginError):
        check_endpoint(address, "token endpoint", "https://far.example/mcp")
    assert check_endpoint(address, "token endpoint", "http://127.0.0.1:9/mcp") == address


def test_w6_a_resource_covers_itself_and_what_lies_below() -> None:
    assert covers("https://a.example", "https://a.example/mcp")
    assert covers("https://a.example/", "https://A.example:443/mcp")
    assert not covers("https://a.example/mcp", "https://a.example/mcpx")
    assert not covers("nonsense", "https://a.example/mcp")


def test_w6_challenges_are_read_as_far_as_they_can_be() -> None:
    read = read_challenge('Bearer realm="x", resource_metadata="https://a/b", scope="a b", error=odd')
    assert read == {"realm": "x", "resource_metadata": "https://a/b", "scope": "a b"}
    assert read_challenge("Basic x") == {}
    assert read_challenge("") == {}
    assert read_challenge("Bearer " + "a=" * 100_000) == {}
    assert clean_scope('a:b "c" é d.e') == "a:b d.e"
