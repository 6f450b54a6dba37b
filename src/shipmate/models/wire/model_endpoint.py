"""Say where a model is asked, and with what."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from shipmate.models.wire.client import Patience

# Headers for what belongs to a key.
HEADERS = {
    "organization": "openai-organization",
    "project": "openai-project",
    "app_url": "http-referer",
    "app_title": "x-title",
}
# Providers whose own libraries take an address without its path.
BARE = frozenset(("groq", "heroku", "mistral"))


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model is asked, and with which key."""

    base_url: str
    key: str | None = None
    headers: Mapping[str, str] = {}
    patience: Patience = Patience()
    # Variables that say how to get there: proxies and certificates.
    environ: Mapping[str, str] = {}
    # Why it cannot be asked, when something is missing that only the asking needs.
    lacks: str = ""


def write_headers(more: Mapping[str, str]) -> dict[str, str]:
    """Return the headers for what stands beside a key: accounts, and lines such as `X-Team: crew`."""
    found = {HEADERS[name]: value for name, value in more.items() if name in HEADERS}
    for line in more.get("headers", "").split("\n"):
        name, colon, value = line.partition(":")
        if colon and name.strip():
            found[name.strip().lower()] = value.strip()
    return found


def join_home(provider: str, base_url: str | None, home: str) -> str:
    """Return the address that is asked: the one given, else the provider's own."""
    if not base_url:
        return home
    if provider in BARE and urlsplit(base_url).path in ("", "/"):
        return base_url.rstrip("/") + urlsplit(home).path
    return base_url


def join_path(base_url: str, path: str) -> str:
    """Add a wire's path to an address; what the address already ends with is not said twice."""
    base, question, query = base_url.partition("?")
    base = base.rstrip("/")
    first, _, rest = path.removeprefix("/").partition("/")
    if base.endswith(path):
        path = ""
    elif rest and base.endswith(f"/{first}"):
        path = f"/{rest}"
    return f"{base}{path}{question}{query}"
