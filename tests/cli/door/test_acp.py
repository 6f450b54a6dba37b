"""Members in an editor: a real process, spoken to by the protocol's own library (part 13, point 9)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

from shipmate.workspace.layout import Layout
from tests.support.terminal import SHIPMATE, environment, shipmate
from tests.support.wait import LONG


class Editor:
    """What an editor shows, and the answers its person gives."""

    def __init__(self, *answers: str) -> None:
        self.updates: list[Any] = []
        self.asked: list[Any] = []
        self.answers = list(answers)
        self.told = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self.told.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append((tool_call, {each.option_id: each.name for each in options}))
        self.told.set()
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        chosen = AllowedOutcome(outcome="selected", option_id=answer)
        return RequestPermissionResponse(
            outcome=chosen if answer != "cancelled" else DeniedOutcome(outcome="cancelled")
        )

    def on_connect(self, conn: Any) -> None:
        """Hear that the agent is there."""

    def words(self, kind: str = "agent_message_chunk") -> str:
        return "".join(each.content.text for each in self.updates if each.session_update == kind)

    def states(self) -> list[tuple[str, str]]:
        calls = ("tool_call", "tool_call_update")
        return [(each.session_update, each.status) for each in self.updates if each.session_update in calls]

    async def until(self, is_so: Any) -> None:
        async with asyncio.timeout(LONG):
            while not is_so():
                self.told.clear()
                await self.told.wait()


@asynccontextmanager
async def agent(folder: Path, editor: Any, *arguments: str) -> AsyncGenerator[Any]:
    env = environment(folder)
    async with spawn_agent_process(editor, SHIPMATE, "acp", *arguments, cwd=folder, env=env) as (conn, _):
        begun: Any = await conn.initialize(protocol_version=PROTOCOL_VERSION)
        assert begun.protocol_version == PROTOCOL_VERSION
        assert begun.agent_capabilities.load_session
        yield conn


async def test_9_a_prompt_is_streamed_asked_about_done_and_loaded_again(workspace: Path) -> None:
    editor = Editor("reject_once", "allow_always")
    async with asyncio.timeout(LONG), agent(workspace, editor) as conn:
        session = (await conn.new_session(cwd=str(workspace), mcp_servers=[])).session_id
        assert session.startswith("acp:session:")
        for answered, is_written in (("reject_once", False), ("allow_always", True)):
            ended = await conn.prompt(session_id=session, prompt=[text_block("write Ahoy to note.md")])
            assert ended.stop_reason == "end_turn"
            assert (workspace / "note.md").exists() is is_written, answered
        call, options = editor.asked[0]
        assert list(options) == ["allow_once", "allow_always", "reject_once"]
        assert "note.md" in options["allow_always"]
        assert (call.kind, call.title, call.locations[0].path) == (
            "edit",
            "write note.md content=Ahoy",
            str(workspace / "note.md"),
        )
        assert "Ahoy" in call.content[0].content.text
        await editor.until(lambda: editor.states()[-1] == ("tool_call_update", "completed"))
        assert ("tool_call_update", "failed") in editor.states()
        # What was allowed for good is asked no more, and the answer is told before the turn ends.
        await conn.prompt(session_id=session, prompt=[text_block("write Again to note.md")])
        assert (workspace / "note.md").read_text().strip() == "Again"
        assert len(editor.asked) == 2
        assert (await conn.list_sessions()).sessions[0].session_id == session
        # Two results were shown, each in a block of its own.
        await editor.until(lambda: editor.words().count("```") == 4)
        told = editor.words()
        editor.updates.clear()
        await conn.load_session(session_id=session, cwd=str(workspace), mcp_servers=[])
        await editor.until(lambda: editor.words() == told)
        assert editor.words("user_message_chunk").startswith("write Ahoy to note.md")
        assert editor.states()[-1] == ("tool_call_update", "completed")
        # What fails is the answer; one that nobody offered decides nothing.
        with pytest.raises(RequestError, match="rehears"):
            await conn.prompt(session_id=session, prompt=[text_block("fail")])
        editor.answers = ["allow_everything"]
        ended = await conn.prompt(session_id=session, prompt=[text_block("write Hm to other.md")])
        assert (ended.stop_reason, (workspace / "other.md").exists()) == ("end_turn", False)
        with pytest.raises(RequestError, match="no thread"):
            await conn.load_session(session_id="acp:session:none", cwd="/", mcp_servers=[])
    assert shipmate(workspace, "threads", "list").stdout.startswith(session)


async def test_9_a_turn_is_cancelled_and_a_question_outlives_the_editor(workspace: Path) -> None:
    (workspace / "members/bo").mkdir(parents=True)
    (workspace / "members/bo/Agent.md").write_text("# Bo\n\nYou are Bo.\n")
    editor = Editor()
    async with asyncio.timeout(LONG), agent(workspace, editor, "--member", "bo") as conn:
        made = await conn.new_session(cwd="/elsewhere", mcp_servers=[])
        assert (made.modes.current_mode_id, len(made.modes.available_modes)) == ("bo", 2)
        session = made.session_id
        counting = asyncio.create_task(
            conn.prompt(session_id=session, prompt=[text_block("count to 500 slowly")])
        )
        await editor.until(lambda: "3" in editor.words())
        await conn.cancel(session_id=session)
        assert (await counting).stop_reason == "cancelled"
        assert "400" not in editor.words()
        asking = asyncio.create_task(
            conn.prompt(session_id=session, prompt=[text_block("write Hi to hi.md")])
        )
        await editor.until(lambda: editor.asked)
    await asyncio.gather(asking, return_exceptions=True)
    # The editor left with the question open: it waits, and whoever loads the thread is asked anew.
    later, beside = Editor(), Editor("allow_once")
    async with (
        asyncio.timeout(LONG),
        agent(workspace, later) as conn,
        agent(workspace, beside) as other,
    ):
        await conn.load_session(session_id=session, cwd=str(workspace), mcp_servers=[])
        await later.until(lambda: later.asked)
        await other.load_session(session_id=session, cwd=str(workspace), mcp_servers=[])
        # The second answers; both are told what came of it.
        await later.until(lambda: ("tool_call_update", "completed") in later.states())
        await beside.until(lambda: ("tool_call_update", "completed") in beside.states())
        assert (workspace / "hi.md").read_text().strip() == "Hi"
    (asked,) = (json.loads(path.read_bytes()) for path in Layout(workspace).approvals.glob("*.json"))
    assert (asked["member"], asked["ruling"]["platform"], asked["ruling"]["threadId"]) == (
        "bo",
        "acp",
        session,
    )


async def test_9_a_run_goes_on_when_the_editor_is_gone(workspace: Path) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        SHIPMATE, "acp", cwd=workspace, env=environment(workspace), stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None

    def ask(number: int, method: str, **params: Any) -> None:
        assert process.stdin is not None
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(asked).encode() + b"\n")

    async with asyncio.timeout(LONG):
        ask(1, "session/new", cwd=str(workspace), mcpServers=[])
        session = json.loads(await process.stdout.readline())["result"]["sessionId"]
        words = [{"type": "text", "text": "count to 9 slowly"}]
        ask(2, "session/prompt", sessionId=session, prompt=words)
        while b"agent_message_chunk" not in await process.stdout.readline():
            pass
        process.stdin.close()
        # Nobody reads what it says from here on.
        process.stdout._transport.close()  # pyright: ignore[reportAttributeAccessIssue]
        await process.stderr.read()
        assert await process.wait() == 0
    assert "That was 9" in shipmate(workspace, "threads", "show", session).stdout


def test_9_what_is_no_message_is_refused_and_nothing_ends(workspace: Path) -> None:
    lines = [
        "{",
        "[1]",
        '{"jsonrpc": "2.0", "id": true, "method": "initialize"}',
        '{"jsonrpc": "2.0", "id": 1, "method": "nothing/such"}',
        '{"jsonrpc": "2.0", "method": "nothing/such"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": "x"}}',
        '{"jsonrpc": "2.0", "id": 3, "method": "session/load", "params": {"sessionId": "../x"}}',
        '{"jsonrpc": "2.0", "id": 9, "result": {}}',
        '{"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": 99}}',
    ]
    ran = shipmate(workspace, "acp", said="\n".join(lines) + "\n" + "[" * 10_000)
    assert ran.returncode == 0
    for words in (
        '"id":null,"error":{"code":-32700,"message":"a message is no JSON"}',
        '"id":null,"error":{"code":-32600,"message":"a message is a JSON object',
        '"id":1,"error":{"code":-32601',
        '"id":2,"error":{"code":-32602,"message":"there is no open session',
        '"id":3,"error":{"code":-32602',
        '"id":4,"result":{"protocolVersion":1',
    ):
        assert words in ran.stdout
    assert len(ran.stdout.splitlines()) == 7
    assert ran.stderr == ""
