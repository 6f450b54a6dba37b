"""Hold the connection to one MCP server: made when first needed, and made anew when it was lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from shipmate.errors import ToolError
from shipmate.tools.mcp.auth.credential import credential_for
from shipmate.tools.mcp.intake import Intake
from shipmate.tools.mcp.offer import ForeignTool, Offer, OfferFile, choose_addresses, choose_tools
from shipmate.tools.mcp.rpc import AnswerError, LoginNeededError, NotSentError, RefusedError, UnsureError
from shipmate.tools.mcp.session import McpSession, McpWire
from shipmate.values.message import JsonObject
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from shipmate.workspace.secret.secret import MASK, looks_secret
from shipmate.workspace.secret.setting import address_secrets

log = logging.getLogger(__name__)
Result = TypeVar("Result")
# The first start of a server may have to fetch its program.
CONNECT_SECONDS = 30.0
# A server that failed is left alone for so long: by what looks after the tools, and by a call of one.
PAUSE_SECONDS = 60.0
CALL_PAUSE_SECONDS = 3.0
# What was given up ends within this, unless something is still on its way.
CLOSE_SECONDS = 10.0
# Shorter values are words that mean something else as well.
KEY_LENGTH = 8
INTERNAL_ERROR = -32603
# Refusals that say nothing of the session: the message is too large, or there are too many.
OF_THE_MESSAGE = (413, 429)
UNSURE = "whether the call was carried out is not known. Look before you make it again"


class McpLink:
    """The link to one server; it knows what the server offers, by now or when it was last asked."""

    def __init__(self, name: str, server: McpServer, layout: Layout) -> None:
        self.name = name
        self.server = server
        self.failure = ""
        self.needs_login = False
        # Whether the offer was made over the connection that is open now.
        self.is_live = False
        # When the server was last asked in the background, by the loop's clock.
        self.asked_at = 0.0
        self._layout = layout
        self._credential = credential_for(name, server, layout)
        self._file = OfferFile(layout.mcp_offer(name), server)
        self.offer, self._is_of_late = self._file.read() or (None, False)
        self._session: McpSession | None = None
        self._connecting = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        self._retired: set[asyncio.Task[None]] = set()
        self._has_changed = False
        self._failed_at = 0.0
        self._failed_with = 0

    @property
    def log(self) -> str:
        """Return how the file is named that a started server's complaints go to."""
        return self._layout.name_of(self._layout.mcp_log(self.name))

    @property
    def has_log(self) -> bool:
        """Return whether a started server has complained of anything."""
        path = self._layout.mcp_log(self.name)
        return path.is_file() and path.stat().st_size > 0

    @property
    def has_changed(self) -> bool:
        """Return whether the server has said that it offers something else now."""
        return self.is_live and self._has_changed

    @property
    def is_starting(self) -> bool:
        """Return whether the server is asked what it offers, and nothing is known yet."""
        return self.offer is None and self._refreshing is not None and not self._refreshing.done()

    @property
    def wants_refresh(self) -> bool:
        """Return whether the server should be asked what it offers."""
        is_known = self.offer is not None and (self.is_live or self._is_of_late)
        return (not is_known or self.has_changed) and not self._rests(PAUSE_SECONDS)

    def refresh(self) -> asyncio.Task[None]:
        """Ask the server what it offers, in the background; trouble is told by `failure`."""
        if self._refreshing is None or self._refreshing.done():
            self.asked_at = asyncio.get_running_loop().time()
            self._refreshing = asyncio.create_task(self._refresh())
        return self._refreshing

    async def find(self, tool: str, *, anew: bool = False) -> ForeignTool:
        """Return a tool as its server describes it over this connection; `anew` asks what it is by now."""
        _, is_fresh = await self._connected()
        if self._has_changed:
            await self._do(self._take_offer, repeatable=True)
        elif anew and not is_fresh:
            await self._do(self._take_tools, repeatable=True)
        return self._find(tool)

    async def call(
        self, tool: str, arguments: JsonObject, check: Callable[[ForeignTool], None] | None
    ) -> JsonObject:
        """Call a tool; one that acts has a `check`, which raises where the tool is not what was meant.

        The check is made in the very session the call is made in: a server that was begun anew since may have
        given the name another meaning.
        """

        async def work(session: McpSession) -> JsonObject:
            if check is not None:
                check(self._find(tool))
            return await session.request("tools/call", {"name": tool, "arguments": arguments})

        return await self._do(work, repeatable=check is None)

    def _find(self, tool: str) -> ForeignTool:
        found = self.offer.find(tool) if self.offer is not None else None
        if found is None:
            raise ToolError(f"MCP server {self.name} does not offer {tool!r} any more. Nothing ran.")
        return found

    async def request(self, method: str, params: JsonObject, *, repeatable: bool) -> JsonObject:
        """Ask the server for something; what is `repeatable` is asked again when no answer came."""
        return await self._do(lambda session: session.request(method, params), repeatable=repeatable)

    async def list_all(self, method: str, key: str) -> list[JsonObject]:
        """Return a whole list of the server's."""
        return await self._do(lambda session: session.list_all(method, key), repeatable=True)

    def cover(self, text: str) -> str:
        """Mask the keys this server is reached with: it may repeat them."""
        given = {**self.server.env, **self.server.headers}
        known = {value.rpartition(" ")[2] for name, value in given.items() if looks_secret(name)}
        known |= set(address_secrets(self.server.url)) if self.server.url else set()
        for secret in sorted(known | self._credential.secrets(), key=len, reverse=True):
            if len(secret) >= KEY_LENGTH:
                text = text.replace(secret, MASK)
        return text

    async def close(self) -> None:
        """End the connection and the server that was started for it."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)
        session, self._session, self.is_live = self._session, None, False
        if session is not None:
            await session.close()
        if self._retired:
            _, late = await asyncio.wait(self._retired, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()

    async def _refresh(self) -> None:
        try:
            _, is_fresh = await self._connected(PAUSE_SECONDS)
            if not is_fresh:
                await self._do(self._take_offer, repeatable=True)
        except ToolError as error:
            self._fail(self.failure or str(error).removeprefix(f"MCP server {self.name}: "))
        # The edge to a foreign program: nobody may be waiting for this task, so it is told by `failure`.
        except Exception as error:
            log.exception("MCP server %s cannot be asked", self.name)
            self._fail(type(error).__name__)

    async def _do(self, work: Callable[[McpSession], Awaitable[Result]], *, repeatable: bool) -> Result:
        """Do something in the session; once more in a new one where the first try certainly did nothing."""
        for is_last in (False, True):
            session, is_fresh = await self._connected()
            is_final = is_last or is_fresh
            try:
                async with asyncio.timeout(self.server.timeout_seconds):
                    return await work(session)
            except TimeoutError as error:
                seconds = f"{self.server.timeout_seconds:g} s"
                raise self._tell(f"did not answer within {seconds}; it may still act") from error
            except LoginNeededError as error:
                raise self._tell(f"{error}. Nothing ran") from error
            except (RefusedError, NotSentError) as error:
                if getattr(error, "status", 0) not in OF_THE_MESSAGE:
                    self._retire(session)
                    if not is_final:
                        continue
                raise self._tell(f"{error}. Nothing ran") from error
            except UnsureError as error:
                self._retire(session)
                if not repeatable or is_last:
                    raise self._tell(f"{error}" if repeatable else f"{error}; {UNSURE}") from error
            except AnswerError as error:
                if is_final or not await self._is_forgotten(session, error):
                    raise self._tell(str(error)) from error
                self._retire(session)
        raise AssertionError("the last try returns or raises")

    async def _is_forgotten(self, session: McpSession, error: AnswerError) -> bool:
        """Return whether an answer refuses the session: whatever is asked in it is answered the same."""
        if self.server.url is None or error.code in (0, INTERNAL_ERROR):
            return False
        try:
            async with asyncio.timeout(self.server.timeout_seconds):
                await session.request("tools/list")
        except AnswerError as again:
            return (again.code, str(again)) == (error.code, str(error))
        except (ToolError, TimeoutError):
            return False
        return False

    async def _connected(self, pause: float = CALL_PAUSE_SECONDS) -> tuple[McpSession, bool]:
        """Return the open session and whether it was opened for this."""
        if self._session is not None and self._session.is_open:
            return self._session, False
        async with self._connecting:
            if self._session is not None and self._session.is_open:
                return self._session, False
            if self._session is not None:
                self._retire(self._session)
            if self._rests(pause):
                raise ToolError(f"MCP server {self.name} is not available: {self.failure}. Nothing ran.")
            return await self._open(), True

    async def _open(self) -> McpSession:
        intake = Intake()
        session = McpSession(self._hear_change)
        try:
            async with asyncio.timeout(min(CONNECT_SECONDS, self.server.timeout_seconds)):
                await session.open(self._wire(intake, session))
                await self._take_offer(session)
        except BaseException as error:
            await asyncio.shield(session.close())
            if not isinstance(error, ToolError | TimeoutError | OSError):
                raise
            self._fail(intake.trouble or _describe(error))
            self.needs_login = isinstance(error, LoginNeededError)
            raise ToolError(
                f"MCP server {self.name} is not available: {self.failure}. Nothing ran."
            ) from error
        self._session, self.is_live = session, True
        self.failure, self.needs_login = "", False
        return session

    def _wire(self, intake: Intake, session: McpSession) -> McpWire:
        server = self.server
        if server.url is not None:
            from shipmate.tools.mcp.http import HttpWire

            return HttpWire(
                server.url,
                server.headers,
                intake,
                session.hear,
                self._credential,
                self._hear_change,
            )
        if server.command is not None:
            from shipmate.tools.mcp.stdio import StdioWire

            return StdioWire(server, self._layout.root, self._layout.mcp_log(self.name), intake, session.hear)
        raise NotSentError(f"give mcp.servers.{self.name} a `command` or a `url` in ship.json")

    async def _take_offer(self, session: McpSession) -> None:
        """Ask for all that the server offers, and remember it."""
        # Before it is asked: what changes meanwhile is looked at again.
        self._has_changed = False
        try:
            self._keep(await self._offer_of(session))
        except BaseException:
            self._has_changed = True
            raise

    async def _offer_of(self, session: McpSession) -> Offer:
        tools, left_out = await self._tools_of(session)
        resources = await _list_if_any(session, "resources", "resources/list")
        # Not every server that has resources knows patterns of their addresses.
        patterns = await _list_if_any(session, "resources", "resources/templates/list", "resourceTemplates")
        prompts = await _list_if_any(session, "prompts", "prompts/list")
        return Offer(
            tools=tools,
            left_out=left_out,
            resources=choose_addresses(resources),
            has_resources=bool(resources or patterns),
            has_prompts=bool(prompts),
        )

    async def _take_tools(self, session: McpSession) -> None:
        """Ask for the server's tools alone."""
        tools, left_out = await self._tools_of(session)
        self._keep(replace(self.offer or Offer(), tools=tools, left_out=left_out))

    async def _tools_of(self, session: McpSession) -> tuple[tuple[ForeignTool, ...], int]:
        asks = session.offers("tools") or not session.capabilities
        entries = await session.list_all("tools/list", "tools") if asks else []
        return choose_tools(entries, self.server.tools)

    def _keep(self, offer: Offer) -> None:
        self.failure = ""
        if offer != self.offer:
            self.offer, self._is_of_late = offer, False
        if not self._is_of_late:
            # Where the disk refuses, the server is asked again at the next start.
            with suppress(OSError):
                self._file.write(offer)
            self._is_of_late = True

    def _hear_change(self) -> None:
        self._has_changed = True

    def _retire(self, session: McpSession) -> None:
        """Take no more requests to a session; those on their way are let come to their end."""
        if self._session is session:
            self._session, self.is_live = None, False
            task = asyncio.create_task(session.close(patient=True))
            self._retired.add(task)
            task.add_done_callback(self._retired.discard)

    def _tell(self, words: str) -> ToolError:
        return ToolError(self.cover(f"MCP server {self.name}: {words}."))

    def _fail(self, words: str) -> None:
        self.failure = self.cover(words).rstrip(".")
        self._failed_at = time.monotonic()
        self._failed_with = self._credential.edition()

    def _rests(self, seconds: float) -> bool:
        if not self.failure or self._failed_with != self._credential.edition():
            return False
        return time.monotonic() - self._failed_at < seconds


def _describe(error: ToolError | TimeoutError | OSError) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)


async def _list_if_any(session: McpSession, what: str, method: str, key: str = "") -> list[JsonObject]:
    """Return a list the server says it has; none where it then does not know of it."""
    if not session.offers(what):
        return []
    try:
        return await session.list_all(method, key or what)
    except AnswerError:
        return []
