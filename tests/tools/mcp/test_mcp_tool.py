from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.mcp.mcp_tool import name_tool
from shipmate.tools.tool import ToolContext
from shipmate.tools.toolset import AnyTool, Toolset, default_toolset
from shipmate.workspace.config import Config, Mcp, McpServer
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of

SERVER = '''
import base64, os, sys, time
from mcp.server.mcpserver import MCPServer
from mcp.types import ImageContent

server = MCPServer("harbour")

@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers.\\x1b[31m"""
    return str(a + b)

@server.tool()
def shout(text: str) -> str:
    """Shout."""
    return text.upper() * 20000

@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("the harbour is closed")

@server.tool()
def die() -> str:
    """Die."""
    os._exit(3)

@server.tool()
def wait() -> str:
    """Wait."""
    time.sleep(30)
    return "late"

@server.tool()
def where() -> str:
    """Say what the environment holds."""
    return f"{os.getcwd()} {os.environ.get('HARBOUR')} {os.environ.get('ANTHROPIC_API_KEY')}"

@server.tool()
def picture() -> ImageContent:
    """Draw."""
    drawn = base64.b64encode(b"\\x89PNG\\r\\n\\x1a\\n").decode()
    return ImageContent(type="image", data=drawn, mime_type="image/png")

print("a complaint", file=sys.stderr)
if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
'''

Open = Callable[..., Toolset]


@pytest.fixture
async def script(tmp_path: Path) -> Path:
    path = tmp_path / "harbour.py"
    path.write_text(SERVER)
    return path


@pytest.fixture
async def open_toolset(root: Path) -> AsyncIterator[Open]:
    opened: list[Toolset] = []

    def open_toolset(**servers: McpServer) -> Toolset:
        opened.append(default_toolset(captain_of(Layout(root), Config(mcp=Mcp(servers=servers)))))
        return opened[-1]

    yield open_toolset
    for toolset in opened:
        await toolset.close()


def start(script: Path, **more: object) -> McpServer:
    return McpServer(command=sys.executable, args=(str(script),), **more)  # pyright: ignore[reportArgumentType]


def find(toolset: Toolset, name: str) -> AnyTool:
    tool = toolset.get(name)
    assert tool is not None
    return tool


async def call(toolset: Toolset, context: ToolContext, name: str, **arguments: object) -> str:
    tool = find(toolset, name)
    return (await tool.run(tool.parse(arguments), context)).output


async def test_tools_of_a_server_are_offered_after_ours(
    open_toolset: Open, script: Path, context: ToolContext
) -> None:
    toolset = open_toolset(port=start(script, read_only=("add",), tools=("add", "fail")))
    ours = toolset.names
    assert toolset.findings()[0].message == "not asked yet"
    await toolset.load(is_patient=True)
    assert toolset.names == [*ours, "mcp__port__add", "mcp__port__fail"]
    assert toolset.findings()[0].message == "2 tools"
    spec = find(toolset, "mcp__port__add").spec()
    assert spec.description == "Add two numbers."
    assert set(spec.schema["properties"]) == {"a", "b"}
    assert await call(toolset, context, "mcp__port__add", a=2, b=3) == "5"
    await toolset.load(is_patient=True)
    assert len(toolset.names) == len(ours) + 2


async def test_labels_hold_them_to_the_policy(open_toolset: Open, script: Path, context: ToolContext) -> None:
    toolset = open_toolset(port=start(script, read_only=("add",)))
    await toolset.load(is_patient=True)
    add, shout = find(toolset, "mcp__port__add"), find(toolset, "mcp__port__shout")
    assert not add.labels.acts
    assert shout.labels.acts
    assert add.labels.reads_untrusted
    assert (
        await shout.picture(shout.parse({"text": "hi\u202e"}), context)
    ).text == '{\n  "text": "hi\\u{202e}"\n}'
    with pytest.raises(ToolInputError, match="required field `text`"):
        shout.parse({})


async def test_long_output_is_logged_and_images_attached(
    open_toolset: Open, script: Path, context: ToolContext
) -> None:
    toolset = open_toolset(port=start(script))
    await toolset.load(is_patient=True)
    output = await call(toolset, context, "mcp__port__shout", text="ahoy")
    assert len(output) < 17_000
    assert len(context.layout.call_log(context.thread_id, context.call_id).read_text()) == 80_000
    picture = find(toolset, "mcp__port__picture")
    (part,) = (await picture.run(picture.parse({}), context)).files
    assert part["mediaType"] == "image/png"


async def test_errors_of_a_tool_are_told(open_toolset: Open, script: Path, context: ToolContext) -> None:
    toolset = open_toolset(port=start(script))
    await toolset.load(is_patient=True)
    with pytest.raises(ToolError, match="Error executing tool fail"):
        await call(toolset, context, "mcp__port__fail")
    with pytest.raises(ToolError, match="valid"):
        await call(toolset, context, "mcp__port__add", a="x", b=1)


async def test_a_server_sees_its_own_variables_and_no_keys(
    open_toolset: Open, script: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hidden-value")
    toolset = open_toolset(port=start(script, env={"HARBOUR": "open"}))
    await toolset.load(is_patient=True)
    assert await call(toolset, context, "mcp__port__where") == f"{context.folder} open None"
    assert "a complaint" in context.layout.mcp_log("port").read_text()


async def test_a_server_that_dies_is_started_again(
    open_toolset: Open, script: Path, context: ToolContext
) -> None:
    toolset = open_toolset(port=start(script))
    await toolset.load(is_patient=True)
    with pytest.raises(ToolError, match="MCP server port"):
        await call(toolset, context, "mcp__port__die")
    assert await call(toolset, context, "mcp__port__add", a=1, b=1) == "2"


async def test_a_slow_tool_is_given_up(open_toolset: Open, script: Path, context: ToolContext) -> None:
    server = start(script)
    slow = open_toolset(port=server)
    await slow.load(is_patient=True)
    # Starting may take its time on a busy machine; answering may not.
    msgspec.structs.force_setattr(server, "timeout_seconds", 0.5)
    with pytest.raises(ToolError, match=r"within 0\.5 s"):
        await call(slow, context, "mcp__port__wait")


async def test_servers_that_fail_never_sink_the_rest(
    open_toolset: Open, script: Path, context: ToolContext
) -> None:
    toolset = open_toolset(
        gone=McpServer(command="/nonexistent/server"),
        mute=McpServer(command="sleep", args=("60",), timeout_seconds=2),
        quits=McpServer(command="false"),
        empty=McpServer(),
        nowhere=McpServer(url="http://127.0.0.1:1/mcp"),
        port=start(script),
    )
    await toolset.load(is_patient=True)
    assert await call(toolset, context, "mcp__port__add", a=1, b=1) == "2"
    levels = {finding.subject: finding.level for finding in toolset.findings()}
    assert levels == {
        **dict.fromkeys([f"mcp.{n}" for n in ("gone", "mute", "quits", "empty", "nowhere")], "warn"),
        "mcp.port": "ok",
    }
    assert all(finding.message and finding.fix for finding in toolset.findings() if finding.level == "warn")
    before = asyncio.get_running_loop().time()
    await toolset.load(is_patient=True)
    assert asyncio.get_running_loop().time() - before < 1


async def test_no_further_package_is_needed(
    open_toolset: Open, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    toolset = open_toolset(port=start(script))
    await toolset.load(is_patient=True)
    assert toolset.findings()[0].message == "7 tools"


async def test_servers_over_http(open_toolset: Open, script: Path, context: ToolContext) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        str(port),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async with asyncio.timeout(60):
        while b"running on" not in (await process.stderr.readline()).lower():
            pass
    drain = asyncio.create_task(process.stderr.read())
    try:
        toolset = open_toolset(port=McpServer(url=f"http://127.0.0.1:{port}/mcp"))
        await toolset.load(is_patient=True)
        assert await call(toolset, context, "mcp__port__add", a=20, b=3) == "23"
        await toolset.close()
    finally:
        process.kill()
        await process.wait()
        await drain


@pytest.mark.parametrize(("server", "tool"), [("s", "a.b"), ("s", "a b"), ("服务", "工具"), ("s" * 80, "t")])
def test_names_fit_every_provider_and_stay_apart(server: str, tool: str) -> None:
    name = name_tool(server, tool)
    assert name.isascii()
    assert len(name) <= 64
    assert name != name_tool(server, tool + "_")
    assert name_tool("notes", "find") == "mcp__notes__find"


PIECES = st.lists(st.sampled_from(["a", "_", "__", "b", " ", "é", "_0123abcd"]), min_size=1, max_size=6)
NAMES = PIECES.map("".join)


@given(NAMES, NAMES, NAMES, NAMES)
def test_no_server_can_take_the_name_of_a_tool_of_another(
    server: str, tool: str, other: str, theirs: str
) -> None:
    assume((server, tool) != (other, theirs))
    name = name_tool(server, tool)
    assert name != name_tool(other, theirs)
    # Whoever knows the name a tool goes by cannot offer one that goes by the same.
    for cut in range(len("mcp__") + 1, len(name) - 2):
        if name[cut : cut + 2] == "__" and (name[5:cut], name[cut + 2 :]) != (server, tool):
            assert name_tool(name[5:cut], name[cut + 2 :]) != name
