"""Programs of others as members: a stand-in that misbehaves, and the real ones from npm (part 13, 6)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shipmate import FeedEvent, Shipmate
from shipmate.values.message import JsonObject, metadata_of
from tests.support.agent_program import FIXTURES, write_real, write_stand_in
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, Reply, ask_tools, say
from tests.support.running import command_lines
from tests.support.wait import LONG
from tests.support.workspace import ROOM, chunks_until_end, messages_of, pressed, said, talk, tools_of

# 700 KB of several kinds of characters, whose every byte must arrive.
LONG_MESSAGE = "汉字 emoji 🚢 and a tab\t.\n" * 20_000 + "The end"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def is_running(mark: Path | str) -> bool:
    return any(str(mark).encode() in line for line in command_lines())


def has_processes(root: Path) -> bool:
    """Tell whether anything runs that was started in a workspace, whatever it made of its command line."""
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if f"SHIPMATE_WORKSPACE={root}\0".encode() in (process / "environ").read_bytes():
                return True
    return False


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    async with asyncio.timeout(LONG):
        while not holds():  # noqa: ASYNC110 - nobody here is told of it
            await asyncio.sleep(0.02)


def routes_of(root: Path) -> list[str]:
    (file,) = (root / ".ship" / "logs" / "routing").iterdir()
    return [json.loads(line)["why"] for line in file.read_text().splitlines()]


@pytest.mark.parametrize("kind", ["claude-code", "openai-codex", "google-gemini"])
async def test_a_recorded_stream_becomes_the_parts_of_a_message(
    kind: str, root: Path, tmp_path: Path
) -> None:
    program = write_stand_in(root, "fixture", kind=kind)
    (root / "ship.json").write_text('{"permissions": {"mode": "read-only"}}')
    file = program.with_name("stream.jsonl")
    (root / "members" / "bo" / "member.json").write_text(
        json.dumps(
            {
                "kind": kind,
                "command": str(program),
                "home": "private",
                "env": {"ACT": "fixture", "FILE": str(file)},
            }
        )
    )
    file.write_bytes((FIXTURES / f"{kind}.jsonl").read_bytes())
    async with Shipmate.open(root, environ={}) as ship:
        outcome = await talk(ship, "say hello", member="bo")
        assert (outcome.status, outcome.error) == ("replied", None)
        message = (await messages_of(ship))[-1]
        kinds = [part["type"] for part in message["parts"]]
        tool, state, output = tools_of(message)[0]
        expected = {
            "claude-code": ("claude_Bash", "output-error", "needs approval"),
            "openai-codex": ("codex_command_execution", "output-available", "a.md"),
            "google-gemini": ("gemini_read_file", "output-available", ""),
        }[kind]
        assert (tool, state) == expected[:2]
        assert expected[2] in str(output)
        thought = [] if kind == "google-gemini" else ["reasoning"]
        assert kinds == ["step-start", "text", f"tool-{tool}", *thought, "text"]
        assert metadata_of(message)["session"]["threadId"] == ROOM
        assert "Done now." in (outcome.text or "")
        # What a provider refused is told as such, and the next turn begins a session of its own.
        file.write_bytes((FIXTURES / f"{kind}.refused.jsonl").read_bytes())
        refused = await talk(ship, "again", member="bo")
        assert (refused.status, refused.kind) == ("failed", "auth")
        assert "bad key" in (refused.error or "")
        assert "log in" in (refused.error or "")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("line", "printed a line of more than 16 MB"),
        ("empty", "ended without saying that it was done"),
        ("nothing", "ended without an answer"),
        ("half", "ended without saying that it was done"),
        ("hang", "said nothing for 1 s"),
        ("tick", "was ended after 1 s"),
        ("flood", "longer than 8,000,000 characters"),
        ("older", "is version 1.0; 2.1 or newer is needed"),
    ],
)
async def test_a_program_that_misbehaves_is_ended_and_the_thread_says_so(
    act: str, words: str, root: Path
) -> None:
    limits: JsonObject = (
        {"wallSeconds": 1} if act == "tick" else {"idleSeconds": 1 if act == "hang" else LONG}
    )
    program = write_stand_in(root, act, **limits)
    async with Shipmate.open(root, environ={}) as ship:
        outcome = await talk(ship, "go", member="bo")
        assert outcome.status == "failed"
        assert words in (outcome.error or "")
        assert "sk-very-secret" not in json.dumps(await messages_of(ship))
        if act == "half":
            assert "fatal: " in (outcome.error or "")
            assert "Half" in (outcome.text or "")
        if act == "hang":
            # A call that had begun is not said to have been left out.
            (call,) = tools_of((await messages_of(ship))[-1])
            assert "interrupted, outcome unknown" in call[2]
    assert not is_running(program)


async def test_rights_are_to_read_unless_the_mode_says_more(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = root.with_name("home")
    (home / ".claude").mkdir(parents=True)
    (home / "other").write_text("private")
    monkeypatch.setenv("HOME", str(home))
    (root / "ship.json").write_text('{"permissions": {"mode": "read-only"}}')
    write_stand_in(root, "probe", home="shared", systemInstruction="Be brief.")
    (root / ".env").write_text("TOKEN=secret\n")
    async with Shipmate.open(root, environ={"DEBUG": "1"}) as ship:
        found = json.loads((await talk(ship, "look [MESSAGE]", member="bo")).text or "")
        assert found["write"] == "Read-only file system"
        assert "secret" not in str(found["env"])
        assert found["beside"] == "No such file or directory"
        assert found["home"] == 1
        assert found["state"] == "No such file or directory"
        assert not (root / "made").exists()
        assert found["prompt"] == "[MESSAGE]\nlook [MESSAGE]"
        assert found["system"] == "[SYSTEM]\nYou are Bo. You review.\n\nBe brief.\n\n# Bo\n\nYou review."
        assert found["args"][found["args"].index("--permission-mode") + 1] == "default"
        (root / "ship.json").write_text('{"permissions": {"mode": "auto-edit"}}')
        await talk(ship, "look", member="bo")
        assert (root / "made").read_text() == "x"
        trace = ship.layout.trace(ROOM).read_text()
        assert "[Debug][Send]" in trace
        assert "look [MESSAGE]" in trace
    assert routes_of(root)[0] == "claude-code; system text beside the prompt; new session"


async def test_a_lost_session_and_a_missing_option_are_got_round_and_logged(root: Path) -> None:
    write_stand_in(root, "resume")
    async with Shipmate.open(root, environ={}) as ship:
        await talk(ship, "one", member="bo")
        again = await talk(ship, "two", member="bo")
        # It knows nothing any more, so it is told what was said.
        assert "[CONTEXT]\nann -> all: one\nBo -> all: [MESSAGE]" in (again.text or "")
        write_stand_in(root, "old")
        inline = await talk(ship, "three", member="bo", thread_id="cli:dm:bob")
        assert (inline.text or "").startswith("[SYSTEM]\nYou are Bo.")
        whys = "\n".join(
            line
            for file in (root / ".ship" / "logs" / "routing").iterdir()
            for line in file.read_text().splitlines()
        )
        assert "session resumed" in whys
        assert "has no option for it" in whys


async def test_what_is_missing_is_said_in_the_thread(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_stand_in(root, "probe", home="shared", env={})
    monkeypatch.setenv("HOME", str(root.with_name("nobody")))
    stated: JsonObject = {"kind": "claude-code", "command": str(program)}
    place = root / "members" / "bo" / "member.json"
    async with Shipmate.open(root, environ={}) as ship:
        for change, words in (
            ({}, "Claude Code is not logged in here. Run `claude` once"),
            ({"command": "no-such-program"}, "there is no program `no-such-program` on PATH"),
            ({"command": str(root / "claude")}, "must not be started from inside the workspace"),
            ({"systemInstruction": "c" * 1_000_000, "env": {"K": "v"}}, "over 786,432 bytes"),
        ):
            place.write_text(json.dumps({**stated, **change}))
            outcome = await talk(ship, "go", member="bo")
            assert outcome.status == "failed"
            assert words in (outcome.error or "")


async def until_call(queue: asyncio.Queue[FeedEvent]) -> None:
    """Wait until the program makes a call."""
    while True:
        event = await asyncio.wait_for(queue.get(), LONG)
        if event.chunk is not None and event.chunk["type"] == "tool-input-available":
            return


async def test_a_stop_a_word_that_cannot_wait_and_the_end_of_the_keeper_end_the_program(root: Path) -> None:
    (root / "ship.json").write_text('{"permissions": {"mode": "auto-edit"}}')
    program = write_stand_in(root, "steps")
    async with Shipmate.open(root, environ={}) as ship, ship.keeper.watch(ROOM) as queue:
        receipt = await ship.receive(said("go", member="bo"))
        await until_call(queue)
        assert is_running(program)
        await ship.keeper.stop(ROOM)
        assert (await receipt.outcome()).status == "stopped"
        assert not is_running(program)
        receipt = await ship.receive(said("again", member="bo"))
        await until_call(queue)
        waiting = await ship.receive(said("wait", member="bo", steer=True))
        assert (await receipt.outcome()).status == "steered"
        await until_call(queue)
        assert is_running(program)
    assert not is_running(program)
    del waiting


@pytest.mark.parametrize("approved", [True, False])
async def test_what_a_program_asks_becomes_an_approval_and_the_answer_reaches_it(
    approved: bool, root: Path
) -> None:
    program = write_stand_in(root, "ask")
    async with Shipmate.open(root, environ={}) as ship:
        assert (await talk(ship, "go", member="bo")).status == "suspended"
        assert is_running(program)
        assert not (root / "made").exists()
        (question,) = await ship.approvals.pending(ROOM)
        assert question.tool == "claude_Bash"
        outcome = await (await ship.receive(pressed(question.id, approved=approved))).outcome()
        assert (outcome.status, outcome.error) == ("replied", None)
        told = json.loads(outcome.text or "")
        assert told["behavior"] == ("allow" if approved else "deny")
        assert (root / "made").exists() == approved
        # It was let go in its own time.
        assert (root / "left").exists()
        (call,) = tools_of((await messages_of(ship))[-1])
        assert call[1:] == (("output-available", "allow") if approved else ("output-denied", None))
        assert not is_running(program)


async def test_a_program_that_waited_for_an_answer_does_not_outlive_its_keeper(root: Path) -> None:
    program = write_stand_in(root, "ask")
    async with Shipmate.open(root, environ={}) as ship:
        await talk(ship, "go", member="bo")
    assert not is_running(program)
    async with Shipmate.open(root, environ={}) as ship:
        (question,) = await ship.approvals.pending(ROOM)
        outcome = await (await ship.receive(pressed(question.id, approved=True))).outcome()
        assert outcome.status == "failed"
        assert "interrupted, outcome unknown" in (outcome.error or "")
        assert not (root / "made").exists()


KEEPER = """
import asyncio, sys
from pathlib import Path
from shipmate import FeedEvent, Shipmate
from tests.support.workspace import said
async def main():
    async with Shipmate.open(Path(sys.argv[1]), environ={}) as ship:
        await (await ship.receive(said("go", member="bo", message_id="k1"))).outcome()
asyncio.run(main())
"""


async def test_a_program_that_was_cut_off_with_its_keeper_is_not_run_twice(root: Path) -> None:
    program = write_stand_in(root, "hang", permissions={"mode": "yolo"})
    (root / "ship.json").write_text('{"permissions": {"mode": "yolo"}}')
    keeper = await asyncio.create_subprocess_exec(sys.executable, "-c", KEEPER, str(root))
    thread = root / ".ship" / "threads"
    await until(lambda: any("claude_Bash" in file.read_text() for file in thread.glob("*.jsonl")))
    keeper.kill()
    await keeper.wait()
    await until(lambda: not is_running(program))
    (root / "started").unlink()
    async with Shipmate.open(root, environ={}) as ship:
        outcome = await talk(ship, "go", member="bo", message_id="k1")
        assert outcome.status == "failed"
        assert "interrupted, outcome unknown" in (outcome.error or "")
        (call,) = tools_of((await messages_of(ship))[-1])
        assert "interrupted, outcome unknown" in call[2]
        assert not (root / "started").exists()


def tool_for(kind: str) -> Call:
    return {
        "claude-code": Call("Bash", json.dumps({"command": "echo hi > made.txt"}), "toolu_1"),
        "openai-codex": Call("exec_command", '{"cmd": "echo hi > made.txt; cat a.md"}', "call_1"),
        "google-gemini": Call("run_shell_command", '{"command": "echo hi > made.txt"}', "call_1"),
    }[kind]


@pytest.mark.parametrize("kind", ["claude-code", "openai-codex", "google-gemini"])
async def test_the_real_program_is_driven_from_the_first_word_to_a_stop(kind: str, root: Path) -> None:
    (root / "a.md").write_text("hello a\n")
    asked = asyncio.Event()

    def hang(_: Any) -> Reply:
        asked.set()
        return say("late", delay=LONG)

    async with ProviderServer(hang, is_strict=False) as server:
        write_real(root, kind, server.url, systemInstruction="Mark 7391.", idleSeconds=LONG)
        server.script(ask_tools(tool_for(kind), text="Look. "), say("Done now.", deltas=3))
        async with Shipmate.open(root, environ={}) as ship, ship.keeper.watch(ROOM) as queue:
            outcome = await talk(ship, LONG_MESSAGE, member="bo")
            if kind != "openai-codex":
                # It asks first, and the answer reaches it.
                assert outcome.status == "suspended"
                (question,) = await ship.approvals.pending(ROOM)
                outcome = await (await ship.receive(pressed(question.id, approved=True))).outcome()
                assert (root / "made.txt").read_text() == "hi\n"
            assert (outcome.status, outcome.error) == ("replied", None)
            assert (outcome.text or "").endswith("Done now.")
            chunks = await chunks_until_end(queue)
            chunks += await chunks_until_end(queue) if kind != "openai-codex" else []
            deltas = [each for each in chunks if each["type"] == "text-delta"]
            assert len(deltas) >= (2 if kind == "openai-codex" else 4)
            body = json.dumps(server.requests[0].body, ensure_ascii=False)
            told = json.dumps(LONG_MESSAGE, ensure_ascii=False)[1:-1]
            assert body.count(f'[MESSAGE]\\n{told}"') == 1
            system = "[SYSTEM]\\nYou are Bo. You review.\\n\\nMark 7391.\\n\\n# Bo\\n\\nYou review."
            assert body.count("Mark 7391.") == 1
            assert system in body
            place = json.dumps(server.requests[0].body.get("system", ""), ensure_ascii=False)
            assert (system in place) == (kind == "claude-code")
            call = tools_of((await messages_of(ship))[-1])[0]
            if kind != "openai-codex":
                assert call[1] == "output-available"
            else:
                # Its own walls stand within ours, also for root.
                assert "hello a" in str(call[2])
                assert "Read-only file system" in str(call[2])
                assert not (root / "made.txt").exists()
            # The next turn goes on in the program's own session; a stop leaves nothing of it. Gemini CLI
            # loses a session that is gone on with in the minute it began, so there it is another thread.
            room = "cli:dm:bob" if kind == "google-gemini" else ROOM
            receipt = await ship.receive(said("and now?", member="bo", thread_id=room))
            await asyncio.wait_for(asked.wait(), LONG)
            assert has_processes(root)
            again = json.dumps(server.requests[-1].body, ensure_ascii=False)
            assert "[MESSAGE]\\nand now?" in again
            assert (told[:1000] in again) == (room == ROOM)
            assert "[CONTEXT]" not in again
            await ship.keeper.stop(room)
            assert (await receipt.outcome()).status == "stopped"
            assert not has_processes(root)
    if room == ROOM:
        assert "session resumed" in routes_of(root)[1]
