"""Say which addresses keys and logins may go to. What is not surely in order is refused."""

from __future__ import annotations

from urllib.parse import urlsplit

from shipmate.errors import UserError
from shipmate.tools.mcp.http_request import is_loopback, origin_of
from shipmate.tools.mcp.rpc import first_line
from shipmate.workspace.secret.setting import hide_address

ADDRESS_LIMIT = 2_000


class LoginError(UserError):
    """The login did not succeed."""


def is_safe(url: str) -> bool:
    """Return whether what is sent to an address stays between it and us."""
    try:
        scheme, _, _ = origin_of(url)
        return scheme == "https" or is_loopback(url)
    except ValueError:
        return False


def check_endpoint(url: object, what: str, server: str) -> str:
    """Return an address a server or its metadata names; raises LoginError where it cannot be trusted.

    Only a server on this machine may lead to this machine: any other would have us knock at private doors.
    """
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or len(url) > ADDRESS_LIMIT:
        raise LoginError(f"the metadata of {hide_address(server)} gives no usable {what}. Ask its operator.")
    try:
        parts = urlsplit(url)
        scheme, _, _ = origin_of(url)
        is_clean = not parts.username and not parts.password and not parts.fragment and " " not in url
        is_allowed = is_loopback(server) if is_loopback(url) else scheme == "https"
    except ValueError:
        is_clean = is_allowed = False
    if not (is_clean and is_allowed):
        raise LoginError(
            f"the metadata of {hide_address(server)} names {first_line(url)[:100]!r} as its {what}, which is "
            "not safe: it must be https, without user and fragment, and not lead to this machine."
        )
    return url


def covers(resource: str, url: str) -> bool:
    """Return whether an address belongs to a resource: the same place, or one below it."""
    try:
        if origin_of(resource) != origin_of(url):
            return False
    except ValueError:
        return False
    outer, inner = urlsplit(resource).path.rstrip("/"), urlsplit(url).path
    has_steps = any(step in (".", "..") for step in inner.replace("%2e", ".").replace("%2E", ".").split("/"))
    return not has_steps and (inner.rstrip("/") == outer or inner.startswith(outer + "/"))
