"""The guard, over every route there is: foreign hosts, foreign origins and strangers are refused."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.server.guard.access_token import Tickets, Token
from shipmate.server.guard.host import AllowedHosts
from shipmate.server.guard.rate import RateLimit
from shipmate.server.guard.security import BODY_LIMIT, BODY_LIMITS, Guard, is_guarded
from shipmate.server.routes import ROUTERS
from shipmate.team.team import open_team
from shipmate.workspace.layout import Layout
from tests.support.server import Served, make_site, serving

FOREIGN_HOSTS = [
    "evil.example",
    "localhost.evil.example:80",
    "127.0.0.1.nip.io",
    "10.0.0.1",
    "[2001:db8::1]",
    "[::1",
    "::1",
    "0",
    "2130706433",
    "localhost@evil.example",
]
FOREIGN_ORIGINS = [
    "null",
    "http://evil.example",
    "http://localhost:1",
    "https://127.0.0.1",
    "file://",
    "chrome-extension://abc",
    "http://[::1]:1",
]


def routes() -> Iterator[tuple[str, str]]:
    """Go over every method and address the application answers."""
    for route in (route for router in ROUTERS for route in router.routes):
        assert isinstance(route, APIRoute)
        path = route.path
        for name in route.param_convertors:
            path = path.replace("{" + name + "}", "x")
        for method in sorted(route.methods or ()):
            yield method, path


@pytest.fixture
def every() -> list[tuple[str, str]]:
    found = list(routes())
    assert len(found) > 50
    return found


def refused(response: httpx2.Response, status: int, code: str) -> bool:
    if response.status_code != status or response.request.method == "HEAD":
        return response.status_code == status
    error = response.json()["error"]
    if response.request.url.path.startswith("/v1/"):
        # Programs get the shape of OpenAI's errors.
        return set(error) == {"message", "type", "param", "code"} and bool(error["message"])
    return error["code"] == code


async def test_foreign_hosts_are_refused_everywhere(served: Served, every: list[tuple[str, str]]) -> None:
    for number, (method, path) in enumerate(every):
        host = FOREIGN_HOSTS[number % len(FOREIGN_HOSTS)]
        response = await served.client.request(method, path, headers={"host": host})
        assert refused(response, 421, "host"), (method, path, host, response.text)


async def test_every_foreign_host_form_is_refused(served: Served) -> None:
    for host in FOREIGN_HOSTS:
        for path in ("/healthz", "/", "/api/session", "/api/login"):
            response = await served.client.get(path, headers={"host": host})
            assert refused(response, 421, "host"), (path, host)


async def test_our_own_host_forms_are_served(served: Served) -> None:
    port = served.address.rpartition(":")[2]
    for host in (
        f"localhost:{port}",
        f"127.0.0.1:{port}",
        f"[::1]:{port}",
        "[::ffff:127.0.0.1]",
        "LOCALHOST",
    ):
        response = await served.client.get("/api/session", headers={"host": host, "origin": f"http://{host}"})
        assert response.status_code == 200, host


async def test_an_ipv6_server_answers_under_its_address(tmp_path: Path) -> None:
    async with serving(make_site(tmp_path), listen="::1") as served:
        response = await served.client.get("/api/session", headers={"origin": served.address})
        assert response.status_code == 200
        assert refused(await served.client.get("/api/session", headers={"host": "evil.example"}), 421, "host")


async def test_foreign_origins_are_refused_everywhere(served: Served, every: list[tuple[str, str]]) -> None:
    for number, (method, path) in enumerate(every):
        origin = FOREIGN_ORIGINS[number % len(FOREIGN_ORIGINS)]
        response = await served.client.request(method, path, headers={"origin": origin})
        assert refused(response, 403, "origin"), (method, path, origin)
        assert "access-control-allow-origin" not in response.headers


async def test_a_browser_on_another_site_is_refused_everywhere(
    served: Served, every: list[tuple[str, str]]
) -> None:
    for method, path in every:
        for site in ("cross-site", "same-site"):
            response = await served.client.request(method, path, headers={"sec-fetch-site": site})
            assert refused(response, 403, "origin"), (method, path, site)


async def test_a_link_from_another_site_may_open_the_page_only(served: Served) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert (await served.client.get("/", headers=headers)).status_code != 403
    assert refused(await served.client.get("/api/session", headers=headers), 403, "origin")
    assert refused(await served.client.post("/api/login", headers=headers), 403, "origin")


@pytest.mark.parametrize(
    "credential", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic eA=="}]
)
async def test_strangers_are_refused_everywhere(
    served: Served, every: list[tuple[str, str]], credential: dict[str, str]
) -> None:
    statuses: set[int] = set()
    async with served.stranger(**credential) as client:
        for method, path in every:
            if is_guarded(path):
                response = await client.request(method, path)
                # After many failures in a row a stranger is told to wait instead.
                assert refused(response, 401, "auth") or refused(response, 429, "busy"), (method, path)
                statuses.add(response.status_code)
    assert statuses == {401, 429}


async def test_only_the_page_login_and_health_are_open(served: Served, every: list[tuple[str, str]]) -> None:
    open_paths = {path for _, path in every if not is_guarded(path)}
    # A platform has no session with us: its adapter checks what it signed. Shared files have addresses that
    # nobody can guess.
    known = {"/healthz", "/readyz", "/api/login", "/docs.css", "/", "/hooks/x", "/shared/x"}
    # Who comes from an OpenID provider brings what is checked there.
    assert open_paths == {*known, "/api/oidc/start", "/api/oidc/callback"}


async def test_a_guesser_never_locks_the_owner_out(served: Served) -> None:
    async with served.stranger() as client:
        responses = [await client.get("/api/session") for _ in range(40)]
    assert responses[-1].status_code == 429
    assert int(responses[-1].headers["retry-after"]) >= 1
    assert (await served.client.get("/api/session")).status_code == 200


async def test_a_ticket_becomes_a_cookie_once_and_leaves_the_address(served: Served) -> None:
    ticket = served.site.tickets.issue()
    async with served.stranger() as client:
        response = await client.get(f"/?token={ticket}")
        assert (response.status_code, response.headers["location"]) == (303, "/")
        cookie = response.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert (await client.get("/api/session")).status_code == 200
    async with served.stranger() as client:
        again = await client.get(f"/?token={ticket}")
        assert (again.status_code, again.headers["location"]) == (303, "/")
        assert "set-cookie" not in again.headers
        assert (await client.get("/api/session")).status_code == 401


async def test_tokens_in_a_query_open_nothing(served: Served) -> None:
    token = served.site.token.value
    async with served.stranger() as client:
        assert "set-cookie" not in (await client.get(f"/?token={token}")).headers
        assert (await client.get(f"/api/session?token={token}")).status_code == 401
        assert (await client.get(f"/api/session?token={served.site.tickets.issue()}")).status_code == 401


async def test_a_cookie_changes_things_only_with_its_csrf_value(
    served: Served, every: list[tuple[str, str]]
) -> None:
    async with served.stranger() as client:
        await client.get(f"/?token={served.site.tickets.issue()}")
        for method, path in every:
            if method in ("GET", "HEAD") or not is_guarded(path):
                continue
            for headers in ({}, {"x-shipmate-csrf": "wrong"}):
                assert refused(await client.request(method, path, headers=headers), 403, "csrf"), path
        csrf = (await client.get("/api/session")).json()["csrf"]
        made = await client.post("/api/threads", json={}, headers={"x-shipmate-csrf": csrf})
        assert made.status_code == 201
    async with served.stranger() as other:
        await other.get(f"/?token={served.site.tickets.issue()}")
        stolen = await other.post("/api/threads", json={}, headers={"x-shipmate-csrf": csrf})
        assert refused(stolen, 403, "csrf")


async def test_a_wrong_token_is_not_rescued_by_a_cookie(served: Served) -> None:
    async with served.stranger() as client:
        await client.get(f"/?token={served.site.tickets.issue()}")
        response = await client.get("/api/session", headers={"authorization": "Bearer wrong"})
        assert response.status_code == 401


async def test_logging_in_with_the_token_gives_a_cookie(served: Served) -> None:
    async with served.stranger() as client:
        assert (await client.post("/api/login", json={"token": "guess"})).status_code == 401
        response = await client.post("/api/login", json={"token": served.site.token.value})
        assert response.status_code == 204
        assert (await client.get("/api/session")).status_code == 200
        began = time.monotonic()
        guesses = await asyncio.gather(
            *(client.post("/api/login", json={"token": "guess"}) for _ in range(100))
        )
        # Twenty at once and one every two seconds, however long the machine takes over them.
        let_in = 20 + (time.monotonic() - began) / 2
        counts = Counter(guess.status_code for guess in guesses)
        assert counts.keys() == {401, 429}
        assert counts[401] <= let_in


async def test_changing_the_token_ends_every_session_at_once(served: Served) -> None:
    async with served.stranger() as client:
        await client.get(f"/?token={served.site.tickets.issue()}")
        assert (await client.get("/api/session")).status_code == 200
        served.site.layout.token.write_text("n" * 40)
        assert (await client.get("/api/session")).status_code == 401
    assert (await served.client.get("/api/session")).status_code == 401


async def test_bodies_past_the_limit_are_refused_declared_or_not(served: Served) -> None:
    async def drip() -> object:
        for _ in range(3):
            yield b"x" * BODY_LIMIT

    declared = await served.client.post("/api/threads", content=b"x" * (BODY_LIMIT + 1))
    assert refused(declared, 413, "too-large")
    streamed = await served.client.post(
        "/api/threads",
        content=drip(),  # pyright: ignore[reportArgumentType]  (an async generator is an async iterable)
        headers={"content-type": "application/json"},
    )
    assert refused(streamed, 413, "too-large")
    chat = await served.client.post("/api/chat", content=b" " * (BODY_LIMITS["/api/chat"] + 1))
    assert refused(chat, 413, "too-large")
    assert (await served.client.get("/api/session")).status_code == 200


async def test_every_answer_carries_the_headers_that_keep_a_browser_safe(served: Served) -> None:
    async with served.stranger() as stranger:
        answers = [
            await served.client.get("/api/session"),
            await stranger.get("/api/session"),
            await stranger.get("/"),
            await served.client.get("/nothing.js"),
            await served.client.get("/docs"),
        ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
    assert answers[0].headers["cache-control"] == "no-store"


async def test_websockets_are_not_spoken(served: Served) -> None:
    host, _, port = served.address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"GET /api/chat HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
    )
    await writer.drain()
    status = (await reader.readline()).split()[1]
    writer.close()
    await writer.wait_closed()
    assert status == b"401"


@pytest.mark.parametrize("path", ["/api/session", "/"])
async def test_h4_whoever_is_known_is_limited_too(tmp_path: Path, path: str) -> None:
    now = [0.0]
    token = Token.make(tmp_path / "token")

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("here")(scope, receive, send)

    guard = Guard(
        answer,
        token=token,
        tickets=Tickets(),
        team=open_team(Layout.at(tmp_path)),
        failures=RateLimit(rate=1, burst=1),
        allowed=AllowedHosts("127.0.0.1"),
        requests=RateLimit(rate=1, burst=3, clock=lambda: now[0]),
    )
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(guard),
        base_url="http://127.0.0.1",
        headers={"authorization": f"Bearer {token.value}"},
    ) as client:
        statuses = [(await client.get(path)).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        refusal = await client.get(path)
        assert int(refusal.headers["retry-after"]) >= 1
        now[0] += 1
        assert (await client.get(path)).status_code == 200
