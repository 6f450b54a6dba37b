"""Fetch web pages as Markdown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from shipmate.tools.output import keep
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.tools.web.page import to_markdown

if TYPE_CHECKING:
    from shipmate.tools.web.fetcher import Fetcher


class WebFetchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str
    max_chars: Annotated[int, Meta(ge=100, le=100_000)] = 16_000


class WebFetch(Tool[WebFetchArguments]):
    """Read a page of the public internet."""

    name = "web_fetch"
    description = "Fetch a public web page as Markdown."
    arguments = WebFetchArguments
    # What comes back was written by strangers; and the address itself can carry data out, so the call asks.
    labels = Labels(reads_untrusted=True, acts=True)

    def __init__(self, fetcher: Fetcher | None = None) -> None:
        self._fetcher = fetcher

    async def picture(self, arguments: WebFetchArguments, context: ToolContext) -> Picture:
        return Picture((await super().picture(arguments, context)).text, {"address": arguments.url})

    async def run(self, arguments: WebFetchArguments, context: ToolContext) -> ToolResult:
        if self._fetcher is None:
            from shipmate.tools.web.fetcher import Fetcher

            self._fetcher = Fetcher()
        page = await self._fetcher.fetch(arguments.url)
        text = await asyncio.to_thread(to_markdown, page.body, page.kind, page.charset, page.url)
        if text is None:
            return ToolResult(output=f"{page.url}\n\n[{page.kind} of {len(page.body):,} bytes: not text]")
        note = "\n\n[the page goes on; only its beginning was fetched]" if page.is_cut else ""
        return ToolResult(output=keep(f"{page.url}\n\n{text}{note}", context, arguments.max_chars))
