"""Find out where the logins of an MCP server are: RFC 9728, then RFC 8414 or OpenID Connect."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from shipmate.tools.mcp.auth.endpoint import LoginError, check_endpoint, covers
from shipmate.tools.mcp.auth.exchange import fetch_json
from shipmate.tools.mcp.http_request import origin_of
from shipmate.values.message import JsonObject
from shipmate.workspace.secret.setting import hide_address

SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
SCOPES_LIMIT = 50
PARAMETER = re.compile(r'(?:^|[\s,])([a-z_]+)\s*=\s*"([^"\\]*)"')
RESOURCE = "/.well-known/oauth-protected-resource"
SERVERS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


class Authority(msgspec.Struct, frozen=True, kw_only=True):
    """Where a resource's logins are made, and what they are for."""

    resource: str
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None
    revocation_endpoint: str | None
    # How clients say who they are at the token endpoint.
    client_auth: tuple[str, ...]
    scope: str
    # Whether the answer to a login must name its issuer.
    names_issuer: bool


def read_challenge(header: str) -> dict[str, str]:
    """Return the parameters of a WWW-Authenticate header that asks for a bearer token."""
    if not header[:7].lower().startswith("bearer") or len(header) > 8_000:
        return {}
    return dict(PARAMETER.findall(header[6:]))


def clean_scope(text: object) -> str:
    """Return the scopes of a text or a list, without what is none."""
    words: list[Any] = text.split(" ") if isinstance(text, str) else text if isinstance(text, list) else []
    found = [word for word in words if isinstance(word, str) and SCOPE.fullmatch(word)]
    return " ".join(dict.fromkeys(found[:SCOPES_LIMIT]))


async def discover(server: str, challenge: dict[str, str], scope: str = "") -> Authority:
    """Find where the logins of a server are; raises LoginError where that cannot be trusted."""
    resource, issuer, offered = await _find_issuer(server, challenge)
    found = await _find_metadata(issuer, server)
    if not _same(found.get("issuer"), issuer):
        raise LoginError(f"the metadata at {issuer} is that of another issuer, so it is not used.")
    methods = found.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        raise LoginError(f"{issuer} does not offer PKCE with S256, without which no login here is safe.")
    return Authority(
        resource=resource,
        issuer=issuer,
        authorization_endpoint=check_endpoint(
            found.get("authorization_endpoint"), "authorization endpoint", server
        ),
        token_endpoint=check_endpoint(found.get("token_endpoint"), "token endpoint", server),
        registration_endpoint=_optional(found, "registration_endpoint", server),
        revocation_endpoint=_optional(found, "revocation_endpoint", server),
        client_auth=_words(found.get("token_endpoint_auth_methods_supported")),
        scope=_choose_scope(scope, challenge, offered, found),
        names_issuer=found.get("authorization_response_iss_parameter_supported") is True,
    )


async def _find_issuer(server: str, challenge: dict[str, str]) -> tuple[str, str, object]:
    """Return the resource, who issues tokens for it, and the scopes it names."""
    for url in _resource_addresses(server, challenge):
        found = await fetch_json(url)
        if found is None:
            continue
        resource = found.get("resource")
        if not isinstance(resource, str) or not covers(resource, server):
            raise LoginError(
                f"the metadata of {hide_address(server)} is that of another resource, so it is not used."
            )
        issuers = found.get("authorization_servers")
        if isinstance(issuers, list) and issuers:
            issuer = check_endpoint(issuers[0], "authorization server", server)
            return resource, issuer, found.get("scopes_supported")
    # Servers of version 2025-03-26 are their own authorization server.
    parts = urlsplit(server)
    host = parts.netloc.rpartition("@")[2]
    # A query may hold a key, which the issuer has no need of.
    return parts._replace(netloc=host, query="", fragment="").geturl(), f"{parts.scheme}://{host}", None


def _resource_addresses(server: str, challenge: dict[str, str]) -> list[str]:
    named = challenge.get("resource_metadata")
    if named is not None:
        check_endpoint(named, "metadata address", server)
        if origin_of(named) != origin_of(server):
            raise LoginError(
                f"{hide_address(server)} names the metadata of another host as its own, so it is not used."
            )
        return [named]
    parts = urlsplit(server)
    base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return list(dict.fromkeys((f"{base}{RESOURCE}{path}", f"{base}{RESOURCE}")))


async def _find_metadata(issuer: str, server: str) -> JsonObject:
    parts = urlsplit(issuer)
    base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = [f"{base}{place}{path}" for place in SERVERS]
    if path:
        places.append(f"{base}{path}{SERVERS[1]}")
    for url in places:
        if (found := await fetch_json(url)) is not None:
            return found
    raise LoginError(
        f"{hide_address(server)} wants a login, but {issuer} does not say how. "
        "Give a key in `headers` instead."
    )


def _choose_scope(wanted: str, challenge: dict[str, str], offered: object, metadata: JsonObject) -> str:
    chosen = clean_scope(wanted) or clean_scope(challenge.get("scope")) or clean_scope(offered)
    known = metadata.get("scopes_supported")
    if isinstance(known, list) and "offline_access" in known:
        # Without it some servers give no way to renew a login.
        chosen = clean_scope(f"{chosen} offline_access")
    return chosen


def _optional(found: JsonObject, name: str, server: str) -> str | None:
    value = found.get(name)
    return None if value is None else check_endpoint(value, name.replace("_", " "), server)


def _words(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _same(given: object, issuer: str) -> bool:
    return isinstance(given, str) and given.rstrip("/") == issuer.rstrip("/")
