"""Hold the connection to one MCP server, made when first needed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shipmate.errors import ToolError
from shipmate.tools.mcp.intake import MESSAGE_LIMIT, Intake, bound
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout, make_private

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

# The first start of a server may have to fetch its program.
CONNECT_SECONDS = 30.0
# A server that failed is left alone for so long, so that it does not delay every turn.
PAUSE_SECONDS = 60.0
PAGE_LIMIT = 20
# Tools that are looked through, and those of one server that are offered.
LISTED_LIMIT = 2_000
TOOL_LIMIT = 128
MISSING = "the MCP extra is not installed; run: pip install 'shipmate[mcp]'"


class McpLink:
    """The link to one server; the connection lives in a task of its own, which alone opens and closes it."""

    def __init__(self, name: str, server: McpServer, layout: Layout) -> None:
        self.name = name
        self.server = server
        self._layout = layout
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._stop = asyncio.Event()
        self.failure = ""
        # How many of its tools are not offered, because there are too many.
        self.left_out = 0
        self._failed_at = 0.0
        self._intake = Intake()

    async def list_tools(self) -> list[Tool]:
        """Ask the server for its tools; none when it cannot be reached, and `failure` then says why."""
        if self._rests():
            return []
        try:
            async with asyncio.timeout(self.server.timeout_seconds):
                tools = await _all_tools(await self._connect())
        except Exception as error:  # noqa: BLE001 - a foreign program's edge; reported through `failure`
            self._fail(error)
            return []
        self.failure = ""
        wanted = self.server.tools
        found = [tool for tool in tools if wanted is None or tool.name in wanted]
        self.left_out = max(0, len(found) - TOOL_LIMIT)
        return found[:TOOL_LIMIT]

    async def call(self, tool: str, arguments: dict[str, object]) -> CallToolResult:
        """Call one of the server's tools."""
        try:
            async with asyncio.timeout(self.server.timeout_seconds):
                return await (await self._connect()).call_tool(tool, arguments)
        except ToolError:
            raise
        except TimeoutError as error:
            seconds = f"{self.server.timeout_seconds:g} s"
            raise ToolError(
                f"MCP server {self.name} did not answer within {seconds}; it may still act."
            ) from error
        except Exception as error:  # a foreign program's edge: whatever went wrong there, the model is told
            if _is_broken(error):
                # The next call connects anew.
                await self.close()
            raise ToolError(f"MCP server {self.name}: {self._intake.trouble or describe(error)}.") from error

    async def close(self) -> None:
        """End the connection and the server that was started for it."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])
            self._task = None

    async def _connect(self) -> Client:
        if self._task is None or self._task.done():
            if self._rests():
                raise ToolError(f"MCP server {self.name} is not available: {self.failure}.")
            self._stop.clear()
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold(self._ready))
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        try:
            async with (
                asyncio.timeout(min(CONNECT_SECONDS, self.server.timeout_seconds)) as limit,
                self._open() as client,
            ):
                limit.reschedule(None)
                self.failure = ""
                ready.set_result(client)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001 - a foreign program's edge; reported through `failure`
            self._fail(error)
            if not ready.done():
                ready.set_exception(ToolError(self.failure))

    def _fail(self, error: Exception) -> None:
        self.failure = self._intake.trouble or describe(error)
        self._failed_at = time.monotonic()

    def _rests(self) -> bool:
        return bool(self.failure) and time.monotonic() - self._failed_at < PAUSE_SECONDS

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Client, None]:
        try:
            import httpx2
            from mcp import Client, StdioServerParameters
            from mcp.client.streamable_http import streamable_http_client

            from shipmate.tools.mcp.http import BoundedTransport
            from shipmate.tools.mcp.stdio import open_stdio
        except ImportError as error:
            raise ToolError(MISSING) from error
        server, self._intake = self.server, Intake()
        if server.url is not None:
            web = httpx2.AsyncClient(
                headers=server.headers,
                timeout=server.timeout_seconds,
                transport=BoundedTransport(self._intake),
            )
            wire = streamable_http_client(server.url, http_client=web, max_sse_event_size=MESSAGE_LIMIT)
            async with web, Client(bound(wire, self._intake)) as client:
                yield client
        elif server.command is not None:
            start = StdioServerParameters(
                command=server.command, args=list(server.args), env=dict(server.env), cwd=self._layout.root
            )
            make_private(self.log.parent)
            async with Client(bound(open_stdio(start, self.log, self._intake), self._intake)) as client:
                yield client
        else:
            raise ToolError(f"give mcp.servers.{self.name} a `command` or a `url` in ship.json")

    @property
    def log(self) -> Path:
        """Return the file a started server's complaints go to."""
        return self._layout.mcp_log(self.name)


async def _all_tools(client: Client) -> list[Tool]:
    page = await client.list_tools()
    tools = list(page.tools)
    for _ in range(PAGE_LIMIT):
        if page.next_cursor is None or len(tools) > LISTED_LIMIT:
            break
        page = await client.list_tools(cursor=page.next_cursor)
        tools += page.tools
    return tools


def _is_broken(error: Exception) -> bool:
    """Tell a lost connection from an answer that says no."""
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    return not isinstance(error, MCPError) or error.error.code == CONNECTION_CLOSED


def describe(error: BaseException) -> str:
    """Say in one line what went wrong; of a group, its first cause."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return (str(error) or type(error).__name__).strip().splitlines()[0].rstrip(".")
