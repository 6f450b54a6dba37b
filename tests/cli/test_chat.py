from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shipmate.workspace.layout import Layout
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse, say
from tests.support.terminal import Terminal, shipmate


@pytest.fixture
def chat(workspace: Path) -> Iterator[Terminal]:
    terminal = Terminal(workspace, "chat", "--thread", "tea")
    try:
        terminal.expect("/help for help")
        terminal.expect("›")
        yield terminal
    finally:
        terminal.close()


def test_it_answers_in_rendered_markdown_and_leaves_with_a_hint(chat: Terminal) -> None:
    chat.type("markdown\r")
    shown = chat.expect("A quotation")
    assert "**bold**" not in shown.split("A heading")[-1]
    assert "• a list" in shown
    chat.type("\x04")
    chat.expect("Go on with: shipmate chat --thread cli:chat:tea")
    assert chat.finish() == 0


def test_calls_are_one_line_cards(chat: Terminal) -> None:
    chat.type("read Agent.md and nothing.md\r")
    chat.expect("✓ read Agent.md (")
    chat.expect("✗ read nothing.md — ")
    chat.expect("gave 3 lines")


def test_ctrl_c_stops_the_run_and_not_the_program(chat: Terminal) -> None:
    chat.type("count to 500 slowly\r")
    chat.expect("Ctrl-C stops")
    chat.expect("10")
    chat.type("\x03")
    chat.expect("stopped")
    chat.type("hello\r")
    chat.expect("rehearsal model")
    chat.type("/quit\r")
    assert chat.finish() == 0


def test_what_is_typed_during_a_run_is_queued_and_answered_after_it(chat: Terminal) -> None:
    chat.type("count to 60 slowly\r")
    chat.expect("Ctrl-C stops")
    chat.type("read Agent.md\r")
    chat.expect("queued: read Agent.md")
    chat.expect("1 queued")
    chat.expect("That was 60.")
    chat.expect("✓ read Agent.md")


def test_a_skill_is_worked_on_in_the_studio_and_tried_in_a_thread_of_its_own(chat: Terminal) -> None:
    chat.type("/try hello\r")
    chat.expect("/try belongs to the studio")
    chat.type("/studio ../x\r")
    chat.expect("is no id of a skill")
    chat.type("/studio letters\r")
    chat.expect("thread cli:studio:letters")
    chat.type("read SKILL.md and Agent.md\r")
    chat.expect("✓ read SKILL.md (")
    chat.expect("✗ read Agent.md — ")
    chat.type("/try hello\r")
    chat.expect("thread cli:chat:")
    chat.expect("rehearsal model")


def test_an_approval_is_answered_by_typing(chat: Terminal, workspace: Path) -> None:
    chat.type("run touch made.txt\r")
    chat.expect("touch made.txt")
    chat.expect("yes")
    assert not (workspace / "made.txt").exists()
    chat.type("yes\r")
    chat.expect("✓ exec touch made.txt")
    assert (workspace / "made.txt").exists()


def test_a_call_decided_after_the_talk_moved_on_is_shown(chat: Terminal) -> None:
    chat.type("run ls -l\r")
    chat.expect("Why I ask")
    chat.type("what is this?\r")
    chat.expect("Not taken as an answer to the open question; to answer, say yes or no")
    chat.expect("rehearsal model")
    chat.type("yes\r")
    chat.expect("✓ exec ls -l (")


def test_a_question_is_asked_again_when_the_chat_goes_on(workspace: Path) -> None:
    done = shipmate(workspace, "ask", "--thread", "tea", "run touch made.txt")
    assert done.returncode == 1
    terminal = Terminal(workspace, "chat", "--thread", "tea")
    try:
        terminal.expect("run touch made.txt")
        terminal.expect("no")
        terminal.expect("›")
        terminal.type("no\r")
        terminal.expect("⊘ exec touch made.txt")
        assert not (workspace / "made.txt").exists()
    finally:
        terminal.close()


def test_slash_commands(chat: Terminal) -> None:
    chat.type("/help\r")
    chat.expect("/steer TEXT")
    chat.type("/hlp\r")
    chat.expect("Did you mean /help?")
    chat.type("/stop\r")
    chat.expect("nothing is running")
    chat.type("hello\r")
    chat.expect("rehearsal model")
    chat.type("/threads\r")
    chat.expect("cli:chat:tea")
    chat.expect("hello")
    chat.type("/new\r")
    chat.expect("thread cli:chat:")
    chat.type("/thread tea\r")
    chat.expect("thread cli:chat:tea")
    chat.expect("rehearsal model")
    chat.type("/thread Not:Good:x\r")
    chat.expect("must be a lower-case word")
    chat.type("/context\r")
    chat.expect("before the conversation")


def test_steering_turns_a_run(chat: Terminal) -> None:
    chat.type("read Agent.md, then read Agent.md\r")
    chat.expect("gave 3 lines")
    chat.type("/steer hello\r")
    chat.expect("rehearsal model")


def test_lines_are_remembered_privately(chat: Terminal, workspace: Path) -> None:
    chat.type("hello\r")
    chat.expect("rehearsal model")
    chat.type("\x04")
    assert chat.finish() == 0
    history = Layout(workspace).history
    assert "hello" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600


def test_an_error_is_shown_and_the_chat_goes_on(chat: Terminal) -> None:
    chat.type("fail\r")
    chat.expect("first half of my answer")
    chat.expect("✗ the rehearsal model broke off")
    chat.type("help\r")
    chat.expect("Things to say")


def test_a_message_that_the_disk_refuses_is_said_so_and_the_chat_goes_on(
    chat: Terminal, workspace: Path
) -> None:
    inbox = Layout(workspace).inbox
    inbox.mkdir()
    chat.type("hello\r")
    chat.expect("cannot use .ship/inbox.jsonl")
    inbox.rmdir()
    chat.type("hello\r")
    chat.expect("rehearsal model")
    chat.type("/quit\r")
    assert chat.finish() == 0


def test_leaving_during_a_run_stops_it(chat: Terminal, workspace: Path) -> None:
    chat.type("count to 500 slowly\r")
    chat.expect("10")
    chat.type("\x04")
    chat.expect("the run is stopped")
    assert chat.finish() == 0
    shown = shipmate(workspace, "threads", "show", "tea").stdout
    assert "*stopped*" in shown


def test_a_run_cut_off_by_a_crash_is_taken_up(workspace: Path) -> None:
    first = Terminal(workspace, "chat", "--thread", "tea")
    try:
        first.expect("›")
        first.type("count to 40 slowly\r")
        first.expect("10")
        first.process.kill()
        first.process.wait()
    finally:
        first.close()
    second = Terminal(workspace, "chat", "--thread", "tea")
    try:
        second.expect("taking up what was left unfinished in cli:chat:tea")
        second.expect("That was 40.")
        second.type("/quit\r")
        assert second.finish() == 0
    finally:
        second.close()
    assert shipmate(workspace, "threads", "show", "tea").stdout.count("That was 40.") == 1


SCRIPT = """\
### record human_text_record
``````markdown
---
genseq: 1
msgId: m1
grammar: markdown
---
When is tea?
``````

### record agent_words_record
``````markdown
---
genseq: 1
---
Tea is at four.
``````
"""


@pytest.mark.parametrize("hidden", [False, True])
def test_a_chat_can_begin_with_a_priming_script(workspace: Path, hidden: bool) -> None:
    path = workspace / ".minds/priming/team_shared/tea.md"
    path.parent.mkdir(parents=True)
    path.write_text(SCRIPT)
    options = ["--prime", "team_shared/tea", *(["--hide-priming"] if hidden else [])]
    terminal = Terminal(workspace, "chat", "--thread", "tea", *options)
    try:
        before = terminal.expect("›")
        assert ("Tea is at four." in before) is not hidden
        terminal.type("summarize\r")
        terminal.expect("When is tea?")
    finally:
        terminal.close()


def test_a_script_that_is_not_there_starts_nothing(workspace: Path) -> None:
    terminal = Terminal(workspace, "chat", "--thread", "tea", "--prime", "team_shared/none")
    try:
        terminal.expect("shipmate: no script")
        assert terminal.finish() == 2
    finally:
        terminal.close()
    assert not Layout(workspace).threads.exists()


def test_chat_without_a_terminal_points_at_ask(workspace: Path) -> None:
    done = shipmate(workspace, "chat")
    assert done.returncode == 2
    assert "shipmate ask" in done.stderr


def test_rewind_puts_files_back_after_a_yes(chat: Terminal, workspace: Path) -> None:
    chat.type("/rewind\r")
    chat.expect("no run of this thread changed files")
    chat.type("write hello to notes.txt\r")
    chat.expect("notes.txt")
    chat.expect("yes")
    chat.type("yes\r")
    chat.expect("✓ write notes.txt")
    chat.repeat_until("/rewind\r", "+ notes.txt", "a run is going on")
    chat.expect("y/n")
    assert (workspace / "notes.txt").exists()
    chat.type("y\r")
    chat.expect("put back: notes.txt")
    assert not (workspace / "notes.txt").exists()
    chat.type("/rewind\r")
    chat.expect("Make the run's changes again")
    chat.type("y\r")
    chat.expect("made again: notes.txt")
    (workspace / "notes.txt").write_text("mine")
    chat.type("/rewind\r")
    chat.expect("notes.txt  (changed since)")
    chat.expect("nothing can be put back")
    assert (workspace / "notes.txt").read_text() == "mine"
    chat.type("/rewind nonsense\r")
    chat.expect("there is no run nonsense")


def test_m4_another_member_can_be_let_answer(workspace: Path) -> None:
    (workspace / "members/nina").mkdir(parents=True)
    (workspace / "members/nina/Agent.md").write_text("# Nina\n\nKeeps watch.\n")
    terminal = Terminal(workspace, "chat", "--thread", "tea")
    try:
        terminal.expect("/help for help")
        terminal.type("/member\r")
        terminal.expect("also here: nina (Nina)")
        terminal.type("/member nina\r")
        terminal.expect("Nina (nina) answers here")
        terminal.type("/member ghost\r")
        terminal.expect("there is no member 'ghost'")
        terminal.type("hello\r")
        terminal.expect("rehearsal model")
        terminal.type("/quit\r")
        assert terminal.finish() == 0
    finally:
        terminal.close()


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "Asking openai-compatible:spare instead."), ("zh", "改由 openai-compatible:spare 回答。")],
)
async def test_it_says_that_another_model_answered_also_to_who_comes_later(
    workspace: Path, language: str, told: str
) -> None:
    def talk(url: str) -> None:
        spare = {"provider": "openai-compatible", "model": "spare", "baseUrl": f"{url}/v1", "apiKey": "k"}
        llm = {**spare, "model": "first", "maxRetries": 0, "fallback": [spare]}
        (workspace / "ship.json").write_text(json.dumps({"llm": llm, "language": language}))
        for is_first in (True, False):
            terminal = Terminal(workspace, "chat", "--thread", "tea", columns=160)
            try:
                if is_first:
                    terminal.expect("›")
                    terminal.type("hello\r")
                terminal.expect(told)
                terminal.expect("Good morning.")
                if is_first:
                    # A second answer begins when the first is on disk.
                    terminal.type("and\r")
                    terminal.expect("And good night.")
            finally:
                terminal.close()

    async with ProviderServer() as server:
        server.script(refuse(429, "slow down"), say("Good morning."), say("And good night."))
        await asyncio.to_thread(talk, server.url)
