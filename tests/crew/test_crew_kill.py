"""Three members work a task in one thread, one of them the real Claude Code, while their keeper is killed.

What waits for a person waits on, a run of a model is taken up again, and a program that was cut off says so
and is not begun twice (part 13, proof).
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from shipmate.values.message import JsonObject, metadata_of, text_of
from tests.crew.program.test_program_model import has_processes, until
from tests.support.agent_program import write_real
from tests.support.provider_server import ProviderServer, Recorded, is_result, last_item
from tests.support.provider_wire import Call, Reply, ask_tools, say
from tests.support.serve_process import Process, shipmate
from tests.support.wait import LONG

pytestmark = pytest.mark.crash


class Crew:
    """The models of all three, on one server: who asks is told by the words of its own Agent.md."""

    def __init__(self) -> None:
        self.held = {"bo": asyncio.Event(), "captain": asyncio.Event()}
        self.turns = {"captain": 0, "nina": 0, "bo": 0}

    def answer(self, request: Recorded) -> Reply:
        body = json.dumps(request.body)
        seat = next((name for name in self.turns if f"Seat of {name}." in body), "")
        is_done = is_result(last_item(request.body))
        if not seat or (seat == "bo" and not request.body.get("tools")):
            # Claude Code asks for a title and the like besides.
            return say("ok")
        self.turns[seat] += 1
        if seat == "captain":
            return (
                say("Planned.\n@nina note it") if self.turns[seat] == 1 else self._hold(seat, "All is made.")
            )
        if seat == "nina":
            act = {"command": "echo plan >> plan.md"}
            return say("Noted. [NEXT: bo]") if is_done else ask_tools(Call("exec", json.dumps(act)))
        if is_done:
            return say("Made. [NEXT: captain]")
        act = {"command": "echo made >> made.txt", "description": "make it"}
        return self._hold(seat, "", Call("Bash", json.dumps(act), "toolu_1"))

    def _hold(self, seat: str, text: str, *calls: Call) -> Reply:
        """Let the first answer wait for longer than its keeper lives."""
        is_first = not self.held[seat].is_set()
        self.held[seat].set()
        return Reply(text=text, calls=calls, delay=LONG if is_first else 0)


async def pending(process: Process) -> list[JsonObject]:
    """Return what waits for a person, once something does."""
    async with asyncio.timeout(LONG):
        while True:
            found = (await process.client.get("/api/approvals?status=requested")).json()["approvals"]
            if found:
                return found
            await asyncio.sleep(0.02)


async def rest(process: Process, thread_id: str, words: str) -> list[Any]:
    """Wait until nothing runs and the last message says some words; return all of them."""
    async with asyncio.timeout(LONG):
        while True:
            found = (await process.client.get(f"/api/threads/{thread_id}/messages")).json()
            if not found["running"] and words in json.dumps(found["messages"][-1:]):
                return found["messages"]
            await asyncio.sleep(0.02)


async def tell(process: Process, thread_id: str, text: str, message_id: str) -> None:
    said = {"text": text, "messageId": message_id}
    answer = await process.client.post(f"/api/threads/{thread_id}/queue", json=said)
    assert answer.status_code == 202, answer.text


async def agree(process: Process, question: JsonObject) -> None:
    answer = await process.client.post(f"/api/approvals/{question['id']}", json={"approved": True})
    assert answer.status_code == 200, answer.text


async def test_three_members_finish_one_task_through_an_approval_and_three_kills(tmp_path: Path) -> None:
    root, crew = tmp_path / "work", Crew()
    root.mkdir()
    async with ProviderServer(crew.answer, is_strict=False) as server:
        write_real(root, "claude-code", server.url)
        (root / "members" / "nina").mkdir()
        for place, name in ((root, "captain"), (root / "members/nina", "nina"), (root / "members/bo", "bo")):
            (place / "Agent.md").write_text(f"# {name.title()}\n\nSeat of {name}.\n")
        llm = {"provider": "anthropic", "model": "m", "apiKey": "dummy-key", "baseUrl": server.url}
        (root / "ship.json").write_text(json.dumps({"llm": llm, "permissions": {"mode": "ask"}}))

        async with shipmate(root) as process:
            room = (await process.client.post("/api/threads", json={})).json()["threadId"]
            await tell(process, room, "Make it.", "m1")
            (first,) = await pending(process)
            assert (first["member"], first["tool"]) == ("nina", "exec")
            await process.kill()
        async with shipmate(root) as process:
            # It waits as it did, and nothing was done meanwhile.
            (question,) = await pending(process)
            assert question == first
            assert not (root / "plan.md").exists()
            await agree(process, question)
            await asyncio.wait_for(crew.held["bo"].wait(), LONG)
            await process.kill()
        await until(lambda: not has_processes(root))
        async with shipmate(root) as process:
            # Nobody knows what the program did: it is told, and a person says how to go on.
            await rest(process, room, "interrupted, outcome unknown")
            assert crew.turns["bo"] == 1
            # What was sent before is known, and begins nothing.
            await tell(process, room, "Make it.", "m1")
            await tell(process, room, "@bo go on", "m2")
            (question,) = await pending(process)
            assert (question["member"], question["tool"]) == ("bo", "claude_Bash")
            await agree(process, question)
            await asyncio.wait_for(crew.held["captain"].wait(), LONG)
            await process.kill()
        async with shipmate(root) as process:
            messages = await rest(process, room, "All is made.")
            left = (await process.client.get("/api/approvals?status=requested")).json()["approvals"]
    assert left == []
    assert (root / "plan.md").read_text() == "plan\n"
    assert (root / "made.txt").read_text() == "made\n"
    said = [(metadata_of(each).get("member") or each["role"], text_of(each)) for each in messages]
    assert [each for each in said if each[1]] == [
        ("user", "Make it."),
        ("assistant", "Planned.\n@nina note it"),
        ("nina", "Noted. [NEXT: bo]"),
        ("user", "@bo go on"),
        ("bo", "Made. [NEXT: captain]"),
        ("assistant", "All is made."),
    ]
    # Each of five answers, and what was cut off, has an end of its own, once.
    ends = [metadata_of(each)["outcome"] for each in messages if each["role"] == "assistant"]
    assert ends == ["replied", "replied", "failed", "replied", "replied"]
    # The captain's end was asked for twice, as nothing of it had come; Bo's first turn was cut off.
    assert crew.turns == {"captain": 3, "nina": 2, "bo": 3}
    assert not has_processes(root)
