"""Say what lets us in at a server: the headers of ship.json, or a login that is renewed in time."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from msgspec.structs import replace

from shipmate.tools.mcp.auth.discovery import clean_scope, read_challenge
from shipmate.tools.mcp.auth.endpoint import LoginError, covers, is_safe
from shipmate.tools.mcp.auth.login_file import LoginFile, ServerLogin
from shipmate.tools.mcp.rpc import RefusedError
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout


def credential_for(name: str, server: McpServer, layout: Layout) -> FixedCredential | LoginCredential:
    """Return what lets us in at a server."""
    has_key = any(header.lower() == "authorization" for header in server.headers)
    if server.url is None or has_key:
        return FixedCredential(name)
    return LoginCredential(name, LoginFile(layout.mcp_login(name)))


class FixedCredential:
    """Whatever stands in ship.json; nothing can be renewed."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def header(self, url: str) -> str | None:
        return None

    async def renew(self, refused: str | None) -> bool:
        return False

    def refusal(self, status: int, challenge: str) -> str:
        return (
            f"it refused the key ({status}); mend Authorization in mcp.servers.{self._name}.headers of "
            "ship.json, or the variable it names"
        )

    def secrets(self) -> set[str]:
        return set()

    def edition(self) -> int:
        return 0


class LoginCredential:
    """The login a person made with `shipmate mcp login`."""

    def __init__(self, name: str, file: LoginFile) -> None:
        self._name = name
        self._file = file
        self._renewing = asyncio.Lock()
        self._known: set[str] = set()

    async def header(self, url: str) -> str | None:
        """Return the value of the Authorization header for an address, if the login is for it."""
        login = self._read()
        if login is None or not login.access_token or not covers(login.resource, url) or not is_safe(url):
            return None
        if login.ends_soon and login.refresh_token:
            # Where that fails it may still hold for a moment; the server says so if not.
            with suppress(RefusedError):
                login = await self._renew(login.access_token) or login
        return f"Bearer {login.access_token}"

    async def renew(self, refused: str | None) -> bool:
        """Get another token after the server refused one; return whether there is another."""
        return refused is not None and await self._renew(refused.removeprefix("Bearer ")) is not None

    def refusal(self, status: int, challenge: str) -> str:
        """Return what a person has to do when the server does not let us in."""
        command = f"shipmate mcp login {self._name}"
        if status == 403:
            scope = clean_scope(read_challenge(challenge).get("scope"))
            more = f' --scope "{scope}"' if scope and not set(scope) & set('"$`\\!') else ""
            return f"the login does not allow this; run `{command}{more}`"
        scheme = challenge.split(maxsplit=1)[0].rstrip(",").lower() if challenge.strip() else "bearer"
        if scheme == "bearer":
            return f"it wants a login; run `{command}`"
        # No login leads to a key of another kind.
        return (
            'it wants a key; set "Authorization" in '
            f'mcp.servers.{self._name}.headers of ship.json to "${{NAME}}", and NAME in .env'
        )

    def secrets(self) -> set[str]:
        """Return the tokens that were in use: none of them may be shown."""
        self._read()
        return self._known

    def edition(self) -> int:
        """Return a number that changes with every login."""
        return self._file.edition()

    def _read(self) -> ServerLogin | None:
        login = self._file.read()
        if login is not None:
            self._known |= {
                each for each in (login.access_token, login.refresh_token, login.client_secret) if each
            }
        return login

    async def _renew(self, spent: str) -> ServerLogin | None:
        """Return a login with another token than a spent one; None when it takes a person."""
        from shipmate.tools.mcp.auth.exchange import TokenRefusedError
        from shipmate.tools.mcp.auth.renewal import renew

        try:
            async with self._renewing, self._file.locked():
                login = self._read()
                if login is None or not login.access_token:
                    return None
                if login.access_token != spent:
                    # Another process was quicker.
                    return login
                if not login.refresh_token:
                    return None
                try:
                    renewed = await renew(login)
                except TokenRefusedError:
                    # Who we are there stays known; what let us in is of no more use.
                    self._file.write(replace(login, access_token="", refresh_token=None))
                    return None
                self._file.write(renewed)
                self._read()
                return renewed
        except LoginError as error:
            raise RefusedError(f"the login could not be renewed: {error}") from error
        except OSError as error:
            raise RefusedError(f"the login could not be kept: {error.strerror}") from error
