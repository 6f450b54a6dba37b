"""Ask servers of logins for JSON, within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.mcp.auth.endpoint import LoginError
from shipmate.tools.mcp.http_request import open_client, send_request
from shipmate.tools.mcp.intake import Intake
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting
from shipmate.workspace.secret.setting import hide_address

ANSWER_LIMIT = 500_000
ANSWER_SECONDS = 20.0
# RFC 6749, 7591 and 8707.
CODES = frozenset(
    {
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope", "invalid_target", "invalid_redirect_uri", "invalid_client_metadata", "access_denied",
    }
)  # fmt: skip


class TokenRefusedError(LoginError):
    """The login is not valid any more."""


async def fetch_json(url: str, headers: Mapping[str, str] | None = None) -> JsonObject | None:
    """Return the JSON at an address; None where there is none. No redirect is followed."""
    status, found = await _send("GET", url, {"accept": "application/json", **(headers or {})})
    return found if status == 200 else None


async def post_json(url: str, body: JsonObject, what: str) -> JsonObject:
    """Send JSON and return the answer; raises LoginError for a refusal."""
    headers = {"content-type": "application/json", "accept": "application/json"}
    return _accept(*await _send("POST", url, headers, msgspec.json.encode(body)), what)


async def post_form(url: str, fields: Mapping[str, str], headers: Mapping[str, str], what: str) -> JsonObject:
    """Send a form and return the answer; raises TokenRefusedError where a login is no longer valid."""
    headers = {**headers, "content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    return _accept(*await _send("POST", url, headers, urlencode(fields).encode()), what)


def _accept(status: int, found: JsonObject | None, what: str) -> JsonObject:
    if status in (200, 201) and found is not None:
        return found
    error = (found or {}).get("error")
    # Any other words may repeat what was sent.
    code = error if isinstance(error, str) and error in CODES else ""
    said = f"{status} {code}".strip()
    if status in (400, 401) and code in ("invalid_grant", "invalid_client", "unauthorized_client"):
        raise TokenRefusedError(f"{what} was refused ({said})")
    raise LoginError(f"{what} failed: the server answered {said}")


async def _send(
    method: str, url: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[int, JsonObject | None]:
    intake = Intake()
    client = open_client()
    try:
        async with (
            asyncio.timeout(ANSWER_SECONDS),
            send_request(client, intake, method, url, headers, body) as reply,
        ):
            return reply.status, _read(await reply.read(intake, ANSWER_LIMIT))
    except TimeoutError as error:
        raise LoginError(f"{hide_address(url)} did not answer in time. Try again later.") from error
    except ToolError as error:
        raise LoginError(f"{hide_address(url)}: {error}.") from error
    finally:
        await client.close()


def _read(data: bytes) -> JsonObject | None:
    try:
        found: Any = msgspec.json.decode(check_nesting(data))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
