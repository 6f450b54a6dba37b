"""Ask a search engine: SearXNG, Brave or Tavily, each by its own protocol, one answer for all."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from shipmate.errors import ToolError
from shipmate.models.wire.client import HttpClient, Patience
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.wire_json import decode_json
from shipmate.tools.text import clean
from shipmate.tools.web.fetcher import check_url, is_closed_name, is_public
from shipmate.tools.web.lexer import decode_references
from shipmate.workspace.config import WebSearchSettings

SECONDS = 20
ANSWER_LIMIT = 2_000_000
TITLE_LIMIT, SNIPPET_LIMIT, TOLD_LIMIT = 200, 600, 200
TAG = re.compile(r"<[^<>]{0,200}>")
# Where each is asked unless ship.json names another address.
ADDRESSES = {"brave": "https://api.search.brave.com/res/v1", "tavily": "https://api.tavily.com"}
PATIENCE = Patience(connect=10, write=None, first=None, stall=None)


class FoundPage(msgspec.Struct, frozen=True):
    """One page that was found."""

    title: str
    url: str
    snippet: str


class SearchEngine:
    """One engine by its protocol; its key goes to its own address and into no words."""

    def __init__(self, settings: WebSearchSettings, environ: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._environ = os.environ if environ is None else environ

    async def search(self, query: str, count: int) -> tuple[list[FoundPage], int]:
        """Return at most `count` pages, and how many were left out because they are not on the public web."""
        found = list(_read(await self._ask(query, count), self._settings.engine or ""))
        open_ones = [hit for hit in found if leads_outside(hit.url)]
        return open_ones[:count], len(found) - len(open_ones)

    async def _ask(self, query: str, count: int) -> Any:
        url, headers, content = self._request(query, count)
        client = HttpClient(self._environ, PATIENCE)
        host = urlsplit(url).hostname or url
        try:
            method = "GET" if content is None else "POST"
            async with (
                asyncio.timeout(SECONDS),
                client.send(method, url, headers=headers, content=content) as answer,
            ):
                body = await answer.read(ANSWER_LIMIT)
        except TimeoutError as error:
            raise ToolError(f"{host} did not answer within {SECONDS} s. Try again later.") from error
        except HttpFault as fault:
            raise ToolError(f"{host} could not be asked: {self._mask(fault.words)}.") from None
        finally:
            await client.close()
        if answer.status != 200:
            raise ToolError(f"{host} answered {answer.status}. {self._advise(answer.status)}")
        try:
            return decode_json(body)
        except msgspec.DecodeError as error:
            raise ToolError(f"{host} answered something other than JSON. Check webSearch.baseUrl.") from error

    def _request(self, query: str, count: int) -> tuple[str, dict[str, str], bytes | None]:
        """Return the address, the headers and the body of a request."""
        settings = self._settings
        base = (settings.base_url or ADDRESSES.get(settings.engine or "", "")).rstrip("/")
        if not base:
            raise ToolError("The search is not set up: set webSearch.baseUrl in ship.json.")
        headers = {"accept": "application/json", "accept-encoding": "gzip"}
        if settings.engine == "searxng":
            if settings.api_key:
                headers["authorization"] = f"Bearer {settings.api_key}"
            return f"{base}/search?{urlencode({'q': query, 'format': 'json'})}", headers, None
        if not settings.api_key:
            raise ToolError(
                f"{settings.engine} wants a key: let webSearch.apiKey in ship.json name a variable, such as "
                '"${SEARCH_API_KEY}", and set it in .env.'
            )
        if settings.engine == "brave":
            headers["x-subscription-token"] = settings.api_key
            return f"{base}/web/search?{urlencode({'q': query, 'count': count})}", headers, None
        headers |= {"authorization": f"Bearer {settings.api_key}", "content-type": "application/json"}
        return f"{base}/search", headers, msgspec.json.encode({"query": query, "max_results": count})

    def _advise(self, status: int) -> str:
        if status in (401, 403) and self._settings.engine == "searxng":
            return "Its settings.yml must list `json` among search.formats."
        if status in (401, 403):
            return "Check the key that webSearch.apiKey names."
        return "Too much was asked; wait a while." if status == 429 else "Try again later."

    def _mask(self, words: str) -> str:
        key = self._settings.api_key
        return words.replace(key, "***") if key else words


def _read(answer: Any, engine: str) -> Iterator[FoundPage]:
    """Go over the pages of an answer; what is none is passed over."""
    if engine == "brave":
        answer = answer.get("web") if isinstance(answer, dict) else None
    found = answer.get("results") if isinstance(answer, dict) else None
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict) and isinstance(url := each.get("url"), str):
            text = each.get("description" if engine == "brave" else "content")
            yield FoundPage(_plain(each.get("title"), TITLE_LIMIT), url, _plain(text, SNIPPET_LIMIT))


def _plain(text: object, limit: int) -> str:
    """Return words without the markup some engines put around what matches."""
    words = TAG.sub("", text[: 4 * limit]) if isinstance(text, str) else ""
    return clean(" ".join(decode_references(words).split()))[:limit]


def leads_outside(url: str) -> bool:
    """Return whether `web_fetch` would try an address: a name of the public web, as far as that shows."""
    try:
        host = urlsplit(check_url(url)).hostname or ""
    except ToolError:
        return False
    try:
        return is_public(ip_address(host))
    except ValueError:
        return bool(host) and not is_closed_name(host)
