"""Get tokens for a login: with the code a person's browser brought, or with the one before it."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import msgspec

from shipmate.tools.mcp.auth.endpoint import LoginError
from shipmate.tools.mcp.auth.exchange import post_form
from shipmate.tools.mcp.auth.login_file import ServerLogin
from shipmate.values.message import JsonObject

TOKEN_LIMIT = 32_000
# Longer than any token is good for; a number past it is no time.
LONGEST_SECONDS = 10 * 365 * 86_400


async def redeem(login: ServerLogin, code: str, verifier: str) -> ServerLogin:
    """Return a login with the tokens that a code is good for."""
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": login.redirect_uri,
        "code_verifier": verifier,
    }
    return _take(login, await _ask(login, fields, "the exchange of the code"))


async def renew(login: ServerLogin) -> ServerLogin:
    """Return a login with new tokens; raises TokenRefusedError when it takes a person to log in again."""
    assert login.refresh_token is not None
    fields = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    if login.scope:
        fields["scope"] = login.scope
    return _take(login, await _ask(login, fields, "the renewal of the login"))


async def revoke(login: ServerLogin) -> None:
    """Tell the issuer that the tokens are no longer wanted, if it takes that."""
    token = login.refresh_token or login.access_token
    if login.revocation_endpoint and token:
        # What was forgotten here is forgotten, whatever the issuer says.
        with suppress(LoginError):
            fields, headers = _identify(login, {"token": token})
            await post_form(login.revocation_endpoint, fields, headers, "the revocation")


async def _ask(login: ServerLogin, fields: Mapping[str, str], what: str) -> JsonObject:
    sent, headers = _identify(login, {**fields, "resource": login.resource})
    return await post_form(login.token_endpoint, sent, headers, what)


def _identify(login: ServerLogin, fields: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the fields and headers that say which client asks."""
    if login.client_auth == "client_secret_basic" and login.client_secret:
        pair = f"{quote(login.client_id, safe='')}:{quote(login.client_secret, safe='')}"
        return {**fields, "client_id": login.client_id}, {
            "authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"
        }
    secret = {"client_secret": login.client_secret} if login.client_secret else {}
    return {**fields, "client_id": login.client_id, **secret}, {}


def _take(login: ServerLogin, answer: JsonObject) -> ServerLogin:
    if str(answer.get("token_type", "")).lower() != "bearer":
        raise LoginError(f"{login.issuer} gave a token of a kind that is not known here.")
    # A refresh token that is not replaced stays good.
    refresh = answer.get("refresh_token")
    scope = answer.get("scope")
    return msgspec.structs.replace(
        login,
        access_token=_token(answer.get("access_token"), login),
        refresh_token=login.refresh_token if refresh is None else _token(refresh, login),
        expires_at=_end_of(answer.get("expires_in")),
        scope=scope if isinstance(scope, str) and len(scope) < TOKEN_LIMIT else login.scope,
    )


def _token(value: object, login: ServerLogin) -> str:
    """Return a token that can stand in a header."""
    if not isinstance(value, str) or not 0 < len(value) <= TOKEN_LIMIT:
        raise LoginError(f"{login.issuer} gave no token that can be used.")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise LoginError(f"{login.issuer} gave no token that can be used.")
    return value


def _end_of(seconds: Any) -> float | None:
    try:
        length = float(seconds)
    except (TypeError, ValueError):
        return None
    return time.time() + length if 0 < length < LONGEST_SECONDS else None
