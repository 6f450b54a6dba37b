"""Fetch web pages as Markdown."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from shipmate.decoding.worker import Work, call_aside
from shipmate.errors import DecodingError, ToolError
from shipmate.tools.output import keep
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult

if TYPE_CHECKING:
    from shipmate.documents.document import Kind
    from shipmate.tools.web.fetcher import FetchedPage, Fetcher

READ = Work(function="shipmate.tools.web.page:read_page", subject="The page", seconds=2.0, memory=150_000_000)
# Little time: a page on which the library takes longer is read by our own reader.
EXTRACT = Work(
    function="shipmate.tools.web.page:extract_page", subject="The page", seconds=0.5, memory=150_000_000
)

DOCUMENT_ROOM = 1_000_000


class WebFetchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str
    max_chars: Annotated[int, Meta(ge=100, le=100_000)] = 16_000


class WebFetch(Tool[WebFetchArguments]):
    """The tool that reads a page of the public internet."""

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
        text = await read_fetched(page)
        if text is None:
            return ToolResult(output=f"{page.url}\n\n[{page.kind} of {len(page.body):,} bytes: not text]")
        note = "\n\n[the page goes on; only its beginning was fetched]" if page.is_cut else ""
        return ToolResult(output=keep(f"{page.url}\n\n{text}{note}", context, arguments.max_chars))


async def read_fetched(page: FetchedPage) -> str | None:
    """Return a page's text, None when it has none; HTML and documents are taken apart in a child process."""
    # Most turns fetch nothing.
    from shipmate.documents.document import kind_of
    from shipmate.tools.web.page import is_html, to_markdown

    if kind := kind_of(page.body):
        return await _read_document(page, kind)
    if not is_html(page.body, page.kind):
        return to_markdown(page.body, page.kind, page.charset, page.url)
    try:
        return await _extract(page) or await _call(READ, page)
    except DecodingError as error:
        raise ToolError(f"{page.url} was fetched, but {str(error)[:1].lower()}{str(error)[1:]}") from error


async def _read_document(page: FetchedPage, kind: Kind) -> str:
    from shipmate.documents.document import read_document, write_units

    name = urlsplit(page.url).path.rpartition("/")[2] or "document"
    try:
        # As much as the call's log may be looked up for.
        found = await read_document(page.body, kind, name, room=DOCUMENT_ROOM)
    except DecodingError as error:
        why = " Only its beginning was fetched." if page.is_cut else ""
        raise ToolError(f"{error}{why}") from error
    note = "\n\n[the document goes on; only its beginning was read]" if found.following else ""
    return clean(write_units(msgspec.structs.replace(found, following=None), name)) + note


async def _extract(page: FetchedPage) -> str:
    """Let the library for it find the content, where it is installed and the page is an ordinary one."""
    from shipmate.tools.web.page import EXTRACTED_TAGS

    if page.body.count(b"<") > EXTRACTED_TAGS or find_spec("trafilatura") is None:
        return ""
    try:
        return await _call(EXTRACT, page)
    except DecodingError:
        return ""


async def _call(work: Work, page: FetchedPage) -> str:
    return (await call_aside(work, page.body, charset=page.charset, url=page.url)).decode()
