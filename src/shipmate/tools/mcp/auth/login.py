"""Log a person in at a remote MCP server: find its issuer, register, send the browser, take the code."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.mcp.auth.discovery import Authority, discover, read_challenge
from shipmate.tools.mcp.auth.endpoint import LoginError, is_safe
from shipmate.tools.mcp.auth.exchange import post_json
from shipmate.tools.mcp.auth.login_file import LoginFile, ServerLogin
from shipmate.tools.mcp.auth.renewal import redeem, revoke
from shipmate.tools.mcp.http_request import open_client, send_request
from shipmate.tools.mcp.intake import Intake
from shipmate.tools.mcp.rpc import VERSION, encode, first_line, request
from shipmate.workspace.config import McpServer
from shipmate.workspace.secret.setting import hide_address

LOGIN_SECONDS = 600.0
PROBE_SECONDS = 20.0
CLIENT_LIMIT = 4_000

PATH = "/callback"
HEAD_LIMIT = 16_384
HEAD_SECONDS = 10.0
PAGE = b"<!doctype html><meta charset=utf-8><title>Shipmate</title><p>%s"
HEADERS = (
    b"Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
    b"Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
    b"Connection: close\r\n\r\n"
)


class NoLoginNeededError(LoginError):
    """This server lets everyone in. There is nothing to log in to."""


class LoginFlow:
    """One login; `show` is told the address for the browser and a way to give the answer by hand."""

    def __init__(self, name: str, server: McpServer, file: LoginFile) -> None:
        if server.url is None:
            raise LoginError(f"{name} is started on this machine; there is nothing to log in to.")
        if not is_safe(server.url):
            raise LoginError(
                f"{hide_address(server.url)} is not https: a login would be seen by others on the way."
            )
        self._url = server.url
        self._server = server
        self._file = file

    async def run(self, show: Callable[[str, Callable[[str], None]], None], scope: str = "") -> ServerLogin:
        """Log in; the login is kept when this returns."""
        challenge = await self._knock()
        authority = await discover(self._url, challenge, scope or self._server.login.scope)
        async with open_port(self._server.login.redirect_port) as (listeners, redirect_uri):
            client = await self._client(authority, redirect_uri)
            verifier, state = secrets.token_urlsafe(64), secrets.token_urlsafe(32)
            listener = RedirectListener(state, authority.issuer, names_issuer=authority.names_issuer)
            listeners.append(listener)
            show(_address(authority, client, verifier, state), listener.take)
            try:
                async with asyncio.timeout(LOGIN_SECONDS):
                    answer = await listener.answer
            except TimeoutError as error:
                raise LoginError("nobody came back from the browser in time. Try again.") from error
        if answer.error:
            raise LoginError(f"the server did not let you in ({answer.error}).")
        login = await redeem(client, answer.code, verifier)
        async with self._file.locked():
            self._file.write(login)
        return login

    async def _knock(self) -> dict[str, str]:
        """Ask the server without a login, to hear what it wants."""
        intake, greeting = Intake(), {"protocolVersion": VERSION, "capabilities": {}}
        greeting["clientInfo"] = {"name": "shipmate", "version": "0"}
        headers = {
            **self._server.headers,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        client = open_client()
        try:
            body = encode(request(1, "initialize", greeting))
            async with (
                asyncio.timeout(PROBE_SECONDS),
                send_request(client, intake, "POST", self._url, headers, body) as reply,
            ):
                if 200 <= reply.status < 300:
                    raise NoLoginNeededError
                return read_challenge(reply.headers.get("www-authenticate", ""))
        except TimeoutError as error:
            raise LoginError(f"{hide_address(self._url)} did not answer in time.") from error
        except ToolError as error:
            raise LoginError(f"{hide_address(self._url)}: {error}.") from error
        finally:
            await client.close()

    async def _client(self, authority: Authority, redirect_uri: str) -> ServerLogin:
        """Return a login without tokens: as whom we come."""
        login = ServerLogin(
            resource=authority.resource,
            issuer=authority.issuer,
            token_endpoint=authority.token_endpoint,
            revocation_endpoint=authority.revocation_endpoint,
            client_id="",
            redirect_uri=redirect_uri,
            scope=authority.scope,
        )
        given = self._server.login
        if given.client_id:
            return msgspec.structs.replace(
                login,
                client_id=given.client_id,
                client_secret=given.client_secret,
                client_auth=_choose_auth(authority, given.client_secret),
            )
        return await _register(login, authority)


async def _register(login: ServerLogin, authority: Authority) -> ServerLogin:
    """Become a client of the issuer (RFC 7591); anew for each login, since the port is another each time."""
    if authority.registration_endpoint is None:
        raise LoginError(
            f"{authority.issuer} registers no clients by itself. Register one there with the address "
            "http://127.0.0.1:PORT/callback, and give its id and the port in `login` of it in ship.json."
        )
    wanted = {
        "client_name": "Shipmate",
        "redirect_uris": [login.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
        **({"scope": authority.scope} if authority.scope else {}),
    }
    found = await post_json(authority.registration_endpoint, wanted, "the registration")
    client_id, secret = found.get("client_id"), found.get("client_secret")
    if not isinstance(client_id, str) or not 0 < len(client_id) <= CLIENT_LIMIT:
        raise LoginError(f"{authority.issuer} gave no usable client id.")
    kept = secret if isinstance(secret, str) and 0 < len(secret) <= CLIENT_LIMIT else None
    named = found.get("token_endpoint_auth_method")
    auth = named if kept and named in ("client_secret_basic", "client_secret_post") else None
    return msgspec.structs.replace(
        login, client_id=client_id, client_secret=kept, client_auth=auth or _choose_auth(authority, kept)
    )


def _choose_auth(authority: Authority, secret: str | None) -> str:
    if secret is None:
        return "none"
    takes_basic = not authority.client_auth or "client_secret_basic" in authority.client_auth
    return "client_secret_basic" if takes_basic else "client_secret_post"


def _address(authority: Authority, client: ServerLogin, verifier: str, state: str) -> str:
    """Return the address for the browser."""
    digest = hashlib.sha256(verifier.encode()).digest()
    fields = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uri,
        "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
        "code_challenge_method": "S256",
        "state": state,
        "resource": authority.resource,
        **({"scope": authority.scope} if authority.scope else {}),
    }
    joint = "&" if urlsplit(authority.authorization_endpoint).query else "?"
    return f"{authority.authorization_endpoint}{joint}{urlencode(fields)}"


async def log_out(file: LoginFile) -> bool:
    """Forget a login, and tell its issuer; return whether there was one."""
    async with file.locked():
        login = file.read()
        was_there = file.remove()
    if login is not None:
        await revoke(login)
    return was_there


class Redirect(msgspec.Struct, frozen=True):
    """What a browser brought back; its code is good for one exchange."""

    code: str = ""
    error: str = ""

    def __repr__(self) -> str:
        return "Redirect()"


def read_redirect(address: str, state: str, issuer: str, *, names_issuer: bool) -> Redirect:
    """Read the address a browser was sent back to; raises LoginError where it answers no login of ours."""
    fields = parse_qs(urlsplit(address.strip()).query, keep_blank_values=True, max_num_fields=50)
    given = {name: values[0] for name, values in fields.items() if len(values) == 1}
    if not hmac.compare_digest(given.get("state", "").encode(), state.encode()):
        raise LoginError("this is not the answer to the login that was begun here.")
    said = given.get("iss")
    if (said is None and names_issuer) or (said is not None and said.rstrip("/") != issuer.rstrip("/")):
        raise LoginError("the answer comes from another issuer than the login was begun at.")
    if "error" in given:
        return Redirect(error=first_line(given["error"])[:60] or "unknown")
    if not given.get("code"):
        raise LoginError("the answer holds no code.")
    return Redirect(given["code"])


class RedirectListener:
    """A port of this machine that hears one answer; what is not the answer is turned away."""

    def __init__(self, state: str, issuer: str, *, names_issuer: bool) -> None:
        self._state = state
        self._issuer = issuer
        self._names_issuer = names_issuer
        self.answer: asyncio.Future[Redirect] = asyncio.get_running_loop().create_future()

    def take(self, address: str) -> None:
        """Take an address as the answer; raises LoginError where it is none."""
        found = read_redirect(address, self._state, self._issuer, names_issuer=self._names_issuer)
        if not self.answer.done():
            self.answer.set_result(found)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser."""
        with suppress(
            OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError
        ):
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._respond(head))
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def _respond(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].decode("ascii").partition(" ")
        address = rest.partition(" ")[0]
        if method != "GET" or urlsplit(address).path != PATH:
            return b"HTTP/1.1 404 Not Found\r\n" + HEADERS + PAGE % b"Nothing is here."
        try:
            self.take(address)
        except LoginError:
            return (
                b"HTTP/1.1 400 Bad Request\r\n"
                + HEADERS
                + PAGE % b"This is not the answer that is waited for."
            )
        return b"HTTP/1.1 200 OK\r\n" + HEADERS + PAGE % b"Shipmate has heard it. You can close this window."


@asynccontextmanager
async def open_port(port: int) -> AsyncGenerator[tuple[list[RedirectListener], str]]:
    """Listen on this machine alone; gives the place for the listener, and the address to come back to."""
    listeners: list[RedirectListener] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if listeners:
            await listeners[0].serve(reader, writer)
        else:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=HEAD_LIMIT)
    try:
        yield listeners, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}"
    finally:
        server.close()
