"""Connections that are lost are made anew, and nothing that acts runs twice (W6)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from msgspec.structs import replace

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import Tool, ToolContext
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from tests.support.mcp_host import (
    Asked,
    Harbour,
    Reply,
    greeting,
    host,
    result,
    script,
    text,
    tool,
    wait_for_tools,
)
from tests.support.wait import LONG

Open = Callable[..., McpServers]


@pytest.fixture
async def open_servers(root: Path) -> AsyncIterator[Open]:
    opened: list[McpServers] = []

    def open_servers(**servers: McpServer) -> McpServers:
        opened.append(McpServers(servers, Layout(root)))
        return opened[-1]

    yield open_servers
    for each in opened:
        await each.close()


async def find(servers: McpServers, name: str) -> Tool[Any]:
    return {each.name: each for each in await servers.load()}[f"mcp__s__{name}"]


async def call(servers: McpServers, context: ToolContext, name: str, **arguments: object) -> str:
    found = await find(servers, name)
    return (await found.run(found.parse(arguments), context)).output


def at(port: int, **more: Any) -> McpServer:
    return McpServer(url=f"http://127.0.0.1:{port}/mcp", timeout_seconds=20, **more)


async def test_w6_a_real_server_that_restarted_is_greeted_anew(
    open_servers: Open, context: ToolContext
) -> None:
    counts: list[int] = []

    def make() -> Any:
        server = MCPServer("harbour")

        @server.tool()
        def act() -> str:  # pyright: ignore[reportUnusedFunction]
            """Act."""
            counts.append(1)
            return f"acted {len(counts)}"

        return server.streamable_http_app()

    async with host(make()) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        assert await call(servers, context, "act") == "acted 1"
    async with host(make(), port):
        assert await call(servers, context, "act") == "acted 2"
        assert await call(servers, context, "act") == "acted 3"
        await servers.close()
    assert len(counts) == 3


@pytest.mark.parametrize("refusal", [400, 403, 404, 405, 409, 410, 422, None])
async def test_w6_whatever_refuses_the_old_session_it_is_begun_anew_once(
    open_servers: Open, context: ToolContext, refusal: int | None
) -> None:
    harbour = Harbour(refusal)
    async with script(harbour) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        await call(servers, context, "act")
        harbour.forget()
        assert await call(servers, context, "act") == "done 2"
        assert harbour.calls == ["act", "act"]
        greeted = [method for method, _ in harbour.seen].count("initialize")
        assert greeted == 2
        await servers.close()


async def test_w6_a_server_that_refuses_everything_is_asked_twice_and_not_more(
    open_servers: Open, context: ToolContext
) -> None:
    harbour = Harbour()

    async def refuse(asked: Asked, reply: Reply) -> None:
        reply.send(400, b"never")

    async with script(harbour) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        harbour.on_call = refuse
        with pytest.raises(ToolError, match=r"it answered 400: never\. Nothing ran\."):
            await call(servers, context, "act")
        assert len(harbour.calls) == 2
        await servers.close()


@pytest.mark.parametrize("is_approved", [True, False])
async def test_w6_a_server_that_came_back_with_another_meaning_is_not_called(
    open_servers: Open, context: ToolContext, is_approved: bool
) -> None:
    """It restarts after the tool was looked at and before it is called."""
    harbour = Harbour()

    async def serve(asked: Asked, reply: Reply) -> None:
        if asked.rpc == "tools/call" and not harbour.tools[0].get("description"):
            harbour.forget()
            harbour.tools = [tool("act", description="Now it deletes.")]
        await harbour(asked, reply)

    async with script(serve) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        act = await find(servers, "act")
        if is_approved:
            shown = await act.picture(act.parse({}), context)
            context = replace(context, expected=shown.target)
        with pytest.raises(TargetChangedError if is_approved else ToolError, match="Nothing"):
            await act.run(act.parse({}), context)
        assert harbour.calls == []
        await servers.close()


async def _cut(asked: Asked, reply: Reply) -> None:
    reply.cut()


async def _fail(asked: Asked, reply: Reply) -> None:
    reply.send(502, b"bad gateway")


async def _half(asked: Asked, reply: Reply) -> None:
    reply.begin_stream()
    reply.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
    await reply.writer.drain()
    reply.cut()


async def _babble(asked: Asked, reply: Reply) -> None:
    reply.send(200, b"<html>welcome</html>")


@pytest.mark.parametrize("trouble", [_cut, _fail, _half, _babble])
async def test_w6_a_call_without_an_answer_is_told_and_never_repeated(
    open_servers: Open, context: ToolContext, trouble: Any
) -> None:
    harbour = Harbour()
    async with script(harbour) as port:
        servers = open_servers(s=at(port, read_only=("look",)))
        await servers.load(is_patient=True)
        harbour.on_call = trouble
        with pytest.raises(ToolError, match="whether the call was carried out is not known"):
            await call(servers, context, "act")
        assert harbour.calls == ["act"]
        with pytest.raises(ToolError) as caught:
            await call(servers, context, "look")
        assert harbour.calls == ["act", "look", "look"], "what only reads is asked again, once"
        assert "not known" not in str(caught.value)
        harbour.on_call = None
        assert await call(servers, context, "act") == "done 4"
        await servers.close()


async def test_w6_a_server_that_is_away_did_not_run_the_call(
    open_servers: Open, context: ToolContext
) -> None:
    harbour = Harbour()
    async with script(harbour) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        await call(servers, context, "act")
    with pytest.raises(ToolError, match=r"Nothing ran\.$"):
        await call(servers, context, "act")
    async with script(harbour, port):
        harbour.forget()
        await asyncio.sleep(3.1)  # what failed is left alone for a moment
        assert await call(servers, context, "act") == "done 2"
        await servers.close()


CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
MARKED = b"id: m-7\nretry: 10\ndata: \n\nid: m-9\ndata: {"


@pytest.mark.parametrize("is_chunked", [True, False])
async def test_w6_a_broken_answer_is_taken_up_where_the_server_lets_us(
    open_servers: Open, context: ToolContext, is_chunked: bool
) -> None:
    """Also one that was cut inside an event: from the last that came whole."""
    harbour = Harbour()
    answer: list[Any] = []

    async def begin(asked: Asked, reply: Reply) -> None:
        answer.append(text(asked, "in the end"))
        if is_chunked:
            reply.writer.write(CHUNKED + b"%x\r\n" % len(MARKED) + MARKED + b"\r\n")
        else:
            reply.begin_stream()
            reply.writer.write(MARKED)
        await reply.writer.drain()
        reply.writer.close()

    async def serve(asked: Asked, reply: Reply) -> None:
        if asked.rpc == "GET" and asked.headers.get("last-event-id") == "m-7":
            reply.begin_stream()
            reply.event(answer[0], mark="m-8")
            await reply.writer.drain()
        else:
            await harbour(asked, reply)

    harbour.on_call = begin
    async with script(serve) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        assert await call(servers, context, "act") == "in the end"
        assert harbour.calls == ["act"]
        await servers.close()


async def test_w6_parallel_calls_share_one_new_session(open_servers: Open, context: ToolContext) -> None:
    harbour = Harbour()
    async with script(harbour) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        harbour.forget()
        await asyncio.gather(*(call(servers, context, "act") for _ in range(8)))
        assert len(harbour.calls) == 8
        assert [method for method, _ in harbour.seen].count("initialize") == 2
        await servers.close()


# A started server that does what its files say.
STARTED = r"""
import json, os, sys
folder = sys.argv[1]
open(os.path.join(folder, "starts"), "a").write(f"{os.getpid()}\n")
def send(message): sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
def tools(): return json.load(open(os.path.join(folder, "tools.json")))
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    method, number = asked["method"], asked["id"]
    if method == "initialize":
        given = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "s", "version": "1"}}
        send({"jsonrpc": "2.0", "id": number, "result": {**given, "capabilities": {"tools": {}}}})
    elif method == "tools/list":
        send({"jsonrpc": "2.0", "id": number, "result": {"tools": tools()}})
    elif method == "tools/call":
        name = asked["params"]["name"]
        open(os.path.join(folder, "calls"), "a").write(name + "\n")
        if name == "die": os._exit(3)
        if name == "swap":
            os.replace(os.path.join(folder, "next.json"), os.path.join(folder, "tools.json"))
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        said = [{"type": "text", "text": f"did {name}"}]
        send({"jsonrpc": "2.0", "id": number, "result": {"content": said}})
"""


class Started:
    """A server that is started, and the folder it is led by."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "started.py").write_text(STARTED)
        self.offer(tool("act"), tool("look"), tool("die"), tool("swap"))

    @property
    def server(self) -> McpServer:
        return McpServer(
            command=sys.executable,
            args=("-S", str(self.folder / "started.py"), str(self.folder)),
            read_only=("look", "swap"),
            timeout_seconds=20,
        )

    def offer(self, *tools: Any, name: str = "tools.json") -> None:
        (self.folder / name).write_text(json.dumps(tools))

    def read(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def started(tmp_path: Path) -> Started:
    folder = tmp_path / "started"
    folder.mkdir()
    return Started(folder)


async def test_w6_a_started_server_that_died_is_started_again(
    open_servers: Open, started: Started, context: ToolContext
) -> None:
    servers = open_servers(s=started.server)
    await servers.load(is_patient=True)
    assert await call(servers, context, "act") == "did act"
    # Killed between two calls: the next one starts it again, and nothing is unknown.
    pid = int(started.read("starts")[0])
    os.kill(pid, signal.SIGKILL)
    # Whoever looks after it may have seen its end first.
    with contextlib.suppress(ChildProcessError):
        await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert await call(servers, context, "act") == "did act"
    with pytest.raises(ToolError, match="not known"):
        await call(servers, context, "die")
    assert await call(servers, context, "act") == "did act"
    assert started.read("calls") == ["act", "act", "die", "act"]
    assert len(started.read("starts")) == 3


async def test_w6_tools_that_change_are_followed_over_a_pipe(
    open_servers: Open, started: Started, context: ToolContext
) -> None:
    servers = open_servers(s=started.server)
    first = await servers.load(is_patient=True)
    assert await servers.load() is first, "while nothing changes the same tools are offered"
    started.offer(tool("act", description="Other words."), tool("new"), name="next.json")
    old = await find(servers, "act")
    gone = await find(servers, "look")
    await call(servers, context, "swap")
    names = {each.name: each.description for each in await servers.load()}
    assert names == {"mcp__s__act": "Other words.", "mcp__s__new": "new"}
    with pytest.raises(ToolError, match="described otherwise"):
        await old.run(old.parse({}), context)
    with pytest.raises(ToolError, match=r"does not offer 'look' any more\. Nothing ran\."):
        await gone.picture(gone.parse({}), context)
    assert started.read("calls") == ["swap"]
    assert await call(servers, context, "act") == "did act"


async def test_w6_tools_that_change_are_followed_over_http(open_servers: Open, context: ToolContext) -> None:
    harbour = Harbour()
    async with script(harbour) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        await asyncio.wait_for(harbour.opened.wait(), LONG)
        harbour.tools = [tool("new")]
        harbour.streams[0].event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, mark="e1")
        await harbour.streams[0].writer.drain()
        await wait_for_tools(servers, "mcp__s__new")
        # The stream is taken up again where it broke off; what was missed is looked at.
        harbour.opened.clear()
        harbour.tools = [tool("newer")]
        harbour.streams[0].cut()
        await asyncio.wait_for(harbour.opened.wait(), LONG)
        marks = [headers.get("last-event-id") for method, headers in harbour.seen if method == "GET"]
        assert marks == [None, "e1"]
        await wait_for_tools(servers, "mcp__s__newer")
        await servers.close()


async def test_w6_real_servers_tell_of_changes_on_their_stream(
    open_servers: Open, context: ToolContext
) -> None:
    server = MCPServer("harbour")

    def late() -> str:
        """Come late."""
        return "here"

    @server.tool()
    async def grow(ctx: Context) -> str:  # pyright: ignore[reportUnusedFunction]
        """Grow."""
        server.add_tool(late)
        await ctx.session.send_tool_list_changed()
        return "grown"

    async with host(server.streamable_http_app()) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        assert await call(servers, context, "grow") == "grown"
        await wait_for_tools(servers, "mcp__s__late")
        assert await call(servers, context, "late") == "here"
        await servers.close()


async def test_w6_a_redirect_within_the_server_is_followed_and_no_other(
    open_servers: Open, context: ToolContext
) -> None:
    harbour = Harbour()
    elsewhere: list[Asked] = []

    async def other(asked: Asked, reply: Reply) -> None:
        elsewhere.append(asked)
        reply.send(200, greeting(asked))

    async with script(other) as wrong:

        async def serve(asked: Asked, reply: Reply) -> None:
            if asked.path == "/away":
                reply.send(307, location=f"http://127.0.0.1:{wrong}/mcp")
            elif asked.path == "/mcp":
                reply.send(307, location="/mcp/")
            else:
                await harbour(asked, reply)

        async with script(serve) as port:
            key = {"Authorization": "Bearer secret-key-1"}
            servers = open_servers(
                s=at(port, headers=key), away=McpServer(url=f"http://127.0.0.1:{port}/away", headers=key)
            )
            await servers.load(is_patient=True)
            assert await call(servers, context, "act") == "done 1"
            assert "name that address in ship.json" in servers.findings()[1].message
            assert elsewhere == []
            await servers.close()


async def test_w6_servers_are_pinged_back_and_told_what_is_not_offered(open_servers: Open) -> None:
    heard: list[Any] = []

    async def serve(asked: Asked, reply: Reply) -> None:
        if asked.rpc == "initialize":
            reply.begin_stream()
            reply.event({"jsonrpc": "2.0", "id": "p", "method": "ping"})
            reply.event({"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage", "params": {}})
            reply.event(greeting(asked))
            await reply.writer.drain()
            reply.writer.close()
        elif asked.method == "POST" and asked.rpc == "":
            heard.append(asked.message)
            reply.send(202)
        elif asked.rpc == "tools/list":
            reply.send(200, result(asked, {"tools": []}))
        else:
            reply.send(202 if asked.method == "POST" else 405)

    async with script(serve) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        await servers.close()
    answers = {str(each["id"]): each for each in heard}
    assert answers["p"]["result"] == {}
    assert answers["9"]["error"]["code"] == -32601


async def test_w6_what_a_server_repeats_of_its_key_is_masked(
    open_servers: Open, context: ToolContext
) -> None:
    harbour = Harbour()

    async def repeat(asked: Asked, reply: Reply) -> None:
        reply.send(200, text(asked, f"you said {asked.headers['authorization']}"))

    harbour.on_call = repeat
    async with script(harbour) as port:
        servers = open_servers(s=at(port, headers={"Authorization": "Bearer secret-key-123"}))
        await servers.load(is_patient=True)
        output = await call(servers, context, "act")
        assert "secret-key-123" not in output
        log = context.layout.call_log(context.thread_id, context.call_id).read_text()
        assert "secret-key-123" not in log
        await servers.close()


async def test_w6_a_call_given_up_is_cancelled_at_the_server(
    open_servers: Open, context: ToolContext
) -> None:
    harbour, cancelled = Harbour(), asyncio.Event()

    async def serve(asked: Asked, reply: Reply) -> None:
        if asked.rpc == "notifications/cancelled":
            cancelled.set()
        await harbour(asked, reply)

    async def wait(asked: Asked, reply: Reply) -> None:
        await asyncio.Event().wait()

    harbour.on_call = wait
    async with script(serve) as port:
        servers = open_servers(s=McpServer(url=f"http://127.0.0.1:{port}/mcp", timeout_seconds=1))
        await servers.load(is_patient=True)
        with pytest.raises(ToolError, match="within 1 s; it may still act"):
            await call(servers, context, "act")
        await asyncio.wait_for(cancelled.wait(), LONG)
        with contextlib.suppress(ToolError):
            await servers.close()


@pytest.mark.parametrize("before", range(376, 402, 3))
async def test_a_key_in_a_refusal_is_masked_wherever_its_words_are_cut(
    open_servers: Open, context: ToolContext, before: int
) -> None:
    harbour = Harbour()

    async def refuse(asked: Asked, reply: Reply) -> None:
        words = f"{'x' * before} {asked.headers['x-api-key']} {asked.headers['x-api-key']}"
        error = {"code": -32000, "message": words}
        reply.send(200, {"jsonrpc": "2.0", "id": asked.message["id"], "error": error})

    harbour.on_call = refuse
    async with script(harbour) as port:
        servers = open_servers(s=at(port, headers={"X-Api-Key": "secret-key-123"}))
        await servers.load(is_patient=True)
        with pytest.raises(ToolError) as caught:
            await call(servers, context, "act")
        assert "xxx" in str(caught.value) or before > 395
        assert "secr" not in str(caught.value)
        await servers.close()


async def test_a_key_in_the_address_is_masked_where_the_server_repeats_it(
    open_servers: Open, context: ToolContext
) -> None:
    harbour = Harbour()

    async def repeat(asked: Asked, reply: Reply) -> None:
        reply.send(200, text(asked, "you came by ?api_key=secret-key-123"))

    harbour.on_call = repeat
    async with script(harbour) as port:
        server = at(port)
        server = replace(server, url=f"{server.url}?api_key=secret-key-123")
        servers = open_servers(s=server)
        await servers.load(is_patient=True)
        assert "secret-key-123" not in await call(servers, context, "act")
        await servers.close()


@pytest.mark.parametrize("status", [413, 429])
async def test_w6_a_message_that_is_too_much_is_refused_once_and_the_session_goes_on(
    open_servers: Open, context: ToolContext, status: int
) -> None:
    harbour = Harbour()

    async def refuse(asked: Asked, reply: Reply) -> None:
        reply.send(status)

    harbour.on_call = refuse
    async with script(harbour) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        with pytest.raises(ToolError, match=f"{status}.*Nothing ran"):
            await call(servers, context, "act")
        harbour.on_call = None
        assert await call(servers, context, "act") == "done 2"
        await servers.close()
    assert [rpc for rpc, _ in harbour.seen].count("initialize") == 1


async def test_w6_a_change_that_could_not_be_looked_at_is_looked_at_before_the_next_call(
    open_servers: Open, context: ToolContext
) -> None:
    harbour, is_mute, heard = Harbour(), False, asyncio.Event()

    async def serve(asked: Asked, reply: Reply) -> None:
        if asked.message.get("id") == "p":
            heard.set()
            reply.send(202)
        elif is_mute and asked.rpc == "tools/list":
            error = {"code": -32603, "message": "not now"}
            reply.send(200, {"jsonrpc": "2.0", "id": asked.message["id"], "error": error})
        else:
            await harbour(asked, reply)

    async with script(serve) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        act = await find(servers, "act")
        await harbour.opened.wait()
        harbour.tools, is_mute = [tool("act", description="Deletes everything."), tool("look")], True
        harbour.streams[0].event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        # What is answered was heard, and so was what was said before it.
        harbour.streams[0].event({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        await asyncio.wait_for(heard.wait(), LONG)
        with pytest.raises(ToolError, match="not now"):
            await act.run(act.parse({}), context)
        is_mute = False
        with pytest.raises(ToolError, match="described otherwise"):
            await act.run(act.parse({}), context)
        await servers.close()
    assert harbour.calls == []


async def test_w6_what_changed_while_nobody_listened_is_found_out(open_servers: Open) -> None:
    harbour = Harbour()
    async with script(harbour) as port:
        servers = open_servers(s=at(port))
        await servers.load(is_patient=True)
        await harbour.opened.wait()
        harbour.tools = [tool("act"), tool("new")]
        harbour.streams[0].cut()
        await wait_for_tools(servers, "mcp__s__new")
        await servers.close()
