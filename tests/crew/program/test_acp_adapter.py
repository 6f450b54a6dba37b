"""Codex behind the program that lets it speak ACP: what it asks is an approval of ours (part 13, 6)."""

from __future__ import annotations

import json
from pathlib import Path

from shipmate import Shipmate
from shipmate.crew.program.installed import check_program, program_of
from tests.crew.program.test_program_model import has_processes, routes_of
from tests.support.agent_program import FOLDER, write_member, write_real
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, ask_tools, say
from tests.support.workspace import ROOM, messages_of, pressed, talk, tools_of

ADAPTER = FOLDER / "node_modules" / ".bin" / "codex-acp"


async def test_codex_asks_over_acp_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    wanted = {"sandbox_permissions": "require_escalated", "justification": "make it"}
    acts = [
        Call("exec_command", json.dumps({"cmd": f"echo hi >> {name}.txt", **more}), f"call_{name}")
        for name, more in (("tried", {}), ("made", wanted), ("left", wanted))
    ]
    async with ProviderServer(is_strict=False) as server:
        write_real(root, "openai-codex", server.url, command=str(ADAPTER), systemInstruction="Mark 7391.")
        # A no ends its turn.
        server.script(*(ask_tools(act) for act in acts))
        async with Shipmate.open(root, environ={}) as ship:
            (found,) = check_program(ship.crew.find("bo"))
            assert found.level == "ok"
            assert "codex-acp" in found.message
            # What it may not do is stopped by its own walls, or asked.
            assert (await talk(ship, "go", member="bo")).status == "suspended"
            assert not (root / "tried.txt").exists()
            (question,) = await ship.approvals.pending(ROOM)
            assert question.tool == "codex_execute"
            assert "echo hi >> made.txt" in (question.preview or "")
            outcome = await (await ship.receive(pressed(question.id, approved=True))).outcome()
            assert outcome.status == "suspended"
            assert (root / "made.txt").read_text() == "hi\n"
            (question,) = await ship.approvals.pending(ROOM)
            await (await ship.receive(pressed(question.id, approved=False))).outcome()
            assert not (root / "left.txt").exists()
            states = [state for _, state, _ in tools_of((await messages_of(ship))[-1])]
            assert states[-2:] == ["output-available", "output-denied"]
            server.script(say("Again."))
            assert ((await talk(ship, "and now?", member="bo")).text or "").endswith("Again.")
            # Its own session went on.
            assert json.dumps(server.requests[-1].body).count("[MESSAGE]") == 2
            assert "session resumed" in routes_of(root)[-1]
    assert not has_processes(root)


def test_a_command_chooses_the_adapter_of_its_own_kind_alone(tmp_path: Path) -> None:
    from shipmate.workspace.crew import Crew
    from shipmate.workspace.layout import Layout
    from shipmate.workspace.load import load_config

    layout = Layout(tmp_path)
    chosen: list[tuple[str, bool]] = []
    for kind, command in (
        ("claude-code", "claude-agent-acp"),
        ("openai-codex", "/opt/bin/codex-acp"),
        ("openai-codex", "claude-agent-acp"),
        ("google-gemini", "codex-acp"),
    ):
        write_member(tmp_path, kind, command, {})
        program = program_of(Crew(layout, load_config(layout, {})).find("bo"))
        chosen.append((program.command, program.converses("ask")))
    assert chosen == [("claude-agent-acp", True), ("codex-acp", True), ("codex", False), ("gemini", True)]
