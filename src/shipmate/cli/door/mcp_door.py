"""Offer threads, members and memory to programs that speak MCP."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine
from typing import Annotated, Any, Protocol
from urllib.parse import quote, unquote

import msgspec

from shipmate import __version__
from shipmate.app import Shipmate
from shipmate.cli.door.door_wording import name_call, tell
from shipmate.cli.door.line_peer import LinePeer, UnknownMethodError
from shipmate.cli.door.memory_files import list_memory
from shipmate.cli.ship import local_user
from shipmate.cli.terminal.show import write_markdown
from shipmate.errors import NotFoundError, ShipmateError, UserError
from shipmate.tools.mcp.rpc import VERSION, VERSIONS
from shipmate.tools.tool import argument_schema
from shipmate.values.event import Outcome, TextEvent
from shipmate.values.message import JsonObject, new_id, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

PLATFORM = "mcp"
ADDRESS = "shipmate://"
MARKDOWN = "text/markdown"
LISTED = 50
# Of a message or a file that was found.
SNIPPET = 300
Count = Annotated[int, msgspec.Meta(ge=1, le=500)]
Words = Annotated[str, msgspec.Meta(min_length=1, max_length=200_000)]


class ListThreads(msgspec.Struct, forbid_unknown_fields=True):
    """List threads, the latest first."""

    query: Annotated[str, msgspec.Meta(description="Keep those whose title or id contains it.")] = ""
    limit: Count = 30


class ReadThread(msgspec.Struct, forbid_unknown_fields=True):
    """Read the last messages of a thread, as Markdown."""

    thread: Words
    last: Count = 20


class SearchThreads(msgspec.Struct, forbid_unknown_fields=True):
    """Find messages that hold words, in all threads."""

    query: Words
    limit: Count = 20


class ListMembers(msgspec.Struct, forbid_unknown_fields=True):
    """List the members: who can be asked."""


class AskingMember(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Ask a member and wait for the answer.

    What it does is asked about as always: where a person must decide, the answer says so.
    """

    text: Words
    member: Annotated[str | None, msgspec.Meta(description="The id or name of a member.")] = None
    thread: Annotated[str | None, msgspec.Meta(description="Go on in this thread of an earlier ask.")] = None
    wait_seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 50


class ReadMemory(msgspec.Struct, forbid_unknown_fields=True):
    """Read a file of a member's memory; without a path, list the files."""

    path: str = ""
    member: str = CAPTAIN


class SearchMemory(msgspec.Struct, forbid_unknown_fields=True):
    """Find lines in a member's memory that hold words, in capitals or not."""

    query: Words
    member: str = CAPTAIN
    limit: Count = 20


TOOLS: dict[str, type[msgspec.Struct]] = {
    "list_threads": ListThreads,
    "read_thread": ReadThread,
    "search_threads": SearchThreads,
    "list_members": ListMembers,
    "ask_member": AskingMember,
    "read_memory": ReadMemory,
    "search_memory": SearchMemory,
}


async def serve(ship: Shipmate) -> None:
    """Answer the program that started this one until it leaves."""
    door = McpDoor(ship)
    door.peer = peer = LinePeer(door.answer, door.hear)
    await peer.serve()


class Peer(Protocol):
    """The program that asks."""

    @property
    def is_gone(self) -> bool:
        """Return whether it has left."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> object:
        """Do something beside."""
        ...

    def cancel(self, key: object) -> None:
        """End what is being answered under an id."""
        ...


class McpDoor:
    """What a program asks of the workspace, method by method."""

    peer: Peer

    def __init__(self, ship: Shipmate) -> None:
        self._ship = ship

    async def answer(self, method: str, params: JsonObject) -> Any:
        """Answer a request."""
        match method:
            case "initialize":
                return _introduce(params)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [_describe(name, arguments) for name, arguments in TOOLS.items()]}
            case "tools/call":
                return await self._call(params)
            case "resources/list":
                return {"resources": await self._list_resources()}
            case "resources/templates/list":
                return {"resourceTemplates": _templates()}
            case "resources/read":
                uri = str(params.get("uri"))
                text = await self._read(uri)
                return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text}]}
            case _:
                raise UnknownMethodError(f"{method[:100]!r} is not offered")

    def hear(self, method: str, params: JsonObject) -> None:
        """Take what wants no answer."""
        if method == "notifications/cancelled":
            self.peer.cancel(params.get("requestId"))

    async def _call(self, params: JsonObject) -> JsonObject:
        name = str(params.get("name"))
        if name not in TOOLS:
            raise UserError(f"there is no tool {name[:100]!r}. There are: {', '.join(TOOLS)}.")
        try:
            arguments = msgspec.convert(params.get("arguments") or {}, TOOLS[name])
            return await self._do(arguments)
        except msgspec.ValidationError as error:
            return _result(f"{error}. Mend this argument.", is_error=True)
        except ShipmateError as error:
            # Whoever called reads this, and can do better.
            return _result(str(error), is_error=True)

    async def _do(self, arguments: msgspec.Struct) -> JsonObject:
        match arguments:
            case ListThreads():
                return _result(self._write(await self._list_threads(arguments.query, arguments.limit)))
            case ReadThread():
                return _result(await self._read_thread(arguments.thread, arguments.last))
            case SearchThreads():
                return _result(self._write(await self._search_threads(arguments)))
            case ListMembers():
                return _result(self._write(self._list_members()))
            case AskingMember():
                return await self._ask(arguments)
            case ReadMemory():
                return _result(self._read_memory(arguments.member, arguments.path))
            case SearchMemory():
                return _result(self._write(self._search_memory(arguments)))
            case _:
                raise AssertionError(arguments)

    def _write(self, rows: list[JsonObject]) -> str:
        return "\n".join(self._ship.loaded.mask(msgspec.json.encode(row).decode()) for row in rows)

    def _snip(self, text: str) -> str:
        # Masked before it is cut: half a key would not be known for one.
        return self._ship.loaded.mask(text)[:SNIPPET]

    async def _list_threads(self, query: str, limit: int) -> list[JsonObject]:
        await self._ship.store.reconcile()
        found = await self._ship.store.threads.list(query=query, limit=limit)
        return [
            {"thread": each.thread_id, "title": each.title, "member": each.member, "last": each.last_at}
            for each in found
        ]

    async def _read_thread(self, name: str, last: int | None = None) -> str:
        thread_id = ThreadId.parse(name)
        thread = await self._ship.threads.read(thread_id)
        info = await self._ship.store.threads.find(str(thread_id))
        title = info.title if info is not None and info.title else str(thread_id)
        shown = thread.messages if last is None else thread.messages[-last:]
        return self._ship.loaded.mask(write_markdown(title, shown))

    async def _search_threads(self, wanted: SearchThreads) -> list[JsonObject]:
        await self._ship.store.reconcile()
        return [
            {"thread": hit.thread_id, "role": hit.role, "at": hit.at, "text": self._snip(hit.text)}
            for hit in await self._ship.store.search.find(wanted.query, wanted.limit)
        ]

    def _list_members(self) -> list[JsonObject]:
        return [
            {"id": each.id, "name": each.name, "description": each.description}
            for each in self._ship.crew.list()
        ]

    async def _ask(self, asked: AskingMember) -> JsonObject:
        member = self._ship.crew.choose(asked.member).id if asked.member is not None else None
        thread_id = await self._choose_thread(asked.thread)
        event = TextEvent(
            platform=PLATFORM,
            thread_id=str(thread_id),
            user_id=local_user(),
            message_id=new_id("in"),
            timestamp=timestamp(),
            text=asked.text,
            member=member,
        )
        # Not by way of the commands of chats: words of a program are words.
        receipt = await self._ship.keeper.receive(event)
        try:
            async with asyncio.timeout(asked.wait_seconds):
                outcome = await receipt.outcome()
        except TimeoutError:
            words = tell(self._ship.config.language, "running")
            return _answered(thread_id, "running", words)
        except asyncio.CancelledError:
            # A program that wants no answer any more stops the run; one that is gone does not.
            if not self.peer.is_gone:
                self.peer.start(self._take_back(event))
            raise
        return _answered(thread_id, outcome.status, await self._word(outcome, str(thread_id)))

    async def _choose_thread(self, name: str | None) -> ThreadId:
        """Return the thread to ask in: programs speak in threads of their own and in no other."""
        if name is None:
            return ThreadId(PLATFORM, "session", secrets.token_hex(8))
        thread_id = ThreadId.parse(name)
        if thread_id.platform != PLATFORM:
            raise UserError(f"{thread_id} is a thread of people. Leave `thread` out to ask in a new one.")
        await self._ship.threads.read(thread_id)
        return thread_id

    async def _word(self, outcome: Outcome, thread_id: str) -> str:
        if outcome.status != "suspended":
            return outcome.text or outcome.error or ""
        language = self._ship.config.language
        lines = [
            tell(language, "waiting-item", what=name_call(each), id=each.id)
            for each in await self._ship.approvals.pending(thread_id)
        ]
        waiting = tell(language, "waiting", list="\n".join(lines))
        return "\n\n".join(filter(None, (outcome.text, waiting)))

    async def _take_back(self, event: TextEvent) -> None:
        if not await self._ship.keeper.withdraw(event.thread_id, event.message_id):
            await self._ship.keeper.stop(event.thread_id)

    def _read_memory(self, member: str, path: str) -> str:
        files = list_memory(self._ship.crew.choose(member))
        if not path:
            return "\n".join(files)
        if path not in files:
            raise NotFoundError(f"{member} has no memory file {path[:200]!r}. There are: {', '.join(files)}.")
        return self._ship.loaded.mask(files[path].read())

    def _search_memory(self, wanted: SearchMemory) -> list[JsonObject]:
        files = list_memory(self._ship.crew.choose(wanted.member))
        words = wanted.query.casefold()
        hits = (
            {"path": name, "line": number, "text": self._snip(line)}
            for name, file in files.items()
            for number, line in enumerate(file.read().splitlines(), 1)
            if words in line.casefold()
        )
        return [hit for hit, _ in zip(hits, range(wanted.limit), strict=False)]

    async def _list_resources(self) -> list[JsonObject]:
        threads = [
            _resource(f"thread/{quote(each['thread'], safe=':')}", each["title"] or each["thread"])
            for each in await self._list_threads("", LISTED)
        ]
        memory = [
            _resource(f"memory/{member.id}/{quote(name)}", f"{member.name}: {name}")
            for member in self._ship.crew.list()
            for name in list_memory(member)
        ]
        return [*threads, *memory]

    async def _read(self, uri: str) -> str:
        kind, _, rest = uri.removeprefix(ADDRESS).partition("/")
        if uri.startswith(ADDRESS) and kind == "thread":
            return await self._read_thread(unquote(rest))
        if uri.startswith(ADDRESS) and kind == "memory" and rest.partition("/")[2]:
            member, _, path = rest.partition("/")
            return self._read_memory(unquote(member), unquote(path))
        raise NotFoundError(f"there is no resource {uri[:200]!r}. Write {ADDRESS}thread/ID or so.")


def _introduce(params: JsonObject) -> JsonObject:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSION,
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "shipmate", "title": "Shipmate", "version": __version__},
    }


def _describe(name: str, arguments: type[msgspec.Struct]) -> JsonObject:
    is_ask = arguments is AskingMember
    return {
        "name": name,
        "description": " ".join((arguments.__doc__ or "").split()),
        "inputSchema": argument_schema(arguments),
        "annotations": {"readOnlyHint": not is_ask, "openWorldHint": is_ask},
    }


def _templates() -> list[JsonObject]:
    return [
        {"uriTemplate": f"{ADDRESS}thread/{{thread}}", "name": "thread", "mimeType": MARKDOWN},
        {"uriTemplate": f"{ADDRESS}memory/{{member}}/{{+path}}", "name": "memory", "mimeType": MARKDOWN},
    ]


def _resource(path: str, name: str) -> JsonObject:
    return {"uri": f"{ADDRESS}{path}", "name": name, "mimeType": MARKDOWN}


def _answered(thread_id: ThreadId, status: str, words: str) -> JsonObject:
    told = _result(f"{words}\n\n(thread {thread_id})", is_error=status == "failed")
    return {**told, "structuredContent": {"thread": str(thread_id), "status": status, "text": words}}


def _result(text: str, *, is_error: bool = False) -> JsonObject:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
