"""Tell through which proxy an address is reached, by the variables everybody uses for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit


def find_proxy(url: str, environ: Mapping[str, str]) -> str | None:
    """Return the address of the proxy for a URL, None when it is reached directly."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or {"https": 443}.get(parts.scheme, 80)
    if not host or is_loopback(host) or _is_exempt(host, port, _read(environ, "no_proxy")):
        return None
    found = _read(environ, f"{parts.scheme}_proxy") or _read(environ, "all_proxy")
    if not found:
        return None
    return found if "://" in found else f"http://{found}"


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Return whether a name is this machine's own."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _read(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name)
    # A web server puts a visitor's `Proxy` header into HTTP_PROXY when it runs a program for a request.
    if value is None and not (name == "http_proxy" and "REQUEST_METHOD" in environ):
        value = environ.get(name.upper())
    return (value or "").strip()


def _is_exempt(host: str, port: int, rules: str) -> bool:
    return any(_fits(host, port, rule.strip().lower()) for rule in rules.split(",") if rule.strip())


def _fits(host: str, port: int, rule: str) -> bool:
    if rule == "*":
        return True
    if "/" in rule or rule.count(":") > 1 or rule.startswith("["):
        return _lies_in(host, port, rule)
    name, colon, wanted = rule.partition(":")
    if colon and wanted != str(port):
        return False
    name = name.removeprefix("*").removeprefix(".").rstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _lies_in(host: str, port: int, rule: str) -> bool:
    """Return whether a host is an address of a network such as 10.0.0.0/8, or the IPv6 address `[…]:port`."""
    if rule.startswith("["):
        rule, _, rest = rule[1:].partition("]")
        if rest.startswith(":") and rest[1:] != str(port):
            return False
    try:
        return ip_address(host) in ip_network(rule, strict=False)
    except ValueError:
        return False
