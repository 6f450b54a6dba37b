"""Stand before every route: host, origin, limits, who is asking, CSRF, and the headers of every answer."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import math
from collections.abc import Mapping
from typing import Literal
from urllib.parse import parse_qs, unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shipmate.server.guard.access_token import SESSION_SECONDS, Tickets, Token
from shipmate.server.guard.error import ApiError, respond
from shipmate.server.guard.host import AllowedHosts
from shipmate.server.guard.rate import RateLimit
from shipmate.server.guard.viewer import VIEWER
from shipmate.team.right import THE_OWNER, Viewer
from shipmate.team.team import MARK, Team

SLASH = "\0"
CSRF_HEADER = "x-shipmate-csrf"
LOGIN = "/api/login"
SIGN_IN = "/api/oidc/"
OPEN_PATHS = frozenset({"/healthz", "/readyz", LOGIN, f"{SIGN_IN}start", f"{SIGN_IN}callback"})
GUARDED_PREFIXES = ("/api/", "/v1/")
GUARDED_PATHS = frozenset({"/api", "/v1", "/mcp", "/metrics", "/docs", "/openapi.json"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
BODY_LIMIT = 1_000_000
# `useChat` sends the whole conversation with every message, pictures included.
BODY_LIMITS: Mapping[str, int] = {
    "/api/chat": 40_000_000,
    "/api/uploads": 25_000_000,
    "/v1/chat/completions": 20_000_000,
    # A long conversation, edited as one text.
    "/api/priming/check": 16_000_000,
    "/api/priming/fix": 16_000_000,
    "/api/priming/script": 16_000_000,
}
DISCARD_LIMIT = 200_000_000
DISCARD_SECONDS = 10.0
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "media-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
# The frame in which diagrams are drawn: they bring styles, and it may reach nothing but its own script.
FRAME = "/diagram.html"
FRAME_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    "x-frame-options": "SAMEORIGIN",
}
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
}
Credential = Literal["bearer", "cookie"]
# Whoever comes to an address that is open to all has no right to anything else.
NOBODY = Viewer(uid="-", id="-", role="guest")


class Guard:
    """The guard of every route: only requests that were meant for us and come from someone we know pass."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: Token,
        tickets: Tickets,
        team: Team,
        failures: RateLimit,
        allowed: AllowedHosts,
        requests: RateLimit | None = None,
    ) -> None:
        self._app = app
        self._token = token
        self._tickets = tickets
        self._team = team
        self._allowed = allowed
        self._requests = requests or RateLimit(rate=200, burst=1000)
        self._failures = failures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            _keep_slashes(scope)
            await self._answer(scope, receive, _with_headers(scope, send))
        else:
            # There is no websocket here; closing before accepting makes the server answer 403.
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            self._check_source(scope, headers)
            if response := self._redeem(scope):
                await response(scope, receive, send)
                return
            asking = await self._check_person(scope, headers)
            receive = await _limit_body(scope, headers, receive)
        except ApiError as error:
            await respond(error, scope["path"])(scope, receive, send)
            return
        known = VIEWER.set(asking)
        try:
            await self._app(scope, receive, send)
        finally:
            VIEWER.reset(known)

    def _check_source(self, scope: Scope, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._allowed.admits_host(hosts[0]):
            raise ApiError(
                421,
                "host",
                "This server does not answer under that name.",
                "Use 127.0.0.1, or start with --allow-host.",
            )
        origins = headers.getlist("origin")
        if any(not self._allowed.admits_origin(origin, hosts[0]) for origin in origins):
            raise ApiError(403, "origin", "Another site may not use this server.", "Open the page itself.")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _is_page_load(scope, headers):
            raise ApiError(403, "origin", "Another site may not use this server.", "Open the page itself.")

    def _redeem(self, scope: Scope) -> RedirectResponse | None:
        """Change a ticket in the address for a cookie, and send the browser to a clean address."""
        query = scope["query_string"]
        if scope["path"] != "/" or scope["method"] != "GET" or b"token=" not in query:
            return None
        tickets = parse_qs(query.decode("latin-1")).get("token", [])
        response = RedirectResponse("/", 303, {"cache-control": "no-store"})
        if len(tickets) == 1 and self._tickets.redeem(tickets[0]):
            set_session(response.headers, self._token, scope)
        elif wait := self._failures.wait(caller_of(scope)):
            raise busy(wait)
        return response

    async def _check_person(self, scope: Scope, headers: Headers) -> Viewer:
        path: str = scope["path"]
        caller = caller_of(scope)
        if not is_guarded(path):
            if wait := self._requests.wait(caller):
                raise busy(wait)
            return NOBODY
        credential, asking = await self._credential(headers)
        if credential is None:
            # Only failures are counted here: whoever proves who they are is never locked out by a guesser.
            if wait := self._failures.wait(caller):
                raise busy(wait)
            raise ApiError(
                401,
                "auth",
                "This server does not know you.",
                "Open the address that `shipmate serve` printed, sign in, or send a token.",
                headers={"www-authenticate": "Bearer"},
            )
        if wait := self._requests.wait(f"user {asking.uid}" if asking.uid else caller):
            raise busy(wait)
        scope["shipmate.credential"] = credential
        if credential == "cookie" and scope["method"] not in SAFE_METHODS:
            self._check_csrf(headers)
        return asking

    async def _credential(self, headers: Headers) -> tuple[Credential | None, Viewer]:
        given = headers.get("authorization")
        if given is not None:
            # A wrong token is never rescued by a cookie: one request, one identity.
            scheme, _, value = given.partition(" ")
            if scheme.lower() != "bearer":
                return None, NOBODY
            if value.startswith(f"{MARK}."):
                found = await self._team.admit(value.strip(), "token")
                return ("bearer", Viewer.of(found[0])) if found else (None, NOBODY)
            return ("bearer", THE_OWNER) if self._token.admits(value.strip()) else (None, NOBODY)
        cookie = session_cookie(headers, self._token)
        if cookie.startswith(f"{MARK}."):
            found = await self._team.admit(cookie, "session")
            return ("cookie", Viewer.of(found[0])) if found else (None, NOBODY)
        return ("cookie", THE_OWNER) if cookie and self._token.admits_session(cookie) else (None, NOBODY)

    def _check_csrf(self, headers: Headers) -> None:
        expected = self._token.csrf(session_cookie(headers, self._token))
        if not hmac.compare_digest(expected.encode(), headers.get(CSRF_HEADER, "").encode()):
            raise ApiError(
                403,
                "csrf",
                f"The header {CSRF_HEADER} is missing or old.",
                "Reload the page; GET /api/session gives the value.",
            )


def _keep_slashes(scope: Scope) -> None:
    """Keep an encoded slash in its segment, as a NUL: a thread id may hold one, and routes split there."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" in raw.lower():
        segments = (unquote(segment).replace("/", SLASH) for segment in raw.decode("latin-1").split("/"))
        scope["path"] = "/".join(segments)


def is_guarded(path: str) -> bool:
    """Return whether a path needs someone we know; the page's own files hold nothing private."""
    if path in OPEN_PATHS:
        return False
    return path in GUARDED_PATHS or path.startswith(GUARDED_PREFIXES)


def session_cookie(headers: Headers, token: Token) -> str:
    """Find our session among the cookies, empty when there is none."""
    name = token.cookie
    for header in headers.getlist("cookie"):
        for piece in header.split(";"):
            key, _, value = piece.strip().partition("=")
            if key == name:
                return value
    return ""


def set_session(headers: MutableHeaders, token: Token, scope: Scope, value: str | None = None) -> None:
    """Set a session that the browser cannot read and no other site can use; an empty one signs out."""
    secure = "; Secure" if scope["scheme"] == "https" else ""
    flags = f"Path=/; Max-Age={0 if value == '' else SESSION_SECONDS}; HttpOnly; SameSite=Strict{secure}"
    headers.append(
        "set-cookie", f"{token.cookie}={token.open_session() if value is None else value}; {flags}"
    )


def _is_page_load(scope: Scope, headers: Headers) -> bool:
    """Return whether a browser follows a link to the page, which other sites may hold."""
    return (
        scope["method"] in SAFE_METHODS
        and headers.get("sec-fetch-mode") == "navigate"
        and not is_guarded(scope["path"])
    )


def caller_of(scope: Scope) -> str:
    """Return the name of who is calling, for counting."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def busy(wait: float) -> ApiError:
    """Say when to come back."""
    seconds = str(math.ceil(wait))
    return ApiError(
        429,
        "busy",
        "Too many requests.",
        f"Wait {seconds} s and try again.",
        headers={"retry-after": seconds},
    )


async def _limit_body(scope: Scope, headers: Headers, receive: Receive) -> Receive:
    limit = BODY_LIMITS.get(scope["path"], BODY_LIMIT)
    declared = headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        await _discard(receive)
        raise ApiError(413, "too-large", f"The body is larger than {limit:,} bytes.", "Send less at once.")
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            await _discard(receive)
            # The one exception that passes through the framework's body parsing unchanged.
            raise HTTPException(413)
        return message

    return counted


async def _discard(receive: Receive) -> None:
    """Read the rest of a body that is too large: a sender cut off midway would never see our answer."""
    left = DISCARD_LIMIT
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return


def _with_headers(scope: Scope, send: Send) -> Send:
    cache = "no-store" if is_guarded(scope["path"]) or scope["path"] in OPEN_PATHS else None

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**HEADERS, **(FRAME_HEADERS if scope["path"] == FRAME else {})}.items():
                headers.setdefault(name, value)
            if cache:
                headers.setdefault("cache-control", cache)
        await send(message)

    return sending
