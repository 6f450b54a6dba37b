"""Signing in at an OpenID provider: oidc-provider as the real one, and one that lies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from shipmate.server.guard.oidc import OidcSignIn
from shipmate.tools.mcp.auth.endpoint import LoginError
from shipmate.workspace.settings.team_settings import OidcSettings
from tests.support.mcp_host import host
from tests.support.node import node_command
from tests.support.page import reserve_port
from tests.support.server import Served, make_site, make_workspace, serving
from tests.support.team import client

ROLES = [
    {"claim": "groups", "value": "captains", "role": "admin"},
    {"claim": "email", "value": "ben@example.org", "role": "admin"},
    {"claim": "groups", "value": "crew", "role": "member"},
]
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@asynccontextmanager
async def provider(redirect_uri: str) -> AsyncGenerator[tuple[str, asyncio.subprocess.Process]]:
    """Run oidc-provider, and return its address."""
    node, folder = node_command()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        node, "oidc.mjs", redirect_uri, cwd=folder, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        while not (line := (await process.stdout.readline()).decode().strip()).startswith("http"):
            assert process.returncode is None
        yield line, process
    finally:
        process.terminate()
        await process.wait()


async def become(process: asyncio.subprocess.Process, who: str) -> None:
    """Say who comes to the provider from now on."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{who}\n".encode())
    while (await process.stdout.readline()).strip() != b"ready":
        pass


async def walk(served: Served, browser: httpx2.AsyncClient) -> httpx2.Response:
    """Go where a browser is sent, until it comes back to us or stays."""
    address = f"{served.address}/api/oidc/start"
    for _ in range(9):
        response = await browser.get(address)
        if response.status_code not in (302, 303):
            return response
        address = str(httpx2.URL(address).join(response.headers["location"]))
        if address == f"{served.address}/":
            return response
    raise AssertionError(address)


async def test_people_of_a_company_sign_in_with_the_role_their_claims_give(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    site = make_site(tmp_path)
    with reserve_port() as held:
        port = held.getsockname()[1]
    redirect = f"http://127.0.0.1:{port}/api/oidc/callback"
    async with provider(redirect) as (issuer, process):
        settings = {"issuer": issuer, "clientId": "shipmate", "clientSecret": "kept + secret", "roles": ROLES}
        (tmp_path / "ship.json").write_bytes(msgspec.json.encode({"team": {"oidc": settings}}))
        (tmp_path / "Agent.md").unlink()
        async with serving(site, port=port) as served:
            async with client(served) as browser:
                assert (await browser.get("/api/login")).json() == {"password": False, "oidc": "OpenID"}
                back = await walk(served, browser)
                assert (back.status_code, back.headers["location"]) == (303, "/"), back.text
                assert "HttpOnly; SameSite=Strict" in back.headers["set-cookie"]
                who = (await browser.get("/api/session")).json()["user"]
                assert who == {"id": "anna", "name": "Anna A.", "role": "admin", "isOwner": False}
            # Another person of the same name, one who is no admin by an address nobody verified, a stranger.
            told: dict[str, Any] = {}
            for person in ("eve", "ben", "sam"):
                await become(process, person)
                async with client(served) as browser:
                    back = await walk(served, browser)
                    session = await browser.get("/api/session")
                    told[person] = (back.status_code, session.json().get("user", {}).get("role"))
            assert told == {"eve": (401, None), "ben": (303, "member"), "sam": (401, None)}
            assert [user.id for user in await site.team.users.list()] == ["anna", "ben"]
            # Nothing of a sign-in that was begun elsewhere, or nowhere, is taken.
            async with client(served) as browser:
                for query in ("code=x&state=y", "state=&code=", "error=access_denied&state=y"):
                    assert (await browser.get(f"/api/oidc/callback?{query}")).status_code == 401


class Liar:
    """A provider that says what a test has it say."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.claims: dict[str, Any] = {}
        self.alg = "RS256"
        self.key: Any = KEY
        self.metadata: dict[str, Any] = {}
        self.listed: list[dict[str, Any]] = [RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)]
        self.more: dict[str, Any] = {}

    async def describe(self, _: Request) -> JSONResponse:
        names = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "jwks"}
        found = {name: f"{self.issuer}/{place}" for name, place in names.items()}
        return JSONResponse({"issuer": self.issuer, **found, **self.metadata})

    async def give(self, _: Request) -> JSONResponse:
        token = jwt.encode(self.claims, self.key, self.alg)
        return JSONResponse({"id_token": token, "access_token": "a", **self.more})

    async def list_keys(self, _: Request) -> JSONResponse:
        return JSONResponse({"keys": self.listed})

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.describe),
                Route("/token", self.give, methods=["POST"]),
                Route("/jwks", self.list_keys),
            ]
        )


LIES: dict[str, dict[str, Any]] = {
    "no seal": {"alg": "none", "key": None},
    "the public key as a shared secret": {"alg": "HS256", "key": b"x" * 32},
    "another key": {"key": OTHER},
    "another audience": {"aud": "somebody"},
    "two audiences without a party": {"aud": ["shipmate", "somebody"]},
    "another party": {"azp": "somebody"},
    "another issuer": {"iss": "https://evil.example"},
    "another nonce": {"nonce": "other"},
    "no nonce": {"nonce": None},
    "too old": {"exp": 1},
    "no role": {"groups": ["strangers"]},
    "an issuer in the answer": {"answer": {"iss": "https://evil.example"}},
    "another state": {"answer": {"state": "other"}},
    "an issuer that is another": {"metadata": {"issuer": "https://evil.example"}},
    "an endpoint that is not safe": {"metadata": {"token_endpoint": "http://evil.example/token"}},
    "an issuer that must be named": {"metadata": {"authorization_response_iss_parameter_supported": True}},
}


@pytest.mark.parametrize("lie", ["", *LIES])
async def test_a_provider_that_lies_lets_nobody_in(liar: Liar, lie: str) -> None:
    wrong = dict(LIES.get(lie, {}))
    settings = msgspec.convert({"issuer": liar.issuer, "clientId": "shipmate", "roles": ROLES}, OidcSettings)
    sign_in = OidcSignIn(settings, "http://127.0.0.1/api/oidc/callback", lambda text: f"seal{hash(text)}")
    address, kept = await sign_in.begin()
    asked = {name: value for name, (value,) in parse_qs(urlsplit(address).query).items()}
    assert asked["code_challenge_method"] == "S256"
    answer = {"code": "c", "state": asked["state"], **wrong.pop("answer", {})}
    liar.alg, liar.key = wrong.pop("alg", "RS256"), wrong.pop("key", KEY)
    liar.metadata = wrong.pop("metadata", {})
    now = int(time.time())
    claims = {
        "iss": liar.issuer,
        "aud": "shipmate",
        "sub": "1",
        "nonce": asked["nonce"],
        "iat": now,
        "exp": now + 60,
        "groups": ["crew"],
        "preferred_username": "Ann@Example.org",
    }
    liar.claims = {name: value for name, value in {**claims, **wrong}.items() if value is not None}
    if not lie:
        found = await sign_in.end(kept, answer)
        assert (found.user_id, found.role, found.identity) == (
            "ann-example.org",
            "member",
            f"{liar.issuer} 1",
        )
        with pytest.raises(LoginError, match="not begun in this browser"):
            await sign_in.end(kept[:-1], answer)
    else:
        with pytest.raises(LoginError):
            await sign_in.end(kept, answer)


@pytest.fixture
async def liar() -> AsyncGenerator[Liar]:
    with reserve_port() as held:
        port = held.getsockname()[1]
    made = Liar(f"http://127.0.0.1:{port}")
    async with host(made.app(), port):
        yield made
