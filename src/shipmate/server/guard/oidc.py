"""Sign people in at an OpenID provider: code with PKCE, state and nonce, and a token whose seal is checked.

What must come back with the browser travels in one sealed cookie, so that any gateway can end a sign-in.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus, urlencode

import msgspec

from shipmate.team.user import Role
from shipmate.tools.mcp.auth.endpoint import LoginError, check_endpoint, is_safe
from shipmate.tools.mcp.auth.exchange import fetch_json, post_form
from shipmate.values.message import JsonObject
from shipmate.workspace.settings.team_settings import OidcSettings

LASTS_SECONDS = 600
LEEWAY_SECONDS = 60
# Seals of two keys alone: with a shared secret, or without any seal, whoever knows us could make tokens.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
KEY_KINDS = ("RSA", "EC", "OKP")
RSA_BITS = 2048
TEXT_LIMIT = 16_000
NO_NAME = re.compile(r"[^a-z0-9._-]+")


class OidcPerson(msgspec.Struct, frozen=True, kw_only=True):
    """Who somebody is, as their provider says."""

    user_id: str
    identity: str
    role: Role
    name: str


class OidcSignIn:
    """One way through a provider and back."""

    def __init__(self, settings: OidcSettings, redirect_uri: str, sign: Callable[[str], str]) -> None:
        self._settings = settings
        self._redirect_uri = redirect_uri
        self._sign = sign

    async def begin(self) -> tuple[str, str]:
        """Return the address for the browser, and what it must bring back."""
        found = await self._discover()
        state, nonce, verifier = (secrets.token_urlsafe(size) for size in (24, 24, 48))
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(dict.fromkeys(("openid", *self._settings.scope.split()))),
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        address = self._endpoint(found, "authorization_endpoint")
        body = f"{state}.{nonce}.{verifier}.{int(time.time())}"
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}", f"{body}.{self._seal(body)}"

    async def end(self, kept: str, answer: Mapping[str, str]) -> OidcPerson:
        """Return who came back; raises LoginError for whatever is not surely in order."""
        nonce, verifier = self._open(kept, answer.get("state", ""))
        found = await self._discover()
        named = answer.get("iss")
        is_named = found.get("authorization_response_iss_parameter_supported") is True
        if (named is not None or is_named) and named != found["issuer"]:
            raise LoginError("the answer is that of another provider.")
        code = answer.get("code", "")
        if answer.get("error") or not code or len(code) > TEXT_LIMIT:
            raise LoginError("the provider did not let you in.")
        given = await self._redeem(found, code, verifier)
        claims = await self._read(found, given.get("id_token"), nonce)
        return self._recognise({**await self._ask_more(found, given, claims["sub"]), **claims})

    def _seal(self, body: str) -> str:
        return self._sign(f"oidc {body}")

    def _open(self, kept: str, state: str) -> tuple[str, str]:
        body, _, seal = kept.rpartition(".")
        pieces = body.split(".")
        if len(pieces) != 4 or not hmac.compare_digest(self._seal(body).encode(), seal.encode()):
            raise LoginError("it was not begun in this browser, or too long ago.")
        expected, nonce, verifier, began = pieces
        if not 0 <= time.time() - int(began) <= LASTS_SECONDS:
            raise LoginError("it was begun too long ago.")
        if not hmac.compare_digest(expected.encode(), state.encode()):
            raise LoginError("the answer belongs to another sign-in.")
        return nonce, verifier

    async def _discover(self) -> JsonObject:
        issuer = self._settings.issuer
        if not is_safe(issuer):
            raise LoginError(f"{issuer} is not https: a sign-in would be seen by others on the way.")
        found = await fetch_json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        named = None if found is None else found.get("issuer")
        if found is None or not isinstance(named, str) or named.rstrip("/") != issuer.rstrip("/"):
            raise LoginError(f"{issuer} does not describe itself as an OpenID provider.")
        return found

    def _endpoint(self, found: JsonObject, name: str) -> str:
        return check_endpoint(found.get(name), name.replace("_", " "), self._settings.issuer)

    async def _redeem(self, found: JsonObject, code: str, verifier: str) -> JsonObject:
        settings = self._settings
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": verifier,
        }
        headers: dict[str, str] = {}
        methods = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if settings.client_secret is None:
            fields["client_id"] = settings.client_id
        elif "client_secret_basic" in methods:
            pair = f"{quote_plus(settings.client_id)}:{quote_plus(settings.client_secret)}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            fields |= {"client_id": settings.client_id, "client_secret": settings.client_secret}
        return await post_form(self._endpoint(found, "token_endpoint"), fields, headers, "the sign-in")

    async def _read(self, found: JsonObject, token: object, nonce: str) -> JsonObject:
        """Return what an ID token says once it is surely the provider's, for us, and of this sign-in."""
        jwt = _load_jwt()
        if not isinstance(token, str) or len(token) > TEXT_LIMIT:
            raise LoginError("the provider gave no ID token.")
        try:
            head = jwt.get_unverified_header(token)
            if head.get("alg") not in ALGORITHMS:
                raise LoginError("the ID token is not sealed in a way that can be checked.")
            key = await self._find_key(found, head)
            claims: JsonObject = jwt.decode(
                token,
                key,
                algorithms=[head["alg"]],
                audience=self._settings.client_id,
                issuer=found["issuer"],
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "sub", "aud", "iss", "nonce"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise LoginError(f"the ID token does not hold ({type(error).__name__}).") from error
        audience, party = claims["aud"], claims.get("azp")
        is_shared = isinstance(audience, list) and len(audience) > 1
        if (is_shared or party is not None) and party != self._settings.client_id:
            raise LoginError("the ID token is for somebody else.")
        if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
            raise LoginError("the ID token belongs to another sign-in.")
        return claims

    async def _find_key(self, found: JsonObject, head: Mapping[str, Any]) -> Any:
        jwt = _load_jwt()
        listed = (await fetch_json(self._endpoint(found, "jwks_uri")) or {}).get("keys")
        keys = [
            each
            for each in (listed if isinstance(listed, list) else [])
            if isinstance(each, dict)
            and each.get("kty") in KEY_KINDS
            and each.get("use", "sig") == "sig"
            and each.get("alg", head["alg"]) == head["alg"]
            and ("kid" not in head or each.get("kid") == head["kid"])
        ]
        if len(keys) != 1:
            raise LoginError("the ID token is sealed with a key the provider does not list.")
        key = jwt.PyJWK(keys[0], algorithm=head["alg"]).key
        if keys[0]["kty"] == "RSA" and key.key_size < RSA_BITS:
            raise LoginError("the key of the provider is too short.")
        return key

    async def _ask_more(self, found: JsonObject, given: JsonObject, subject: str) -> JsonObject:
        """Return what the provider says of a person beside the ID token, where it does."""
        token = given.get("access_token")
        if found.get("userinfo_endpoint") is None or not isinstance(token, str):
            return {}
        more = await fetch_json(
            self._endpoint(found, "userinfo_endpoint"), {"authorization": f"Bearer {token}"}
        )
        if more is not None and more.get("sub") != subject:
            raise LoginError("the provider tells of somebody else.")
        return more or {}

    def _recognise(self, claims: JsonObject) -> OidcPerson:
        role: Role | None = next(
            (each.role for each in self._settings.roles if _fits(claims, each.claim, each.value)), None
        )
        if role is None:
            raise LoginError("nobody with what the provider says of you is let in here. Ask an admin.")
        subject = str(claims["sub"])
        wanted = NO_NAME.sub("-", str(claims.get(self._settings.user_claim) or "").lower()).strip("-._")[:40]
        fallback = f"oidc-{hashlib.sha256(subject.encode()).hexdigest()[:12]}"
        return OidcPerson(
            user_id=wanted.rstrip("-._") or fallback,
            identity=f"{self._settings.issuer.rstrip('/')} {subject}",
            role=role,
            name=str(claims.get("name") or ""),
        )


def _fits(claims: JsonObject, claim: str, value: str) -> bool:
    """Return whether a claim is a value or has it; an address that was not verified is anybody's."""
    if claim == "email" and claims.get("email_verified") is not True:
        return False
    said = claims.get(claim)
    return value in said if isinstance(said, list) else said == value


def _load_jwt() -> Any:
    try:
        import jwt
        import jwt.algorithms

        if not jwt.algorithms.has_crypto:
            raise ImportError
    except ImportError as error:
        raise LoginError('signing in at a provider needs `pip install "shipmate[oidc]"`.') from error
    return jwt
