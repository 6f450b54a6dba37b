"""An MCP server that wants a login, with a real authorization server beside it, both of the SDK."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import httpx2
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl

from tests.support.mcp_host import host
from tests.support.page import reserve_port


class Issuer(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Lets everybody in who asks rightly; refresh tokens are good once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.asked: list[AuthorizationParams] = []
        self.renewals = 0
        self.spent: list[str] = []
        self.lifetime = 3600
        self.error = ""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.asked.append(params)
        if self.error:
            return f"{params.redirect_uri}?{urlencode({'error': self.error, 'state': params.state or ''})}"
        code = f"code-{secrets.token_hex(16)}"
        assert client.client_id is not None
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return f"{params.redirect_uri}?{urlencode({'code': code, 'state': params.state or ''})}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(
            authorization_code.client_id, authorization_code.scopes, authorization_code.resource
        )

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        if refresh_token in self.spent:
            # A token that is shown twice was stolen: nothing it led to is good any more.
            self.access.clear()
            self.refresh.clear()
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.spent.append(refresh_token.token)
        self.renewals += 1
        return self._issue(refresh_token.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.clear()
        self.refresh.clear()

    def _issue(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = f"at-{secrets.token_hex(16)}", f"rt-{secrets.token_hex(16)}"
        self.access[access] = AccessToken(
            token=access,
            client_id=client_id,
            scopes=scopes,
            expires_at=int(time.time() + self.lifetime),
            resource=resource,
        )
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client_id, scopes=scopes, resource=resource
        )
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=self.lifetime, scope=" ".join(scopes)
        )

    def add_client(self, redirect_uri: str) -> OAuthClientInformationFull:
        """Register a client by hand, with a secret."""
        client = OAuthClientInformationFull(
            client_id="by-hand",
            client_secret="client-secret-1",
            redirect_uris=[AnyUrl(redirect_uri)],
            token_endpoint_auth_method="client_secret_basic",
            scope="sail",
        )
        self.clients["by-hand"] = client
        return client

    @property
    def secrets(self) -> set[str]:
        return {*self.access, *self.refresh, *self.spent, *self.codes}


@asynccontextmanager
async def guarded(issuer: Issuer) -> AsyncGenerator[str]:
    """Serve a server that wants a login; gives its address."""
    with reserve_port() as held:
        port = held.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    server = MCPServer(
        "guarded",
        auth_server_provider=issuer,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(base),
            resource_server_url=AnyHttpUrl(f"{base}/mcp"),
            required_scopes=["sail"],
            validate_token_resource=True,
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=["sail"], default_scopes=["sail"]
            ),
            revocation_options=RevocationOptions(enabled=True),
        ),
    )

    @server.tool()
    def act() -> str:  # pyright: ignore[reportUnusedFunction]
        """Act."""
        return "acted"

    async with host(server.streamable_http_app(), port):
        yield f"{base}/mcp"


async def browse(address: str) -> Any:
    """Do what a browser does with the address of a login: follow it to the end."""
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
        return await browser.get(address)


async def browse_to_the_last_step(address: str) -> str:
    """Return the address a browser on another machine would end at."""
    async with httpx2.AsyncClient(follow_redirects=False, trust_env=False) as browser:
        return (await browser.get(address)).headers["location"]
