"""Signing in and out by a password, tokens of one's own, and what an attacker tries there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest

from tests.support.server import Served, make_site, make_workspace, serving
from tests.support.team import PASSWORD, client


@pytest.fixture
async def signed(tmp_path: Path) -> AsyncGenerator[Served]:
    """Serve a workspace that has a member with a password, and needs no model."""
    (make_workspace(tmp_path) / "Agent.md").unlink()
    async with serving(make_site(tmp_path)) as running:
        await running.site.team.add("anna", "member", name="Anna", password=PASSWORD)
        yield running


async def enter(browser: httpx2.AsyncClient, password: str = PASSWORD, user: str = "anna") -> httpx2.Response:
    return await browser.post("/api/login", json={"user": user, "password": password})


async def trust(browser: httpx2.AsyncClient) -> dict[str, str]:
    """Return the header with which a page shows that it is our own."""
    return {"x-shipmate-csrf": (await browser.get("/api/session")).json()["csrf"]}


async def test_a_session_is_made_anew_and_ends_when_its_owner_says_so(signed: Served) -> None:
    async with client(signed) as one, client(signed) as two:
        assert (await one.get("/api/login")).json() == {"password": True, "oidc": None}
        # A cookie that somebody else planted is not taken over.
        one.cookies.set(signed.site.token.cookie, "shm.anna.000000000000.planted", domain="127.0.0.1")
        assert (await one.get("/api/session")).status_code == 401
        entered = await enter(one)
        assert entered.status_code == 204
        assert "HttpOnly; SameSite=Strict" in entered.headers["set-cookie"]
        assert "planted" not in entered.headers["set-cookie"]
        one.cookies.clear()
        one.cookies.extract_cookies(entered)
        await enter(two)
        who = (await one.get("/api/session")).json()
        assert who["user"] == {"id": "anna", "name": "Anna", "role": "member", "isOwner": False}
        # Without the header of our own page nothing is changed.
        assert (await one.post("/api/logout", json={})).status_code == 403
        assert (await one.post("/api/account/tokens", json={})).status_code == 403
        left = await one.post("/api/logout", json={}, headers=await trust(one))
        assert "Max-Age=0" in left.headers["set-cookie"]
        one.cookies.extract_cookies(entered)
        assert (await one.get("/api/session")).status_code == 401
        assert (await two.get("/api/session")).status_code == 200
        await enter(one)
        await two.post("/api/logout", json={"everywhere": True}, headers=await trust(two))
        assert [(await each.get("/api/session")).status_code for each in (one, two)] == [401, 401]


async def test_a_token_is_shown_once_and_nowhere_else_and_taken_back(signed: Served) -> None:
    async with client(signed) as browser:
        await enter(browser)
        own = await trust(browser)
        made = (await browser.post("/api/account/tokens", json={"label": "ci"}, headers=own)).json()
        listed = (await browser.get("/api/account/tokens")).json()
        assert (listed["tokens"][0]["label"], listed["tokens"][0]["usedAt"], listed["sessions"]) == (
            "ci",
            None,
            1,
        )
        secret = made["token"].rpartition(".")[2]
        kept = signed.site.layout.users.read_text()
        assert secret not in str(listed) + kept
        assert PASSWORD not in kept
        async with client(signed, authorization=f"Bearer {made['token']}") as program:
            assert (await program.get("/api/session")).json()["user"]["id"] == "anna"
            assert (await browser.get("/api/account/tokens")).json()["tokens"][0]["usedAt"] is not None
            # Only in its header: in an address it would stand in logs, as a cookie it would need no CSRF.
            async with client(signed) as stranger:
                assert (await stranger.get(f"/api/session?token={made['token']}")).status_code == 401
                await stranger.get(f"/?token={made['token']}")
                assert (await stranger.get("/api/session")).status_code == 401
                stranger.cookies.set(signed.site.token.cookie, made["token"], domain="127.0.0.1")
                assert (await stranger.get("/api/session")).status_code == 401
            changed = f"{made['token'][:-1]}{'A' if made['token'][-1] != 'A' else 'B'}"
            async with client(signed, authorization=f"Bearer {changed}") as forger:
                assert (await forger.get("/api/session")).status_code == 401
            taken = await browser.delete(f"/api/account/tokens/{made['id']}", headers=own)
            assert taken.status_code == 204
            assert (await program.get("/api/session")).status_code == 401


async def test_nobody_gives_themselves_a_role_and_guessing_is_slow(signed: Served) -> None:
    async with client(signed) as browser:
        await enter(browser)
        own = await trust(browser)
        for method, path, body in (
            ("POST", "/api/users", {"id": "eve", "role": "admin", "password": PASSWORD}),
            ("PATCH", "/api/users/anna", {"role": "admin"}),
            ("POST", "/api/users/anna/tokens", {}),
        ):
            assert (await browser.request(method, path, json=body, headers=own)).status_code == 403
        for body in ({"label": "x", "role": "admin"}, {"label": "x", "kind": "session"}):
            assert (await browser.post("/api/account/tokens", json=body, headers=own)).status_code == 400
        both = {"current": PASSWORD, "password": PASSWORD + "2", "role": "admin"}
        assert (await browser.post("/api/account/password", json=both, headers=own)).status_code == 400
        assert (await signed.site.team.get("anna")).role == "member"
        # A changed password ends every other session; this one goes on under another cookie.
        both = {"current": PASSWORD, "password": PASSWORD + "2"}
        assert (await browser.post("/api/account/password", json=both, headers=own)).status_code == 204
        assert (await browser.get("/api/session")).status_code == 200
        assert (await signed.site.team.get("anna")).keys[0].kind == "session"
        assert len((await signed.site.team.get("anna")).keys) == 1
    # A name that there is and one that there is not are told alike; then both have to wait.
    signed.site.failures.burst = 1000
    async with client(signed) as guesser:
        wrong = [await enter(guesser, "wrong password", user) for user in ("anna", "nobody")]
        assert {each.status_code for each in wrong} == {401}
        assert wrong[0].content == wrong[1].content
        for _ in range(10):
            signed.site.guesses.wait("anna")
        assert (await enter(guesser)).status_code == 429
        # The owner is never locked out by it.
        assert (await signed.client.get("/api/users")).status_code == 200
    await signed.site.team.alter("anna", is_disabled=True)
    signed.site.guesses.burst = 1000
    async with client(signed) as browser:
        assert (await enter(browser, PASSWORD + "2")).status_code in (401, 429)
